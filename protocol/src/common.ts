/**
 * Basic schemas of all messages and bodies, and the only parser from text to message. No I/O and no Node API, so agent,
 * control plane and browser can share this module.
 *
 * Parsers never throw on remote input; they return a value that describes the fault.
 */
import { z } from 'zod';

import type { Open } from './codes.ts';
import { sessionStates } from './session-states.ts';

export { BACKOFF_MIN_MS, backoffMs } from './backoff.ts';
export * from './codes.ts';
export * from './session-states.ts';

// By default zod compiles object schemas with `new Function`. The pages' Content-Security-Policy forbids this, and the
// browser would report even the attempt. So the compilation is turned off before the first schema.
if ('document' in globalThis) z.config({ jitless: true });

/**
 * A JSON object with unknown keys. It is the result of JSON.parse and never copied, so that unusual keys (`__proto__`)
 * stay data.
 */
export type JsonObject = { [key: string]: unknown };

/** Deepest nesting of free-form objects. Deeper nesting could overflow the stack of a recursive function. */
export const MAX_JSON_DEPTH = 64;

/**
 * Largest number of values in one JSON text from outside, because parsing blocks the service's only thread. 1 MiB of
 * `[],` (340,000 values) takes 65 ms, and half a million nesting levels take 100 ms (Node 20, two cores). With this
 * limit, parsing takes a tenth. The largest legitimate text, the modes of 64 displays, stays below the limit, and a
 * client's own document of 64 KiB cannot exceed it.
 */
export const MAX_JSON_VALUES = 32_768;

/**
 * Whether a JSON text has more than MAX_JSON_VALUES values, counted without parsing the text. If the text is not JSON,
 * the result has no meaning.
 */
export function hasTooManyValues(text: string, maxValues = MAX_JSON_VALUES): boolean {
  if (text.length <= maxValues) return false;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === COMMA || character === OPEN_LIST || character === OPEN_OBJECT) values += 1;
    if (values > maxValues) return true;
  }
  return false;
}

const [QUOTE, COMMA, OPEN_LIST, OPEN_OBJECT, BACKSLASH] = [0x22, 0x2c, 0x5b, 0x7b, 0x5c];

/** Position of the quotation mark that ends a string; if there is none, the length of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

const textEncoder = new TextEncoder();

/**
 * Number of bytes of a string in UTF-8.
 * @param value any string; a lone surrogate is counted as U+FFFD, which has three bytes
 * Source: RFC 3629.
 */
export function utf8Length(value: string): number {
  return textEncoder.encode(value).length;
}

/**
 * Whether a string has at most maxBytes bytes in UTF-8. Encodes the string only if its length does not already decide.
 * @param maxBytes bound, inclusive
 */
export function fitsUtf8(value: string, maxBytes: number): boolean {
  if (value.length > maxBytes) return false;
  // A UTF-16 unit never needs more than three bytes in UTF-8.
  if (value.length * 3 <= maxBytes) return true;
  return utf8Length(value) <= maxBytes;
}

/**
 * Cuts a string to at most maxBytes bytes in UTF-8, without splitting a character.
 * @param maxBytes bound, inclusive
 * @returns the longest prefix that fits
 */
export function cutUtf8(value: string, maxBytes: number): string {
  if (fitsUtf8(value, maxBytes)) return value;
  const { read } = textEncoder.encodeInto(value, new Uint8Array(maxBytes));
  return value.slice(0, read);
}

/** Control characters (Cc), lone surrogates (Cs) and bidirectional control characters. Source: UAX #9, section 2. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Removes control characters (except newline and tab) and lone surrogates from a string that people read, because these
 * characters cannot be shown, and a database refuses some of them. Also removes bidirectional control characters, with
 * which a host could show administrators a different command from the one that they copy.
 */
export function stripControls(value: string): string {
  return value.replace(UNPRINTABLE, '');
}

/**
 * Control, format and line-separator characters: they are invisible, or change how the text around them is drawn. Lone
 * surrogates are included: they are not characters, and a database may store a replacement character instead. Names of
 * people have none of them.
 */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Whether a parsed JSON value is an object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, otherwise {}. */
