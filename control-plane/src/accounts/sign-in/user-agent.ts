/** Longest stored user agent (characters). */
const MAX_USER_AGENT = 512;

/** The stored form of a user agent; null when the request had none. */
export function storedUserAgent(header: string | undefined): string | null {
  return header?.slice(0, MAX_USER_AGENT) ?? null;
}
