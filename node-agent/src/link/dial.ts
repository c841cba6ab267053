import { readFileSync } from 'node:fs';
import { Agent as HttpsAgent } from 'node:https';
import { type LookupFunction, connect as netConnect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, rootCertificates, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { AGENT_HEADERS, MAX_AGENT_FRAME_BYTES } from '@footlight/protocol/agent';
import ipaddr from 'ipaddr.js';
import WebSocket from 'ws';

export type Credential =
  | { kind: 'secret'; secret: string }
  | { kind: 'enroll'; token: string; enrollId: string };

export interface DialOptions {
  controlUrl: URL;
  /** PEM certificates trusted in addition to the system's certificates; null: only the system's are trusted. */
  controlCa: string | null;
  /** SHA-256 of the leaf certificate, hex pairs with colons; null: no pin, so name and chain are verified. */
  controlFingerprint: string | null;
  nodeName: string;
  bootId: string;
  credential: Credential;
  handshakeTimeoutMs: number;
  /** Resolves the name in controlUrl. */
  lookup: LookupFunction;
}

/**
 * Opens the WebSocket to the control plane. The credential is sent only after the certificate was accepted, either by
 * its chain and name or by its pinned fingerprint.
 */
export function dial(options: DialOptions): WebSocket {
  const url = new URL(options.controlUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/agent/ws`;
  return new WebSocket(url, {
    headers: credentialHeaders(options),
    handshakeTimeout: options.handshakeTimeoutMs,
    maxPayload: MAX_AGENT_FRAME_BYTES,
    perMessageDeflate: false,
    followRedirects: false,
    lookup: options.lookup,
    ...(url.protocol === 'wss:' ? { agent: tlsAgent(options) } : {}),
  });
}

/** HTTP headers of the WebSocket and of HTTP calls. */
export function credentialHeaders(
  options: Pick<DialOptions, 'nodeName' | 'bootId' | 'credential'>,
): Record<string, string> {
  const { credential } = options;
  const headers: Record<string, string> = {
    [AGENT_HEADERS.node]: options.nodeName,
    [AGENT_HEADERS.boot]: options.bootId,
  };
  if (credential.kind === 'secret') {
    headers[AGENT_HEADERS.authorization] = `Bearer ${credential.secret}`;
  } else {
    headers[AGENT_HEADERS.authorization] = `Enroll ${credential.token}`;
    headers[AGENT_HEADERS.enroll] = credential.enrollId;
  }
  return headers;
}

type SocketCallback = (error: Error | null, socket?: Duplex) => void;

/**
 * An https agent that verifies the chain with the given certificates, or accepts only a certificate with the pinned
 * fingerprint.
 */
export function tlsAgent(options: Pick<DialOptions, 'controlCa' | 'controlFingerprint'>): HttpsAgent {
  const { controlCa, controlFingerprint } = options;
  const ca = trustedCertificates(controlCa, systemCertificates());
  const agent = new HttpsAgent({ keepAlive: false, maxCachedSessions: 0, ca });
  if (controlFingerprint !== null) {
    // Connects and compares the fingerprint before http gets the socket; otherwise the headers with the credential
    // would already be queued.
    const pinned = (request: ConnectionOptions, done: SocketCallback) => {
      const socket = tlsConnect({
        ...request,
        path: undefined,
        rejectUnauthorized: false,
      } as ConnectionOptions);
      const fail = (error: Error) => done(error);
      socket.once('error', fail);
      socket.once('secureConnect', () => {
        socket.off('error', fail);
        const problem = pinProblem(socket, controlFingerprint);
        if (problem === null) return done(null, socket);
        socket.destroy();
        done(new Error(problem));
      });
      return undefined;
    };
    Object.assign(agent, { createConnection: pinned });
  }
  return agent;
}

/**
 * The system's certificates, as written by ca-certificates. Node does not read this file itself, but has its own list.
 */
const SYSTEM_STORE = '/etc/ssl/certs/ca-certificates.crt';
let systemStore: string | null | undefined;

/** Reads the file once and caches it. @returns null: the file does not exist */
function systemCertificates(): string | null {
  if (systemStore === undefined) {
    try {
      systemStore = readFileSync(SYSTEM_STORE, 'utf8');
    } catch {
      systemStore = null;
    }
  }
  return systemStore;
}

/** PEM certificates for verifying the control plane. @param system the system's certificates; null: there are none */
export function trustedCertificates(controlCa: string | null, system: string | null): string[] {
  return [...rootCertificates, ...[system, controlCa].filter((pem) => pem !== null)];
}

function pinProblem(socket: TLSSocket, fingerprint: string): string | null {
  const presented = socket.getPeerCertificate().fingerprint256;
  if (presented === fingerprint) return null;
  return `the control plane's certificate is ${presented ?? 'missing'}, not the one SERVICE_CONTROL_FINGERPRINT pins`;
}

/** Whether the credential would cross a network without encryption. */
export function isPlainRemote(controlUrl: URL): boolean {
  if (controlUrl.protocol === 'https:') return false;
  const host = controlUrl.hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return false;
  return !(ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

/** Tests whether a TCP connection to the control plane is possible, for `doctor`. Rejects with the reason. */
export function reach(controlUrl: URL, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const port = Number(controlUrl.port || (controlUrl.protocol === 'https:' ? 443 : 80));
    const socket = netConnect({ host: controlUrl.hostname.replace(/^\[|\]$/g, ''), port });
    socket.setTimeout(limitMs, () => socket.destroy(new Error(`no answer within ${limitMs} ms`)));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}
