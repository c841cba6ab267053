import { X509Certificate } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import { normaliseOrigin } from '@footlight/protocol/origins';
import type { AccessCheck, CertificateInfo } from '@footlight/protocol/rest';
import ipaddr from 'ipaddr.js';
import { trustLine } from '../../platform/http/origin/client-address.ts';
import { forwardedProtoOf } from '../../platform/http/origin/forwarded.ts';
import { checkOrigin, isLoopbackHost } from '../../platform/http/origin/origins.ts';
import type { OriginsInForce } from '../../settings/index.ts';
import type { CertificateInForce } from '../deps.ts';

/** Longest shown header text (characters). */
const MAX_SHOWN = 256;
const EXPIRES_SOON_MS = 30 * DAY_MS;

/** Facts of the request itself. */
export interface RequestFacts {
  host: string | undefined;
  origin: string | undefined;
  /** Whether this listener uses TLS; the value does not depend on headers. */
  overTls: boolean;
  forwardedProtoHeader: string | undefined;
  forwardedHeader: string | undefined;
  /** Names the setting to change if the proxy is not trusted. */
  proxyAdvice: string | undefined;
}

/**
 * Explains to administrators how their browser reached the server: certificate, secure context, and whether their
 * origin may open the signaling socket. Pure.
 */
export function describeAccess(
  request: RequestFacts,
  certificate: CertificateInForce | null,
  origins: OriginsInForce,
  nowMs: number,
): AccessCheck {
  const forwardedProto = forwardedProtoOf(request.forwardedProtoHeader, request.forwardedHeader);
  return {
    request: {
      host: shown(request.host ?? ''),
      origin: shown(request.origin ?? ''),
      scheme: request.overTls ? 'https' : 'http',
      ...(forwardedProto !== undefined && { forwarded_proto: shown(forwardedProto) }),
      tls_terminated_upstream: forwardedProto !== undefined,
      secure_context: isSecureContext(request, forwardedProto),
      ...(request.proxyAdvice !== undefined && { advice: request.proxyAdvice }),
    },
    certificate: describeCertificate(request, forwardedProto !== undefined, certificate, nowMs),
    origins: describeOrigins(request, origins),
  };
}

/**
 * Advice for a proxy whose X-Forwarded-For is ignored. Pure.
 * @param peer address of the proxy
 */
export function trustAdvice(trustedProxies: readonly string[], peer: string): string {
  return `This request came from ${peer}, which sends X-Forwarded-For but is not a trusted proxy. Everybody behind it shares one limit for signing in. If it is your proxy, set ${trustLine(trustedProxies, peer)} and restart the service.`;
}

