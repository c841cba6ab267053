import { z } from 'zod';
import { MAX_SEARCH_CHARACTERS } from '../bounds.ts';
import { uuid } from '../common.ts';

/** Default cap of a JSON body, in bytes: Fastify's default (`bodyLimit`). */
export const DEFAULT_BODY_BYTES = 1024 * 1024;

/** An id of the service in an answer. Not validated again. */
export const madeId = z.string().meta({ format: 'uuid' });

/** RFC 3339 UTC with milliseconds, as answers carry it. */
export const dateTime = z.iso.datetime({ precision: 3 });

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
/** First and last time of answers: their years have four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Epoch milliseconds of an RFC 3339 text, smaller fractions cut off; null when it is none. */
function readInstant(text: string): number | null {
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  // Date.parse would read the 30th of February as a day of March.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const instantMs = Date.parse(text.toUpperCase());
  return instantMs >= FIRST_MS && instantMs <= LAST_MS ? instantMs : null;
}

/** A time in a request: RFC 3339 in any zone. Its value is epoch milliseconds. */
export const zonedDateTime = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text, context) => {
    const instantMs = readInstant(text);
    if (instantMs !== null) return instantMs;
    context.addIssue({ code: 'custom', message: 'must be an RFC 3339 time with its zone' });
    return z.NEVER;
  });

/** RFC 3339 or whole milliseconds since 1970; what is neither counts as missing. */
const windowEnd = z
  .unknown()
  .optional()
  .transform((raw): number | undefined => {
    if (typeof raw !== 'string') return undefined;
    // 15 digits reach beyond the last time of answers, and are exact.
    return /^[0-9]{1,15}$/.test(raw) ? Number(raw) : zonedDateTime.safeParse(raw).data;
  })
  .meta({ type: 'string' });

/** Query of a read over a window of time, in epoch milliseconds. The reader sets defaults and bounds. */
export const windowQuery = z.object({
  from: windowEnd.describe(
    'Begin, in RFC 3339 or milliseconds since 1970; missing, malformed or not before `to`: five minutes before it. The window has two to ten minutes, and `to` stays.',
  ),
  to: windowEnd.describe(
    'End, in RFC 3339 or milliseconds since 1970; missing or malformed: now, or the end of a session that ended.',
  ),
});

/**
 * Text in a request. NUL is refused, because no column can store it on every database. Bounds count Unicode code
 * points, not UTF-16 units.
 */
export function string(bounds: { min?: number | undefined; max?: number | undefined } = {}) {
  const { min = 0, max = Number.POSITIVE_INFINITY } = bounds;
  const bounded = max !== Number.POSITIVE_INFINITY;
  return (
    z
      .string()
      .refine((value) => !value.includes('\0'), { error: 'must not contain a NUL character' })
      .refine((value) => hasCodePoints(value, min, max), {
        error: bounded ? `${min} to ${max} characters` : `at least ${min} characters`,
      })
      // The keywords of JSON Schema count code points too.
      .meta({ ...(min > 0 && { minLength: min }), ...(bounded && { maxLength: max }) })
  );
}

/** Text that is more than spaces. @param max code points, included */
export function notBlank(max?: number) {
  return string({ max }).refine((value) => value.trim() !== '', { error: 'must not be blank' });
}

/** Whether this runtime knows an IANA zone. Offsets such as +01:00 are no zones. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Name of an IANA time zone. */
export const timeZone = string({ min: 1, max: 64 }).refine(isTimeZone, {
  error: 'must be an IANA time zone',
});

/** A 32-bit signed integer within its bounds (both included). */
export function int32(min = -2147483648, max = 2147483647) {
  return z.int().min(min).max(max);
}

/** A write body. Unknown keys are refused, also `__proto__`, which a schema alone would drop silently. */
export function body<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.preprocess((value, context) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
      context.addIssue({ code: 'custom', message: 'unknown key "__proto__"', input: value });
    }
    return value;
  }, z.strictObject(shape));
}

/** A write body that drops unknown keys; its declaration says so by `unknownKeys`. */
export function tolerantBody<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.object(shape);
}

/** Path parameter of every `/{id}` route. */
export const idParams = z.object({ id: uuid.describe('Id of what the path names.') });

/** Path parameter of the routes whose ids operators choose: any text. */
export const textIdParams = z.object({ id: string().describe('Id that the operator chose.') });

/**
 * `limit` of a paged list: absent, unparseable, zero or negative gives the default; more than the cap, the cap.
 */
function pageLimit(defaultLimit: number, cap = 1000) {
  return z
    .unknown()
    .optional()
    .transform((raw): number => {
      if (typeof raw !== 'string' || !/^[0-9]+$/.test(raw)) return defaultLimit;
      const limit = Number(raw);
      return limit === 0 ? defaultLimit : Math.min(limit, cap);
    })
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: cap,
      default: defaultLimit,
      description: `Items of a page; left out: ${defaultLimit}. More than ${cap} counts as ${cap}; what is no number from 1 up, as left out.`,
    });
}

/** `limit` of lists where a value over the cap gives the default, unlike `pageLimit`. */
export function limitOrDefault(defaultLimit: number, cap: number) {
  return z
    .unknown()
    .optional()
    .transform((raw): number => {
      const given = typeof raw === 'string' && /^[0-9]{1,9}$/.test(raw) ? Number(raw) : 0;
      return given >= 1 && given <= cap ? given : defaultLimit;
    })
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: cap,
      default: defaultLimit,
      description: `Entries of a page. Anything but a number from 1 to ${cap} counts as ${defaultLimit}.`,
    });
}

/** Query of a paged list. The cursor is opaque here; the handler validates it. */
export function pageQuery(defaultLimit: number) {
  return z.object({
    limit: pageLimit(defaultLimit),
    cursor: string({ max: 1024 })
      .optional()
      .describe('`next_cursor` of the page before; left out: the first page.'),
  });
}

/** `q` of a list; blank is no filter (undefined). */
export const searchText = string({ max: MAX_SEARCH_CHARACTERS })
  .transform((value) => (value.trim() === '' ? undefined : value))
  .optional();

/** The bytes of a file, in an answer that is no JSON. */
export const bytes = z.custom<Uint8Array>().meta({ type: 'string', format: 'binary' });

/** A page of a list; next_cursor is null on the last page. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item).describe('The items of this page.'),
    next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
  });
}

/** True when the text has between min and max Unicode code points. */
export function hasCodePoints(value: string, min: number, max: number): boolean {
  // A code point has one or two UTF-16 units, so most texts need no iteration.
  if (value.length < min || value.length > max * 2) return false;
  let count = 0;
  for (const _ of value) {
    count += 1;
    if (count > max) return false;
  }
  return count >= min;
}
