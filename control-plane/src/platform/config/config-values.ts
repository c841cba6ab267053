import { createSecretKey, type KeyObject } from 'node:crypto';
import { parseOriginList } from '@footlight/protocol/origins';
import { isTimeZone } from '@footlight/protocol/rest';
import { z } from 'zod';
import { parseBlock } from '../http/origin/client-address.ts';
import { isLoopbackHost } from '../http/origin/origins.ts';
import { parseSecretKey, type SecretKey } from '../secret-keys.ts';

/** One entry of SERVICE_ICE_SERVERS in the form for browsers and agents. */
export interface IceServer {
  urls: string[];
  username?: string;
  credential?: string;
}

/** An address to bind; host null: all addresses, port 0: any free port. */
export interface ListenAddress {
  host: string | null;
  port: number;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * Longest duration: 68 years, which is the largest signed 32-bit number of seconds. Times computed with it can still be
 * stored and shown.
 */
const MAX_DURATION_MS = 2_147_483_647 * 1_000;

/**
 * Parses a duration such as 24h or 1h30m into whole milliseconds, the unit of stored times. A shorter duration above
 * zero becomes 1.
 * @returns null for other texts, and for negative and too long durations
 */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return null;
  let totalMs = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    totalMs += Number(number) * (UNIT_MS[unit ?? ''] ?? 0);
  }
  if (totalMs > MAX_DURATION_MS) return null;
  return totalMs > 0 ? Math.max(1, Math.round(totalMs)) : 0;
}

/** Parses an address: `:8080`, `127.0.0.1:8080`, `[::1]:8080` or `name:8080`. */
export function parseListenAddress(text: string): ListenAddress | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) return null;
  const host = match[1] ?? match[2] ?? '';
  return { host: host === '' ? null : host, port };
}

/** An entry of SERVICE_IMAGE_REGISTRY_HOSTS. */
export interface RegistryHost {
  scheme: 'http' | 'https';
  /** Lower case; with the port unless it is the default of the scheme. Names of images use the same form. */
  host: string;
  /** Whether the operator named this host, so that it may be in a private network; false for the default list. */
  isNamed: boolean;
}

/** A file server. */
export interface FileServer {
  /** URL without a trailing slash. */
  url: string;
  /** The same meaning as in RegistryHost. */
  isNamed: boolean;
}

/** An https URL, or an http URL of loopback, without credentials, query and fragment. */
function parseServer(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isPlain = url.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !isPlain) return null;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '' ? url : null;
}

/** @returns null: the entry is not a registry, or uses http for another machine */
function parseRegistryHost(entry: string): Omit<RegistryHost, 'isNamed'> | null {
  const url = parseServer(entry.includes('://') ? entry : `https://${entry}`);
  if (url === null || (url.pathname !== '/' && url.pathname !== '')) return null;
  return { scheme: url.protocol === 'http:' ? 'http' : 'https', host: url.host };
}

/** A schema that parses the text of a variable. Its error message names the expected form. */
function reading<T>(expected: string, read: (text: string) => T | null) {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

export const port = reading('a port number, 1 to 65535', (text) => {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= 65_535 ? value : null;
});

export const listenAddress = reading(
  'an address to bind, such as :8080 or 127.0.0.1:8080',
  parseListenAddress,
);

/** A token or secret; long enough that it cannot be guessed. */
export const printableSecret = reading('16 to 256 printable characters without spaces', (text) =>
  /^[!-~]{16,256}$/.test(text) ? text : null,
);

/** Headers for requests to a collector, in OpenTelemetry's form: the values are percent-encoded. */
export const headerList = reading('name=value pairs, separated by commas', (text) => {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',').filter((entry) => entry.trim() !== '')) {
    const [, name, encoded] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    const value = encoded === undefined ? null : decoded(encoded);
    if (name === undefined || value === null || !/^[\t -~]*$/.test(value)) return null;
    headers[name] = value;
  }
  return headers;
});

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const positiveDurationMs = reading('a positive duration such as 30m, 24h or 1h30m', (text) => {
  const value = parseDuration(text);
  return value !== null && value > 0 ? value : null;
});

/** everyMs null: the text is 0, which switches the periodic work off. */
export const intervalMs = reading('a duration such as 15m, or 0 for never', (text) => {
  const value = text === '0' ? 0 : parseDuration(text);
  return value === null ? null : { everyMs: value > 0 ? value : null };
});

/** Lenient form: an unreadable value is ignored with a warning, and everyMs is undefined. */
export const lenientIntervalMs = z
  .string()
  .transform(
    (text): { everyMs: number | null | undefined } =>
      intervalMs.safeParse(text).data ?? { everyMs: undefined },
  );

/** A whole number within bounds (both included). */
export const wholeNumber = (min: number, max = 2_147_483_647) =>
  reading(`a whole number, ${min} to ${max}`, (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
    return value >= min && value <= max ? value : null;
  });

export const choice = <const T extends readonly string[]>(...options: T) =>
  reading(`one of ${options.join(', ')}`, (text): T[number] | null => (options.includes(text) ? text : null));

