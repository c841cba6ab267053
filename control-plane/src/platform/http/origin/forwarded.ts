/**
 * Scheme of the request to the outer proxy: the first value of X-Forwarded-Proto, otherwise `proto` of Forwarded (RFC
 * 7239). Pure.
 * @returns lowercased; undefined when both headers are missing, that is, without a proxy
 */
export function forwardedProtoOf(
  forwardedProtoHeader: string | undefined,
  forwardedHeader: string | undefined,
): string | undefined {
  const direct = forwardedProtoHeader?.split(',')[0]?.trim().toLowerCase();
  if (direct) return direct;
  const proto = /(?:^|[;,])\s*proto\s*=\s*(?:"([^"]*)"|([^;,\s]*))/i.exec(forwardedHeader ?? '');
  return (proto?.[1] ?? proto?.[2])?.trim().toLowerCase() || undefined;
}
