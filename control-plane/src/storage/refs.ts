/** Where homes lie on a host. Pure. */

const MAX_SLUG = 40;
/** What a session's assignment can carry. */
const MAX_REF_BYTES = 512;

/** A name as part of a path: only [a-z0-9_-], at most 40 characters; "" when nothing of it is left. */
export function slug(name: string): string {
  const dashed = name.toLowerCase().replace(/[^a-z0-9_-]/g, '-');
  let start = 0;
  let end = dashed.length;
  while (dashed[start] === '-') start += 1;
  while (end > start && dashed[end - 1] === '-') end -= 1;
  return dashed.slice(start, end).slice(0, MAX_SLUG);
}

const part = (name: string, suffix: string): string => {
  const readable = slug(name);
  return readable === '' ? suffix : `${readable}-${suffix}`;
};

export interface HomeOwner {
  userId: string;
  username: string;
  /** The app that owns the home; for a tile its parent. */
  appId: string;
  appName: string;
}

/**
 * Directory of a home: readable, and never two owners in one.
 * @param root absolute, of the host
 * @param whole take whole ids instead of their first eight characters, where the short form is taken
 * @returns null when the result is too long to be assigned, or the root is no absolute path
 */
export function localHomeRef(root: string, owner: HomeOwner, whole: boolean): string | null {
  if (!root.startsWith('/')) return null;
  const id = (value: string): string => (whole ? value : value.slice(0, 8));
  const base = root.replace(/\/+$/, '');
  const ref = `${base}/${part(owner.username, id(owner.userId))}/${part(owner.appName, id(owner.appId))}`;
  return Buffer.byteLength(ref) > MAX_REF_BYTES ? null : ref;
}

/** Name of the engine volume of a home. */
export const volumeRef = (homeId: string): string => `service-home-${homeId}`;