export const objectOrEmpty = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Whether a JSON value has at most `limit` nesting levels. Iterative, so that no input can exhaust the stack. */
export function isShallow(value: unknown, limit = MAX_JSON_DEPTH): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return false;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      for (const child of Object.values(item))
        if (typeof child === 'object' && child !== null) next.push(child);
    }
    level = next;
  }
  return true;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * A uuid of any version and variant in a path or in a body that a person writes. Upper and lower case are accepted; the
 * result is in lower case.
 */
export const uuid = z.guid().toLowerCase();

/** A uuid in messages of the sockets: canonical form in lower case; any other form is malformed. */
export const wireUuid = z.string().regex(UUID, 'not a lower-case uuid');

/** Whether a value is a uuid in the form that is used in messages of the sockets. */
export function isWireUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

/** Whole milliseconds since 1970 UTC. */
export const epochMs = z.int();

/** A JSON integer within the safe range. */
export const int = z.int();

/** An integer from zero up, for counts, sizes and seconds. */
export const count = z.int().min(0);

/** A finite JSON number. */
export const finite = z.number();

/**
 * A string of at most `maxBytes` UTF-8 bytes, which is not changed: identifiers, paths, secrets, SDP.
 * @param maxBytes bound, inclusive
 */
export function text(maxBytes: number) {
  return z.string().refine((value) => fitsUtf8(value, maxBytes), { error: `over ${maxBytes} bytes` });
}

/**
 * Like `text`, but for a database key: also refuses NUL, which Postgres cannot store.
 * @param maxBytes bound, inclusive
 */
export function keyText(maxBytes: number) {
  return text(maxBytes).refine((value) => !value.includes('\0'), { error: 'a NUL character' });
}

/** Longest path of a home's base, in bytes; the same as of a home. */
const MAX_BASE_BYTES = 512;

/**
 * Directory on a host below people's homes: absolute and normalised, not the root, without control characters. Each
 * host checks the directory itself.
 */
export const homeBasePath = text(MAX_BASE_BYTES).refine(
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  (path) => /^(\/[^/\0-\x1f\x7f]+)+$/.test(path) && !/\/\.\.?(\/|$)/.test(path),
  { error: 'must be an absolute path without "." or "..", without a slash at its end, and not /' },
);

/**
 * A string that people read. Its length is checked as in `text`; then control characters are removed.
 * @param maxBytes bound of the received string, inclusive
 */
export function humanText(maxBytes: number) {
  return text(maxBytes).overwrite(stripControls);
}

/**
 * A member of an enum that later versions may extend. Any string within the bound is accepted and kept unchanged.
 * @param maxBytes bound, inclusive
 */
export function openEnum(maxBytes = 64) {
  return humanText(maxBytes);
}

/** An open enum of codes. Its type distinguishes declared codes from codes of a newer version. */
export function openCode<Code extends string>() {
  return openEnum() as unknown as z.ZodType<Open<Code>, Code>;
}

/** An object with free content. It is not copied, so that a key such as `__proto__` stays an ordinary key. */
export const jsonObject = z.custom<JsonObject>((value) => isJsonObject(value) && isShallow(value), {
  error: 'not an object, or nested too deep',
});

/**
 * A map from any keys to strings of limited length; it is not copied.
 * @param maxEntries largest number of keys
 * @param maxBytes longest value in UTF-8 bytes
 */
export function stringMap(maxEntries: number, maxBytes: number) {
  return z.custom<Record<string, string>>(
    (value) => {
      if (!isJsonObject(value)) return false;
      const values = Object.values(value);
      if (values.length > maxEntries) return false;
      return values.every((item) => typeof item === 'string' && fitsUtf8(item, maxBytes));
    },
    { error: `not a map of at most ${maxEntries} strings of at most ${maxBytes} bytes` },
  );
}

/**
 * Width or height of a picture in pixels. It must be even, because 4:2:0 video has half as many colour samples per
 * line.
 */
export const pictureSide = z.int().min(16).max(7680).multipleOf(2);
/** Frames per second. */
export const frameRate = z.int().min(1).max(240);
/** Target bitrate of a video stream, in kbit/s. */
export const bitrateKbps = z.int().min(1).max(500_000);

/** Video codecs of the product. */
export const codec = z.enum(['h264', 'h265', 'av1']);
export type Codec = z.infer<typeof codec>;

/** H.264 profiles that the product encodes. */
export const h264Profile = z.enum(['constrained-baseline', 'main', 'high']);
export type H264Profile = z.infer<typeof h264Profile>;

