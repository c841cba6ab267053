/** Longest user agent that is kept. Characters. */
const MAX_USER_AGENT = 512;

/** The user agent as it is stored; null when the request had none. */
export function keptUserAgent(header: string | undefined): string | null {
  return header?.slice(0, MAX_USER_AGENT) ?? null;
}
