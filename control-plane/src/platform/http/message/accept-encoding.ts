/**
 * Whether a client accepts gzip.
 * @param header Accept-Encoding as sent; missing or empty: no compression. Source: RFC 9110, section 12.5.3.
 */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  let any = false;
  for (const entry of String(header).toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const accepted = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    // An entry for gzip overrides the entry `*`.
    if (coding === 'gzip' || coding === 'x-gzip') return accepted;
    if (coding === '*') any = accepted;
  }
  return any;
}
