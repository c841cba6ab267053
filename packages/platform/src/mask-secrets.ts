/** Masks credentials in texts that leave a host or the service for diagnosis. Pure. Source: docs/recordings.md. */

const MASK = '[masked]';

/** A name that precedes a secret: `api_key=…`, `"password":"…"`, `Authorization: …`. */
const NAMED =
  /((?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key|auth(?:orization)?|cookie|ice-pwd|ice-ufrag)[\w-]{0,32}["']?\s{0,4}[=:]\s{0,4}["']?(?:(?:bearer|basic|enroll)\s{1,4})?)([^\s"',;&]{1,4096})/gi;
/** Credentials in HTTP headers and in URLs. */
const SCHEME = /\b((?:bearer|basic|enroll) {1,4})[\w+/.=~-]{8,4096}/gi;
const IN_URL = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:]{0,256}:[^\s/@]{1,256}@/gi;
/**
 * Lines of a session description, and candidates. They are masked, because they contain addresses and keys of a
 * connection.
 */
const SDP_LINE =
  /\b(?:v=0(?=\s|\\[rn])|[amoc]=(?:-|ice-|fingerprint|crypto|candidate|video|audio|application|IN IP|ssrc)|candidate:)[^\n"]*/g;
/** Texts that look random: long runs of characters of base64 or hexadecimal numbers. */
const RUN = /[\w+=-]{24,}/g;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Shortest hexadecimal number that counts as a secret; a shorter one may be a hash or an ordinary number. */
const HEX = /^[0-9a-f]{32,}$/i;

/** Shortest value that is masked everywhere. Masking shorter values would destroy much of the text. */
const SHORTEST_ANYWHERE = 4;

/**
 * @param values known secrets, for example values of an app's environment variables. Values with at most three
 * characters are masked only after `=` or `:`.
 * @returns the text, in which `[masked]` replaces these values and all parts that look like a credential, a random
 * token or a line of SDP
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

/** Masks all texts in a JSON value. If a text's key is a name for secrets, the text is masked completely. */
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

/** Each line of each value, plain and JSON-escaped. The longest are first, because one may contain another. */
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