/** Encoder families; a family is a set of elements that encode video. */
export const encoderFamily = z.enum(['va', 'nvenc', 'openh264', 'vulkan']);
export type EncoderFamily = z.infer<typeof encoderFamily>;

export const sessionStateName = z.enum(sessionStates);

/** State of an app's start, determined from its processes and windows. */
export const appLaunchState = z.enum(['starting', 'client_only', 'game_running', 'game_exited']);
export type AppLaunchState = z.infer<typeof appLaunchState>;

/**
 * Result of reading one frame. message: valid. unknown: a well-formed object of an unknown type (ignored, or answered
 * if it has an id). malformed: no part of the frame may be applied; type and id are present if they are readable.
 */
export type ParsedFrame<M> =
  | { kind: 'message'; message: M }
  | { kind: 'unknown'; type: string; id?: string }
  | { kind: 'malformed'; type?: string; id?: string; why: string };

/** Describes a fault in one short line, without values, because values may be secret or very long. */
export function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'invalid';
  const path = issue.path.map(String).join('.');
  return cutUtf8(path === '' ? issue.code : `${path}: ${issue.code}`, 200);
}

const printableType = (type: string) => cutUtf8(stripControls(type), 64);

/** The messages of one direction: an object schema for each value of `type`. */
export type Messages<M> = z.ZodType<M> & {
  readonly options: readonly (z.ZodType & {
    readonly shape: { readonly type: { readonly value: string } };
  })[];
};

/** A parsed frame for a relay: a valid message, and the object that was received. */
export type ReadFrame<M> =
  | { kind: 'message'; message: M; value: JsonObject }
  | Exclude<ParsedFrame<M>, { kind: 'message' }>;

/**
 * Text of a message for its next receiver. The received text is reused, because serializing takes longer than the rest
 * of a relay. The message is serialized only if the schema removed a part of it.
 * @param came the received text of `value`
 * @param message the schema's result for `value`
 */
export function textToRelay(came: string, value: JsonObject, message: object): string {
  const keys = Object.keys(value);
  const isWhole =
    keys.length === Object.keys(message).length &&
    keys.every((key) => value[key] === (message as JsonObject)[key]);
  return isWhole ? came : JSON.stringify(message);
}

/**
 * Creates the parser of one direction of a socket.
 * @param innerUnknown called for an object that the schema refused. Returns the type of an enclosed message if this
 * type is unknown, or null if the object is invalid
 * @returns a function that parses the text of one frame; it never throws
 */
export function createFrameParser<M>(
  messages: Messages<M>,
  innerUnknown: (value: JsonObject) => string | null = () => null,
): (frame: string) => ParsedFrame<M> {
  const read = createFrameReader(messages, innerUnknown);
  return (frame) => {
    const parsed = read(frame);
    return parsed.kind === 'message' ? { kind: 'message', message: parsed.message } : parsed;
  };
}

/** Like `createFrameParser`, but the parser also returns the received object, which a relay needs. */
export function createFrameReader<M>(
  messages: Messages<M>,
  innerUnknown: (value: JsonObject) => string | null = () => null,
): (frame: string) => ReadFrame<M> {
  const byType = new Map(messages.options.map((schema) => [schema.shape.type.value, schema]));
  return (frame) => {
    if (hasTooManyValues(frame)) return { kind: 'malformed', why: 'too many values' };
    let value: unknown;
    try {
      value = JSON.parse(frame);
    } catch {
      return { kind: 'malformed', why: 'not JSON' };
    }
    if (!isJsonObject(value)) return { kind: 'malformed', why: 'not an object' };
    const id = isWireUuid(value.id) ? { id: value.id } : {};
    const type = value.type;
    if (typeof type !== 'string') return { kind: 'malformed', ...id, why: 'no type' };
    const schema = byType.get(type);
    if (schema === undefined) return { kind: 'unknown', type: printableType(type), ...id };
    const parsed = schema.safeParse(value);
    if (parsed.success) return { kind: 'message', message: parsed.data as M, value };
    const inner = innerUnknown(value);
    if (inner !== null) return { kind: 'unknown', type: printableType(inner), ...id };
    return { kind: 'malformed', type, ...id, why: describeIssue(parsed.error) };
  };
}
