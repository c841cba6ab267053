/**
 * Whether an If-None-Match header contains the answer's tag; both tags may be weak. Source: RFC 9110, section 13.1.2.
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const named = ifNoneMatch.split(',').map((tag) => tag.trim());
  return named.some((tag) => tag === '*' || opaque(tag) === opaque(etag));
}

const opaque = (tag: string): string => tag.replace(/^W\//, '');
