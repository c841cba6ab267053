import type { CustomFetch } from 'openid-client';

/**
 * Fetch for libraries that send requests to a server of the operator's choice. Unlike the guarded fetch it may reach
 * private networks. It follows no redirect, and refuses answers that are too large. The signal of the library limits
 * the time.
 * @param maxBytes largest body in bytes, after decompression; for a larger one the call throws a TypeError
 */
export function cappedFetch(maxBytes: number): CustomFetch {
  return async (url, { body, ...options }) => {
    const answer = await fetch(url, { ...options, ...(body !== undefined && { body }), redirect: 'manual' });
    const bytes = await readCapped(answer.body, maxBytes);
    return new Response(bytes, { status: answer.status, headers: answer.headers });
  };
}

/** @returns null for an empty body, because some statuses allow no other */
async function readCapped(body: Response['body'], maxBytes: number): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body ?? []) {
    total += chunk.length;
    // An exception ends the loop, which cancels the rest of the body.
    if (total > maxBytes) throw new TypeError(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return total === 0 ? null : Buffer.concat(chunks);
}