export const absolutePath = reading('an absolute path', (text) => (text.startsWith('/') ? text : null));

export const clientVersion = reading('a version such as 1.2.3', (text) =>
  /^v?[0-9]+\.[0-9]+\.[0-9]+$/.test(text) ? text : null,
);

export const httpUrl = reading('an http or https address', (text) => {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
});

/** Issuer of an OpenID Connect provider. Without TLS, others in the network could read and forge its answers. */
export const oidcIssuer = reading(
  'an https address without a query, or an http address of this machine',
  (text) => {
    if (!URL.canParse(text)) return null;
    const url = new URL(text);
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null;
    const isOfThisMachine = url.protocol === 'http:' && isLoopbackHost(url.hostname);
    return url.protocol === 'https:' || isOfThisMachine ? url : null;
  },
);

/** Scopes that are requested from the provider. Without openid, it sends no ID token. */
export const oidcScopes = reading('scopes separated by spaces, openid among them', (text) => {
  const scopes = text.trim().split(/\s+/);
  const isValid = scopes.includes('openid') && scopes.every((scope) => /^[!#-[\]-~]+$/.test(scope));
  return isValid ? scopes.join(' ') : null;
});

/** A name on a button; a longer one does not fit on a phone. */
export const buttonName = reading('1 to 40 characters', (text) =>
  /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]{1,40}$/u.test(text.trim()) ? text.trim() : null,
);

export const databaseUrl = reading('unset, sqlite:/path/file.db or postgres://…', (text) => {
  if (/^postgres(ql)?:\/\//.test(text)) return { dialect: 'postgres' as const, url: text };
  const file = /^sqlite:(\/.+)$/.exec(text)?.[1];
  return file === undefined ? null : { dialect: 'sqlite' as const, file };
});

/** NATS servers of one cluster, with the same credentials. */
export interface BusServers {
  /** Servers as `host:port`. */
  servers: readonly string[];
  tls: boolean;
  auth: { token: string } | { user: string; pass: string } | null;
}

const BUS_SERVER =
  /^(nats|tls):\/\/(?:([^:@/,]+)(?::([^@/,]+))?@)?(\[[0-9a-f:]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?\/?$/i;
const NATS_PORT = 4222;

/** Credentials are percent-encoded, so they contain no separator characters. */
export const busServers = reading(
  'nats:// on a loopback address, or tls://, as [token@|user:password@]host[:port], several separated by commas',
  (text): BusServers | null => {
    const entries = text.split(',').map((entry) => BUS_SERVER.exec(entry.trim()));
    const servers: string[] = [];
    for (const entry of entries) {
      const [, scheme = '', , , host = '', port = String(NATS_PORT)] = entry ?? [];
      if (entry === null || Number(port) < 1 || Number(port) > 65_535) return null;
      // Refuse unencrypted connections to other machines, because bus messages include people's signaling messages.
      if (scheme.toLowerCase() === 'nats' && !isLoopbackHost(host)) return null;
      servers.push(`${host}:${port}`);
    }
    const credentials = new Set(entries.map((entry) => `${entry?.[1]} ${entry?.[2]} ${entry?.[3]}`));
    if (credentials.size > 1) return null;
    const [, scheme = '', name, pass] = entries[0] ?? [];
    try {
      const user = name === undefined ? null : decodeURIComponent(name);
      const auth =
        user === null
          ? null
          : pass === undefined
            ? { token: user }
            : { user, pass: decodeURIComponent(pass) };
      return { servers, tls: scheme.toLowerCase() === 'tls', auth };
    } catch {
      return null;
    }
  },
);

/** Bytes of a webhook's secret. Source: Standard Webhooks, "Symmetric". */
const WEBHOOK_SECRET_BYTES = { min: 24, max: 64 };

/** Secret of a webhook. The type is KeyObject, because a KeyObject is never printed with its bytes. */
export const webhookSecret = reading('whsec_ and base64 of 24 to 64 bytes', (text): KeyObject | null => {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  const { min, max } = WEBHOOK_SECRET_BYTES;
  return bytes.length >= min && bytes.length <= max ? createSecretKey(bytes) : null;
});

/** A receiver that the operator runs or uses; http would send the activity log readable over the network. */
export const webhookUrl = reading(
  'an https address, or an http address of this machine, without user, password and fragment',
  (text) => {
    if (!URL.canParse(text)) return null;
    const url = new URL(text);
    const isPlain = url.protocol === 'http:' && isLoopbackHost(url.hostname);
    if (url.protocol !== 'https:' && !isPlain) return null;
    return url.username === '' && url.password === '' && url.hash === '' ? url : null;
  },
);

const commaList = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Names and addresses for a certificate. */
export const hostList = reading('a comma list of names and addresses', (text) => {
  const entries = commaList(text);
  return entries.every((entry) => /^[A-Za-z0-9._:*-]{1,253}$/.test(entry)) ? entries : null;
});

/** Maximum names of SERVICE_ACME_HOSTS. Let's Encrypt allows 100, but a person reads each of these names. */
const MAX_ACME_HOSTS = 10;

/** Public DNS names: no addresses, no wildcards, because the challenge http-01 supports neither. */
export const dnsNames = reading(
  `a comma list of at most ${MAX_ACME_HOSTS} public names such as footlight.example.org`,
  (text) => {
    const names = commaList(text.toLowerCase());
    const areValid = names.every(
      (name) =>
        name.length <= 253 && /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(name),
    );
    return areValid && names.length >= 1 && names.length <= MAX_ACME_HOSTS ? names : null;
  },
);

export const emailAddress = reading('an e-mail address', (text) =>
  /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= 254 ? text : null,
);

export const httpsUrl = reading('an https address', (text) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url?.protocol === 'https:' && url.username === '' ? url : null;
});

/** Names of providers, lower-cased. */
export const nameList = reading('a comma list of names such as steam', (text) => {
  const names = commaList(text.toLowerCase());
  return names.every((name) => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) ? names : null;
});

/** CIDR blocks or addresses; /0 is refused, because it would trust every client. */
export const proxyList = reading('a comma list of addresses or CIDR blocks, none of them /0', (text) => {
  const entries = commaList(text);
  try {
    return entries.every((entry) => parseBlock(entry)[1] > 0) ? entries : null;
  } catch {
    return null;
  }
});

/** Entries wider than /8, which are probably a mistake. */
export const wideBlocks = (entries: readonly string[]): string[] =>
  entries.filter((entry) => parseBlock(entry)[1] < 8);

/** The error message names only the position, because the list may contain internal names. */
export const originList = z.string().transform((text, context) => {
  const list = parseOriginList(text.split(','));
  if (list.kind === 'ok') return list.origins;
  context.addIssue({
    code: 'custom',
    message: `a comma list of origins such as https://play.example; entry ${list.position} is none`,
  });
  return z.NEVER;
});

export const secretKey = reading('base64 of exactly 32 bytes, with or without <version>: in front', (text) =>
  parseSecretKey(text),
);

/** Former master keys, each with a unique version. */
export const previousSecretKeys = reading(
  'a comma list of <version>:<base64 of exactly 32 bytes>, no version twice',
  (text): SecretKey[] | null => {
    const keys = commaList(text).map((entry) => parseSecretKey(entry, { versioned: true }));
    const known = keys.filter((key) => key !== null);
    const versions = new Set(known.map(({ version }) => version));
    return versions.size === keys.length ? known : null;
  },
);

/** URL of a FileServer. */
export const fileServer = reading('an https address, or an http address of this machine', (text) => {
  const url = parseServer(text);
  return url === null ? null : `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
});

export const registryHosts = reading(
  'a comma list of registries such as ghcr.io or http://127.0.0.1:5000, http for this machine only',
  (text) => {
    const entries = commaList(text).map(parseRegistryHost);
    const known = entries.filter((entry) => entry !== null);
    return known.length === entries.length ? known : null;
  },
);

/** Maximum addresses of SERVICE_TURN_URLS; browsers gather slowly with more, and a host uses at most eight servers. */
const MAX_TURN_URLS = 8;
const TURN_URL =
  /^turns?:(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?(?:\?transport=(?:udp|tcp))?$/;

/** Addresses of TURN servers. Source: RFC 7065. */
export const turnUrls = reading(
  'at most 8 addresses such as turn:turn.example.org:3478?transport=udp or turns:turn.example.org, separated by commas',
  (text): string[] | null => {
    const entries = commaList(text);
    const areValid = entries.every((entry) => {
      const match = TURN_URL.exec(entry);
      const portNumber = Number(match?.[1] ?? 1);
      return match !== null && portNumber >= 1 && portNumber <= 65_535;
    });
    return areValid && entries.length >= 1 && entries.length <= MAX_TURN_URLS ? entries : null;
  },
);

export const timeZone = reading('an IANA time zone such as Europe/Berlin', (text) =>
  isTimeZone(text) ? text : null,
);

/** Text without surrounding spaces. */
export const trimmed = z.string().trim();

const iceServerEntry = z
  .strictObject({
    urls: z
      .union([z.string(), z.array(z.string()).min(1)])
      .transform((urls) => (Array.isArray(urls) ? urls : [urls])),
    username: z.string().optional(),
    credential: z.string().optional(),
  })
  .refine(({ urls, username, credential }) => {
    if (!urls.every((url) => /^(stun|stuns|turn|turns):[^\s]+$/.test(url))) return false;
    const turn = urls.some((url) => url.startsWith('turn'));
    if (turn && !urls.every((url) => url.startsWith('turn'))) return false;
    return turn ? Boolean(username && credential) : username === undefined && credential === undefined;
  });

export const iceServers = reading(
  'a JSON array of {urls, username?, credential?}; turn addresses with both credentials, stun addresses with neither',
  (text): IceServer[] | null => {
    try {
      const parsed = z.array(iceServerEntry).max(16).safeParse(JSON.parse(text));
      if (!parsed.success) return null;
      return parsed.data.map(({ urls, username, credential }) => ({
        urls,
        ...(username !== undefined && { username }),
        ...(credential !== undefined && { credential }),
      }));
    } catch {
      return null;
    }
  },
);
