import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Clock, SECOND_MS } from '@footlight/platform';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { readCapped } from './capped-body.ts';
import { isPublicAddress } from './public-address.ts';

/**
 * Policy for requests to addresses that administrators or other servers supply. No environment variable can loosen it;
 * tests pass their own policy, because their servers are on loopback.
 */
export interface FetchPolicy {
  /** Decides about each IP address before the connection. */
  isAllowed(address: string): boolean;
  /** Resolves host names. */
  lookup: LookupFunction;
}

export const PUBLIC_INTERNET: FetchPolicy = {
  isAllowed: isPublicAddress,
  lookup: systemLookup as LookupFunction,
};

/** Time limit from the first look-up to the last byte, redirects included. */
const DEADLINE_MS = 30 * SECOND_MS;
/**
 * Sites need one or two redirects (to https, and to the host of their pictures). Each redirect needs a look-up and a
 * check.
 */
const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** An address that cannot be fetched; the message is for the administrator who gave it. */
export class FetchRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FetchRefused';
  }
}

export interface Fetched {
  status: number;
  /** Media type of the Content-Type header, lower case, without parameters; "" if missing. */
  mediaType: string;
  bytes: Buffer;
  /** The first value of a header, by its case-insensitive name; "" if missing. */
  header(name: string): string;
}

export interface FetchOptions {
  /** Largest body in bytes; a larger body is refused. */
  maxBytes: number;
  /** Maximum redirects that are followed; a further one is refused. Default: three. */
  maxRedirects?: number;
  headers?: Record<string, string>;
  /** Time limit in milliseconds. Default: 30 s. */
  deadlineMs?: number;
  /**
   * Allowed IP addresses. public: those that the policy allows. loopback: this machine. any: all addresses, for a host
   * that the operator named and that may be in a private network; then pass maxRedirects 0. Default: public.
   */
  reach?: 'public' | 'loopback' | 'any';
}

/** Fetches URLs. Only public servers are allowed, unless `reach` allows others. */
export interface Fetcher {
  /** @throws FetchRefused for any error of the address, the connection or the answer */
  get(address: string, options: FetchOptions): Promise<Fetched>;
  /**
   * Sends a text to an address of the operator. A redirect is an answer like any other, and the body of the answer is
   * not read.
   * @returns status of the answer
   * @throws FetchRefused, whose message may have the code of the error
   */
  post(
    address: string,
    body: string,
    options: Omit<FetchOptions, 'maxBytes' | 'maxRedirects'>,
  ): Promise<number>;
}

