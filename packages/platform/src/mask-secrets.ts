/** Masks credentials in texts that leave a host or the service for diagnosis. Pure. Source: docs/recordings.md. */

const MASK = '[masked]';

/** A name after which a secret follows: `api_key=…`, `"password":"…"`, `Authorization: …`. */
const NAMED =
  /((?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key|auth(?:orization)?|cookie|ice-pwd|ice-ufrag)[\w-]{0,32}["']?\s{0,4}[=:]\s{0,4}["']?(?:(?:bearer|basic|enroll)\s{1,4})?)([^\s"',;&]{1,4096})/gi;
/** Credentials of HTTP and of URLs. */
const SCHEME = /\b((?:bearer|basic|enroll) {1,4})[\w+/.=~-]{8,4096}/gi;
const IN_URL = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:]{0,256}:[^\s/@]{1,256}@/gi;
/** Lines of a session description, and candidates, because they contain addresses and keys of a connection. */
const SDP_LINE =
  /\b(?:v=0(?=\s|\\[rn])|[amoc]=(?:-|ice-|fingerprint|crypto|candidate|video|audio|application|IN IP|ssrc)|candidate:)[^\n"]*/g;
/** Random texts: the characters of base64 and hexadecimal. */
const RUN = /[\w+=-]{24,}/g;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Least length of random bytes that count as a secret; shorter ones may be a hash or a number. */
const HEX = /^[0-9a-f]{32,}$/i;

/** Least length of a value that is masked everywhere; masking shorter values would destroy much of the text. */
const SHORTEST_ANYWHERE = 4;

/**
 * @param values known secrets, such as the environment of an app. Those of three characters and less are masked only
 *   after `=` or `:`.
 * @returns the text with `[masked]` in place of these, and of everything that looks like a credential, a random token
 *   or a line of SDP
 */
export function maskSecrets(text: string, values: readonly string[] = []): string {
  let masked = text;
  for (const part of partsOf(values)) {
    if (part.length >= SHORTEST_ANYWHERE) masked = masked.replaceAll(part, MASK);
    else masked = masked.replaceAll(`=${part}`, `=${MASK}`).replaceAll(`:${part}`, `:${MASK}`);
  }
  return masked
    .replace(SDP_LINE, MASK)
    .replace(IN_URL, `$1${MASK}@`)
    .replace(SCHEME, `$1${MASK}`)
    .replace(NAMED, (whole, name: string, value: string) => (value === MASK ? whole : `${name}${MASK}`))
    .replace(RUN, (run) => (isRandom(run) ? MASK : run));
}

const SECRET_KEY = /pass(?:word|wd|phrase)|secret|token|credential|api[-_]?key|authorization|cookie/i;

/** Masks every text of a JSON value; a text whose key names a secret is masked completely. */
export function maskJson(value: unknown): unknown {
  if (typeof value === 'string') return maskSecrets(value);
  if (Array.isArray(value)) return value.map(maskJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      typeof item === 'string' && SECRET_KEY.test(key) ? MASK : maskJson(item),
    ]),
  );
}

/** Each line of each value, plain and JSON-escaped; the longest first, because one may contain another. */
function partsOf(values: readonly string[]): string[] {
  const lines = values.flatMap((value) => value.split(/\r?\n/)).filter((line) => line.trim() !== '');
  const parts = new Set(lines.flatMap((line) => [line, JSON.stringify(line).slice(1, -1)]));
  return [...parts].sort((a, b) => b.length - a.length);
}

function isRandom(run: string): boolean {
  if (UUID.test(run)) return false;
  if (HEX.test(run)) return true;
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run);
}
