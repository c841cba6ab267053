import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Clock, within } from '@footlight/platform';
import { credentialHeaders, type DialOptions, tlsAgent } from './dial.ts';

/**
 * Longest time without progress. The control plane ends a transfer without progress after 30 s, so this limit applies
 * only if the control plane does not react at all.
 */
const SILENCE_MS = 60_000;
/** Time limit of the answer, counted from the last byte of the file. Chosen, not measured. */
const ANSWER_MS = 10_000;
const ANSWER_BYTES = 4_096;

export interface PutFile {
  /** Path below the control plane's address; begins with "/". */
  path: string;
  mediaType: string;
  bytes: number;
  body: Readable;
}

/**
 * Sends a file to the control plane, with the credential and the certificate checks of the WebSocket. Not retried. Uses
 * Node's http client instead of undici, because Node's client accepts the https agent that checks a pinned certificate
 * before anything is sent.
 * @throws when the answer is not 204
 */
export async function putFile(
  { path, mediaType, bytes, body }: PutFile,
  options: Omit<DialOptions, 'handshakeTimeoutMs'>,
  clock: Clock,
): Promise<void> {
  const url = new URL(options.controlUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? httpsRequest : httpRequest)(url, {
    method: 'PUT',
    headers: {
      ...credentialHeaders(options),
      'content-type': mediaType,
      'content-length': bytes,
    },
    lookup: options.lookup,
    ...(isSecure ? { agent: tlsAgent(options) } : { agent: false }),
  });
  request.setTimeout(SILENCE_MS, () => request.destroy(new Error('the control plane did not read on')));
  const answered = new Promise<number>((resolve, reject) => {
    request.once('error', reject);
    request.once('response', (response) => {
      let read = 0;
      response.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read > ANSWER_BYTES) response.destroy();
      });
      response.on('error', () => undefined);
      resolve(response.statusCode ?? 0);
    });
  });
  // A refusal may arrive while the file is still being sent.
  const sent = pipeline(body, request);
  sent.catch(() => undefined);
  answered.catch(() => undefined);
  try {
    const early = await Promise.race([answered, sent]);
    const status = typeof early === 'number' ? early : await within(clock, ANSWER_MS, answered, null);
    if (status !== 204) throw new Error(`the control plane answered ${status ?? 'nothing'}`);
    await sent;
  } finally {
    body.destroy();
    request.destroy();
  }
}
