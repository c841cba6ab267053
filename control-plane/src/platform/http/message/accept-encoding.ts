/**
 * Whether a client takes gzip.
 * @param header Accept-Encoding as it came; absent or empty: only the plain form
 * Source: RFC 9110, section 12.5.3.
 */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  let any = false;
  for (const entry of String(header).toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const accepted = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    // What is said about gzip itself counts before what is said about the rest.
    if (coding === 'gzip' || coding === 'x-gzip') return accepted;
    if (coding === '*') any = accepted;
  }
  return any;
}