/** @param deps.stopping aborts running fetches with its reason; later fetches are refused */
export function createFetcher(deps: { clock: Clock; policy: FetchPolicy; stopping: AbortSignal }): Fetcher {
  const { clock, policy, stopping } = deps;

  /** Allowed IP addresses for each `reach`, and the refusal for all others. */
  const REACHES: Record<NonNullable<FetchOptions['reach']>, Judgement> = {
    public: { isAllowed: policy.isAllowed, refusal: 'it does not lead to a public address' },
    loopback: { isAllowed: isLoopback, refusal: 'it does not lead to this machine' },
    any: { isAllowed: () => true, refusal: '' },
  };

  /** Every address of the name must be allowed, because the connector chooses one of them. */
  const judgedLookup =
    ({ isAllowed, refusal }: Judgement): LookupFunction =>
    (hostname, options, done) => {
      policy.lookup(hostname, { ...options, all: true }, (error, found) => {
        const addresses = Array.isArray(found) ? found : [];
        if (error || addresses.length === 0) {
          done(new FetchRefused('its name leads to no address'), []);
          return;
        }
        if (!addresses.every(({ address }) => isAllowed(address))) {
          done(new FetchRefused(refusal), []);
          return;
        }
        if (options.all) done(null, addresses);
        else done(null, addresses[0]?.address ?? '', addresses[0]?.family);
      });
    };

  /** The only connector. A host that is an IP address needs no look-up, so it is checked here. */
  function judgedConnect(judgement: Judgement): buildConnector.connector {
    const connect = buildConnector({ lookup: judgedLookup(judgement) });
    return (options, done) => {
      if (isIP(options.hostname) !== 0 && !judgement.isAllowed(options.hostname)) {
        done(new FetchRefused(judgement.refusal), null);
        return;
      }
      connect(options, done);
    };
  }

  /** @returns the redirect target, or the answer */
  async function hop(
    agent: Agent,
    url: URL,
    options: FetchOptions,
    signal: AbortSignal,
  ): Promise<{ to: string } | Fetched> {
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: { accept: '*/*', 'user-agent': 'Footlight', ...options.headers },
      signal,
    });
    // Ignore the error: an unread body fails when its connection ends, and an unhandled error would end the process.
    answer.body.on('error', () => undefined);
    const location = headerOf(answer, 'location');
    if (REDIRECTS.has(answer.statusCode) && location !== '') {
      answer.body.destroy();
      return { to: location };
    }
    return {
      status: answer.statusCode,
      mediaType: headerOf(answer, 'content-type').split(';', 1)[0]?.trim().toLowerCase() ?? '',
      bytes: await readCapped(answer.body, options.maxBytes, (message) => new FetchRefused(message)),
      header: (name) => headerOf(answer, name.toLowerCase()),
    };
  }

  async function follow(agent: Agent, address: string, options: FetchOptions, signal: AbortSignal) {
    const { maxRedirects = MAX_REDIRECTS } = options;
    let url = readAddress(address);
    for (let redirects = 0; ; redirects += 1) {
      const step = await hop(agent, url, options, signal);
      if (!('to' in step)) return step;
      if (redirects === maxRedirects) throw new FetchRefused('it leads on too often');
      url = readAddress(step.to, url);
    }
  }

  /** Runs one request with its time limit, and closes its connections. */
  async function limited<T>(
    { deadlineMs = DEADLINE_MS, reach = 'public' }: Pick<FetchOptions, 'deadlineMs' | 'reach'>,
    work: (agent: Agent, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    stopping.throwIfAborted();
    const deadline = new AbortController();
    const timer = clock.setTimeout(() => deadline.abort(new FetchRefused('it took too long')), deadlineMs);
    // One agent per fetch: every hop opens a new connection, so no reused connection skips the address check.
    const agent = new Agent({ connect: judgedConnect(REACHES[reach]), pipelining: 0 });
    const signal = AbortSignal.any([deadline.signal, stopping]);
    try {
      // The HTTP client detects an abort only after connecting, which a silent resolver can delay.
      return await Promise.race([work(agent, signal), whenAborted(signal)]);
    } finally {
      timer.cancel();
      // Not awaited: a connection in progress is closed only after it is established.
      agent.destroy().catch(() => undefined);
    }
  }

  async function send(
    agent: Agent,
    address: string,
    body: string,
    headers: FetchOptions['headers'],
    signal: AbortSignal,
  ): Promise<number> {
    const { origin, pathname, search } = readAddress(address);
    const answer = await agent.request({
      ...{ origin, path: pathname + search, method: 'POST', body, signal },
      headers: { 'user-agent': 'Footlight', ...headers },
    });
    answer.body.on('error', () => undefined);
    answer.body.destroy();
    return answer.statusCode;
  }

  return {
    get: (address, options) =>
      limited(options, (agent, signal) => follow(agent, address, options, signal)).catch((error: unknown) => {
        throw refusalOf(error);
      }),

    post: (address, body, options) =>
      limited(options, (agent, signal) => send(agent, address, body, options.headers, signal)).catch(
        (error: unknown) => {
          throw refusalOf(error, codeOf(error));
        },
      ),
  };
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

interface Judgement {
  isAllowed(address: string): boolean;
  /** Message for the administrator who entered the URL. */
  refusal: string;
}

function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** The URL parser converts every spelling of an IPv4 address into the plain one. */
function readAddress(address: string, base?: URL): URL {
  if (!URL.canParse(address, base?.href)) throw new FetchRefused('it is no http or https address');
  const url = new URL(address, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new FetchRefused('it is no http or https address');
  return url;
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/**
 * Finds our own error, which the HTTP client may wrap. Texts of other errors may contain internal addresses and are
 * dropped.
 * @param code code of the error, for an operator who knows the address
 */
function refusalOf(error: unknown, code: string | null = null): FetchRefused {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof FetchRefused) return cause;
  }
  return new FetchRefused(`its server did not answer as it should${code === null ? '' : ` (${code})`}`);
}

/** Code of an error of a socket, of TLS or of the HTTP client, such as ECONNREFUSED. */
const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
