/** Longest stored user agent (characters). */
const MAX_USER_AGENT = 512;

/** The stored form of a user agent; null when the request had none. */
export function keptUserAgent(header: string | undefined): string | null {
  return header?.slice(0, MAX_USER_AGENT) ?? null;
}
