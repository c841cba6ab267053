/**
 * Where to go after signing in. Only a path of this origin is followed, so that a link to the login page cannot
 * send a person elsewhere: one leading slash, not `//` and not `/\`, which browsers read as another host.
 * @param next the `next` search parameter as it came; anything not followed gives the fallback
 */
export function safeNext(next: unknown, fallback = '/app'): string {
  if (typeof next !== 'string' || !next.startsWith('/') || /^\/[/\\]/.test(next)) return fallback;
  // Browsers drop tabs and line breaks while parsing, which would turn "/\t/host" into "//host".
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly those characters are refused
  if (/[\u0000-\u001f\u007f]/.test(next)) return fallback;
  const target = new URL(next, 'http://origin.invalid');
  if (target.origin !== 'http://origin.invalid') return fallback;
  // Going back to a sign-in page after signing in would loop.
  return /^\/(login|register|setup)(\/|$)/.test(target.pathname) ? fallback : next;
}

/** The login page's address that comes back to `path` afterwards. */
export function loginPath(path: string): string {
  const next = safeNext(path, '');
  return next === '' || next === '/app' ? '/login' : `/login?next=${encodeURIComponent(next)}`;
}