function shown(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…(truncated)`;
}

/**
 * Whether the browser treats the page as a secure context. Source: W3C Secure Contexts, "potentially trustworthy".
 */
function isSecureContext(request: RequestFacts, forwardedProto: string | undefined): boolean {
  const origin = request.origin === undefined ? null : normaliseOrigin(request.origin);
  const originIsLoopback = origin !== null && isLoopbackHost(new URL(origin).hostname);
  if (forwardedProto !== undefined) return forwardedProto === 'https' || originIsLoopback;
  if (request.overTls) return true;
  if (origin !== null) return originIsLoopback;
  return isLoopbackHost(hostWithoutPort(request.host ?? ''));
}

function hostWithoutPort(host: string): string {
  return host.replace(/:[0-9]*$/, '');
}

function describeCertificate(
  request: RequestFacts,
  behindProxy: boolean,
  certificate: CertificateInForce | null,
  nowMs: number,
): AccessCheck['certificate'] {
  if (certificate === null) {
    const reason =
      'TLS is off in this service. That is a supported setup: something in front has to offer HTTPS.';
    return { in_use: false, not_in_use_reason: reason };
  }
  const leaf = new X509Certificate(certificate.chain[0]!);
  const info = certificateInfo(certificate, leaf, nowMs);
  if (behindProxy) {
    const reason = 'A proxy in front ends TLS with its own certificate. That is a supported setup.';
    return { in_use: false, not_in_use_reason: reason, info };
  }
  if (!request.overTls) {
    const reason = 'This request came over plain HTTP. That is a supported setup on a trusted network.';
    return { in_use: false, not_in_use_reason: reason, info };
  }
  const host = hostWithoutPort(request.host ?? '');
  const covered = coversHost(leaf, host);
  const advice =
    certificate.orderProblem === undefined
      ? certificateAdvice(info, covered, host, nowMs)
      : `No certificate could be ordered from the certificate authority: ${certificate.orderProblem}`;
  return { in_use: true, info, host_covered: covered, ...(advice !== undefined && { advice }) };
}

/** The facts of the certificate that do not depend on a request. */
function certificateInfo(
  certificate: CertificateInForce,
  leaf: X509Certificate,
  nowMs: number,
): CertificateInfo {
  const notAfterMs = Date.parse(leaf.validTo);
  const names = subjectNames(leaf);
  return {
    source: certificate.source,
    fingerprint_sha256: certificate.fingerprint,
    subject: oneLine(leaf.subject),
    issuer: oneLine(leaf.issuer),
    not_before: new Date(leaf.validFrom).toISOString(),
    not_after: new Date(notAfterMs).toISOString(),
    days_until_expiry: Math.trunc((notAfterMs - nowMs) / DAY_MS),
    dns_names: names.dns,
    ip_addresses: names.ip,
    chain_length: certificate.chain.length,
    self_signed: leaf.subject === leaf.issuer && leaf.verify(leaf.publicKey),
  };
}

/**
 * A distinguished name as one line. Node puts each attribute on its own line and gives undefined for an empty subject.
 */
function oneLine(name: string | undefined): string {
  return (name ?? '').split('\n').join(', ');
}

/**
 * Names in a certificate, from Node's text form `DNS:a, IP Address:b`, where a value with special characters is a
 * JSON string.
 */
function subjectNames(leaf: X509Certificate): { dns: string[]; ip: string[] } {
  const names: { dns: string[]; ip: string[] } = { dns: [], ip: [] };
  const entries = (leaf.subjectAltName ?? '').matchAll(/(DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)/g);
  for (const [, kind, raw] of entries) {
    const value = raw!.startsWith('"') ? String(JSON.parse(raw!)) : raw!;
    if (kind === 'DNS') names.dns.push(value);
    else names.ip.push(ipaddr.isValid(value) ? ipaddr.parse(value).toString() : value);
  }
  return names;
}

/** Whether the leaf names the host. The common name does not count, because browsers ignore it. */
function coversHost(leaf: X509Certificate, host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  if (bare === '') return false;
  if (ipaddr.isValid(bare)) return leaf.checkIP(bare) !== undefined;
  return leaf.checkHost(bare, { subject: 'never' }) !== undefined;
}

function certificateAdvice(
  info: CertificateInfo,
  covered: boolean,
  host: string,
  nowMs: number,
): string | undefined {
  const notAfterMs = Date.parse(info.not_after);
  if (nowMs < Date.parse(info.not_before))
    return 'The certificate is not valid yet. Check the clock of the server.';
  if (nowMs > notAfterMs) return 'The certificate has expired. Replace it.';
  if (!covered) {
    return info.source === 'self_signed'
      ? `The certificate does not name ${shown(host)}. Add it to SERVICE_TLS_HOSTS, delete cert.pem and key.pem from the TLS directory, and recreate the container or restart the service.`
      : `Your certificate does not name ${shown(host)}. Provide one that does; SERVICE_TLS_HOSTS does not apply to a provided certificate.`;
  }
  if (notAfterMs - nowMs < EXPIRES_SOON_MS) return 'The certificate expires within 30 days.';
  if (info.self_signed) {
    return 'The server signed its certificate itself. Browsers warn until each device trusts it, or until you give the server a certificate that browsers trust already.';
  }
  return undefined;
}

function describeOrigins(request: RequestFacts, origins: OriginsInForce): AccessCheck['origins'] {
  const verdict = checkOrigin({ origin: request.origin, host: request.host, allowed: origins.allowed });
  const pinned = origins.source === 'environment';
  const common = {
    configured: origins.allowed.length > 0,
    source: origins.source,
    allowed: [...origins.allowed],
    request_origin_allowed: request.origin === undefined ? null : verdict.allowed,
    same_origin_exemption: verdict.sameOrigin && !verdict.listed,
  };
  if (verdict.allowed) return common;
  if (verdict.normalised === null) {
    return {
      ...common,
      advice: 'The Origin of this request cannot be read, so pages of it cannot open sessions.',
    };
  }
  if (pinned) {
    return {
      ...common,
      advice:
        'Pages of this origin cannot open sessions. The list is set by SERVICE_ALLOWED_ORIGINS; add it there.',
    };
  }
  return {
    ...common,
    advice: 'Pages of this origin cannot open sessions. Add it to the allowed origins.',
    suggested_entry: verdict.normalised,
  };
}
