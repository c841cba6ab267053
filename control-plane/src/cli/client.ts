/** Sends the requests of operations to one control plane. */
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Clock, errorText, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import { CliFailure, EXIT } from './failure.ts';
import type { ApiRequest } from './request.ts';

/** Where and as whom requests are sent. */
export interface Access {
  /** Origin, without a path. */
  readonly url: string;
  /** SHA-256 of the only accepted certificate; null: the certificate is verified as usual. */
  readonly fingerprint: string | null;
  /** null: there is no token, so requests are sent without one. */
  readonly token: string | null;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text of another type; undefined: the answer is empty. */
  readonly body: unknown;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes of an upload. */
  readonly file?: Uint8Array;
  /** Ends the request; left out: the signal of the client. */
  readonly signal?: AbortSignal;
}

export interface Client {
  readonly access: Access;
  /** @throws CliFailure for each refusal, redirect, unreadable answer and unreachable server */
  call(asked: ApiRequest, options?: SendOptions): Promise<ApiAnswer>;
  /** The body in parts as they arrive, without limits of time and length. The caller reads or destroys it. */
  stream(asked: ApiRequest, options?: SendOptions): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

/** The longest answer that is read into memory. A diagnostic bundle has at most 32 MiB of captures. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Time limit of a whole answer. The start of a measurement answers within two minutes. */
const ANSWER_LIMIT_MS = MINUTE_MS;
const SLOW_ANSWER_LIMIT_MS = 3 * MINUTE_MS;
const SLOW = ['certification.startCell'];
/** Time until a connection is made. */
const CONNECT_LIMIT_MS = 10 * SECOND_MS;

/** Whether requests to this URL stay on this machine, so that a token may be sent without encryption. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** @param interrupted ends requests; left out: never */
export function createClient(
  access: Access,
  clock: Clock,
  interrupted: AbortSignal = new AbortController().signal,
): Client {
  const agent = new Agent({ connect: connectorFor(access.fingerprint) });

  async function send(asked: ApiRequest, options: SendOptions): Promise<Dispatcher.ResponseData> {
    const { operation, path, body } = asked;
    const isSignedIn = operation.auth === 'user' || operation.auth === 'admin';
    if (isSignedIn && access.token === null)
      throw new CliFailure(EXIT.signIn, 'not_signed_in', 'Nobody is signed in.', 'Run: footlight login URL');
    try {
      // undici follows no redirects, so the token is sent to no other server.
      return await request(`${access.url}${path}`, {
        dispatcher: agent,
        method: operation.method,
        headers: {
          accept: 'application/json, */*',
          ...(isSignedIn && { authorization: `Bearer ${access.token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...options.headers,
        },
        body: options.file ?? (body === undefined ? null : JSON.stringify(body)),
        signal: options.signal ?? interrupted,
        // `call` limits the whole answer. A stream of events may be silent for long.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    } catch (error) {
      throw unreachable(access.url, error);
    }
  }

  /** Runs a request with a time limit for its whole answer. */
  async function limited<Result>(
    asked: ApiRequest,
    options: SendOptions,
    run: (options: SendOptions) => Promise<Result>,
  ): Promise<Result> {
    const limit = new AbortController();
    const limitMs = SLOW.includes(asked.operation.id) ? SLOW_ANSWER_LIMIT_MS : ANSWER_LIMIT_MS;
    const timer = clock.setTimeout(() => limit.abort(), limitMs);
    const signal = AbortSignal.any([options.signal ?? interrupted, limit.signal]);
    try {
      return await run({ ...options, signal });
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      throw new CliFailure(
        EXIT.unreachable,
        'no_answer',
        `${access.url} did not answer within ${limitMs / SECOND_MS} s.`,
        'Check that the control plane runs; its log says more.',
      );
    } finally {
      timer.cancel();
    }
  }

  return {
    access,
    call: (asked, options = {}) =>
      limited(asked, options, async (limits) => {
        const response = await send(asked, limits);
        const text = await textOf(response, access.url);
        return answerOf(asked, response, text, access.url);
      }),
    async stream(asked, options = {}) {
      const response = await send(asked, options);
      if (response.statusCode < 300) return response.body;
      answerOf(asked, response, await textOf(response, access.url), access.url);
      throw new CliFailure(EXIT.failed, 'unreadable', `The answer has the status ${response.statusCode}.`);
    },
    close: () => agent.destroy(),
  };
}

/** Compares the fingerprint before the first byte of a request is sent. */
function connectorFor(fingerprint: string | null): buildConnector.connector {
  const limits = { timeout: CONNECT_LIMIT_MS };
  // With a cached session a server would not have to show its certificate.
  const connect = buildConnector({
    ...limits,
    ...(fingerprint !== null && { rejectUnauthorized: false, maxCachedSessions: 0 }),
  });
  if (fingerprint === null) return connect;
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      const presented = (socket as TLSSocket).getPeerCertificate?.()?.fingerprint256;
      if (presented === fingerprint) return callback(null, socket);
      socket.destroy();
      callback(
        new CliFailure(
          EXIT.unreachable,
          'certificate_changed',
          `${options.hostname} has the certificate ${presented ?? 'of no TLS server'}, not ${fingerprint}, which was trusted at the sign-in.`,
          'If the certificate was renewed, sign in again: footlight login URL. Otherwise another machine answers.',
        ),
        null,
      );
    });
}

async function textOf(response: Dispatcher.ResponseData, url: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of response.body as AsyncIterable<Uint8Array>) {
      bytes += part.length;
      if (bytes > MAX_ANSWER_BYTES) {
        response.body.destroy();
        throw new CliFailure(EXIT.failed, 'answer_too_long', `An answer of ${url} is longer than 64 MiB.`);
      }
      parts.push(part);
    }
  } catch (error) {
    throw unreachable(url, error);
  }
  return Buffer.concat(parts).toString('utf8');
}

function answerOf(
  { operation }: ApiRequest,
  { statusCode: status, headers }: Dispatcher.ResponseData,
  text: string,
  url: string,
): ApiAnswer {
  const flat = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join() : `${value}`]),
  );
  const isJson = operation.contentType === undefined || status >= 400;
  const body = text === '' ? undefined : isJson ? parsed(text) : text;
  const isDeclared = operation.responses[status] !== undefined;
  if (isDeclared && !(isJson && text !== '' && body === undefined)) return { status, headers: flat, body };
  if (status >= 300 && status < 400)
    throw new CliFailure(
      EXIT.unreachable,
      'redirect',
      `${url} redirects to ${flat.location ?? 'another address'}. The token is not sent there.`,
      'If this is the right address, sign in with it: footlight login URL',
    );
  throw refusalOf(status, flat, body, url);
}

function refusalOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  url: string,
): CliFailure {
  const error = (body as { error?: Record<string, unknown> } | null | undefined)?.error;
  if (typeof error?.code !== 'string') {
    // A proxy answers so if the control plane behind it is down.
    const exit = status >= 500 ? EXIT.unreachable : EXIT.failed;
    return new CliFailure(exit, 'unreadable', `${url} answered ${status} with a text that is not the API's.`);
  }
  const wait = headers['retry-after'];
  const remedy =
    status === 401
      ? 'Sign in: footlight login URL'
      : status === 403
        ? 'Sign in with an account that is an administrator: footlight login URL'
        : wait !== undefined
          ? `Try again in ${wait} s.`
          : null;
  const exit = status === 401 || status === 403 ? EXIT.signIn : EXIT.failed;
  return new CliFailure(exit, error.code, String(error.message ?? ''), remedy, error);
}

function unreachable(url: string, error: unknown): unknown {
  if (error instanceof CliFailure) return error;
  const code = (error as { code?: unknown }).code;
  const isCertificate = typeof code === 'string' && /CERT|SELF_SIGNED|ALTNAME/.test(code);
  return new CliFailure(
    EXIT.unreachable,
    isCertificate ? 'certificate' : 'unreachable',
    `${url} cannot be reached: ${errorText(error)}`,
    isCertificate
      ? 'To trust a self-signed certificate, sign in again: footlight login URL'
      : 'Check the address, and that the control plane runs.',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
