import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Clock, SECOND_MS } from '@footlight/platform';
import { MAX_CALL_BODY_BYTES } from '@footlight/protocol/agent';
import { credentialHeaders, type DialOptions, tlsAgent } from './dial.ts';

/**
 * Time limit of a whole call. If a poll takes longer, the control plane returns the claimed work again at a later poll.
 * Chosen, not measured.
 */
const CALL_MS = 30 * SECOND_MS;

export interface HttpCall {
  method: 'GET' | 'POST';
  /** Path below the control plane's address; begins with "/". */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Sent as JSON; missing: the request has no body. */
  body?: unknown;
  /** Longest accepted answer in bytes. Default: 64 KiB. */
  maxAnswerBytes?: number;
  /** Time limit of the whole call in milliseconds. Default: 30 s. */
  limitMs?: number;
  /** Its abort ends the call early. */
  signal?: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  /** The parsed JSON; undefined: the answer is not JSON. */
  body: unknown;
}

/**
 * Calls the control plane over HTTP.
 * @throws when no complete answer arrives in time; the control plane may still have executed the call
 */
export type CallControl = (call: HttpCall) => Promise<HttpAnswer>;

/**
 * Makes one call with the credential and the certificate checks of the WebSocket; it is never retried here. Uses Node's
 * http client instead of undici, because Node's client accepts the https agent that checks a pinned certificate before
 * anything is sent.
 */
export function callControl(
  { method, path, query, body, maxAnswerBytes = MAX_CALL_BODY_BYTES, limitMs = CALL_MS, signal }: HttpCall,
  options: Omit<DialOptions, 'handshakeTimeoutMs'>,
  clock: Clock,
): Promise<HttpAnswer> {
  const url = new URL(options.controlUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  url.search = new URLSearchParams(query).toString();
  const isSecure = url.protocol === 'https:';
  const text = body === undefined ? null : Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = (isSecure ? httpsRequest : httpRequest)(url, {
      method,
      ...(signal && { signal }),
      headers: {
        ...credentialHeaders(options),
        ...(text !== null && { 'content-type': 'application/json', 'content-length': text.length }),
      },
      lookup: options.lookup,
      ...(isSecure ? { agent: tlsAgent(options) } : { agent: false }),
    });
    const timer = clock.setTimeout(
      () => request.destroy(new Error('the control plane did not answer in time')),
      limitMs,
    );
    const settle = (finish: () => void) => {
      timer.cancel();
      finish();
    };
    request.once('error', (error) => settle(() => reject(error)));
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxAnswerBytes) chunks.push(chunk);
        else request.destroy(new Error(`the answer has more than ${maxAnswerBytes} bytes`));
      });
      response.once('error', (error) => settle(() => reject(error)));
      response.once('end', () =>
        settle(() => resolve({ status: response.statusCode ?? 0, body: jsonOf(Buffer.concat(chunks)) })),
      );
    });
    request.end(text ?? undefined);
  });
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
