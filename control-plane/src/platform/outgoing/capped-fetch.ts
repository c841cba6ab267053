import type { CustomFetch } from 'openid-client';
import { readCapped } from './capped-body.ts';

/**
 * Fetch for libraries that send requests to a server of the operator's choice. Unlike the guarded fetch it may reach
 * private networks. It follows no redirect, and refuses answers that are too large. The signal of the library limits
 * the time.
 * @param maxBytes largest body in bytes, after decompression; for a larger one the call throws a TypeError
 */
export function cappedFetch(maxBytes: number): CustomFetch {
  return async (url, { body, ...options }) => {
    const answer = await fetch(url, { ...options, ...(body !== undefined && { body }), redirect: 'manual' });
    const bytes =
      answer.body && (await readCapped(answer.body, maxBytes, (message) => new TypeError(message)));
    // Some statuses allow no body, not even an empty one.
    return new Response(bytes?.length ? bytes : null, { status: answer.status, headers: answer.headers });
  };
}
