/**
 * Path to open after sign-in. Only paths of this origin are accepted, so that a login link cannot redirect to another
 * site: one leading slash, not `//` and not `/\`, which browsers read as another host.
 * @param next the `next` search parameter; if it is invalid, the fallback is used
 */
export function safeNext(next: unknown, fallback = '/app'): string {
  if (typeof next !== 'string' || !next.startsWith('/') || /^\/[/\\]/.test(next)) return fallback;
  // Browsers drop tabs and line breaks, which would turn "/\t/host" into "//host".
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly those characters are refused
  if (/[\u0000-\u001f\u007f]/.test(next)) return fallback;
  const target = new URL(next, 'http://origin.invalid');
  if (target.origin !== 'http://origin.invalid') return fallback;
  // A redirect to a sign-in page would cause a loop.
  return /^\/(login|register|reset|setup)(\/|$)/.test(target.pathname) ? fallback : next;
}

/** URL of the login page that returns to `path`. */
export function loginPath(path: string): string {
  const next = safeNext(path, '');
  return next === '' || next === '/app' ? '/login' : `/login?next=${encodeURIComponent(next)}`;
}
