import { z } from 'zod';
import { MAX_SEARCH_CHARACTERS } from '../bounds.ts';
import { uuid } from '../common.ts';

/** Default limit of a JSON body in bytes; the default of Fastify (`bodyLimit`). */
export const DEFAULT_BODY_BYTES = 1024 * 1024;

/** An id that the service created, in an answer. It is not validated again. */
export const madeId = z.string().meta({ format: 'uuid' });

/** A time in answers: RFC 3339 in UTC with milliseconds. */
export const dateTime = z.iso.datetime({ precision: 3 });

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
/** First and last time in answers, in which years have four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Converts an RFC 3339 text to epoch milliseconds; smaller fractions are cut off. null: the text has another form. */
function readInstant(text: string): number | null {
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  // Checked separately, because Date.parse would read the 30th of February as a day of March.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const instantMs = Date.parse(text.toUpperCase());
  return instantMs >= FIRST_MS && instantMs <= LAST_MS ? instantMs : null;
}

/** A time in a request: RFC 3339 in any time zone. The parsed value is in epoch milliseconds. */
export const zonedDateTime = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text, context) => {
    const instantMs = readInstant(text);
    if (instantMs !== null) return instantMs;
    context.addIssue({ code: 'custom', message: 'must be an RFC 3339 time with its zone' });
    return z.NEVER;
  });

/** RFC 3339, or whole milliseconds since 1970; any other text counts as missing. */
const windowEnd = z
  .unknown()
  .optional()
  .transform((raw): number | undefined => {
    if (typeof raw !== 'string') return undefined;
    // 15 digits are enough for the last time of answers, and are exact as a number.
    return /^[0-9]{1,15}$/.test(raw) ? Number(raw) : zonedDateTime.safeParse(raw).data;
  })
  .meta({ type: 'string' });

/** Query of a request about a window of time, in epoch milliseconds. The handler sets defaults and limits. */
export const windowQuery = z.object({
  from: windowEnd.describe(
    'Begin, in RFC 3339 or milliseconds since 1970; missing, malformed or not before `to`: five minutes before it. The window has two to ten minutes, and `to` stays.',
  ),
  to: windowEnd.describe(
    'End, in RFC 3339 or milliseconds since 1970; missing or malformed: now, or the end of a session that ended.',
  ),
});

/**
 * Text in a request. NUL is refused, because not every database can store it. Bounds are numbers of Unicode code
 * points, not of UTF-16 units.
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
      // The keywords of JSON Schema also count code points.
      .meta({ ...(min > 0 && { minLength: min }), ...(bounded && { maxLength: max }) })
  );
}

/** Text that does not consist only of spaces. @param max largest number of code points */
export function notBlank(max?: number) {
  return string({ max }).refine((value) => value.trim() !== '', { error: 'must not be blank' });
}

/** Whether this runtime knows an IANA time zone. Offsets such as +01:00 are not time zones. */
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

/** A 32-bit signed integer within bounds, which are included. */
export function int32(min = -2147483648, max = 2147483647) {
  return z.int().min(min).max(max);
}

/** Body of a write. Unknown keys are refused, including `__proto__`, which a schema alone would silently drop. */
export function body<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.preprocess((value, context) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
      context.addIssue({ code: 'custom', message: 'unknown key "__proto__"', input: value });
    }
    return value;
  }, z.strictObject(shape));
}

/** Body of a write from which unknown keys are dropped; its declaration must contain `unknownKeys`. */
export function tolerantBody<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.object(shape);
}

/** Path parameter of every `/{id}` route. */
export const idParams = z.object({ id: uuid.describe('Id of what the path names.') });

/** Path parameter of the routes with ids that operators choose, which may be any text. */
export const textIdParams = z.object({ id: string().describe('Id that the operator chose.') });

/**
 * `limit` of a paged list. A value that is missing, unreadable, zero or negative gives the default; a value above the
 * cap gives the cap.
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

/** `limit` of a list in which a value above the cap gives the default, unlike in `pageLimit`. */
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

/** Query of a paged list. The schema accepts any cursor; the handler validates it. */
export function pageQuery(defaultLimit: number) {
  return z.object({
    limit: pageLimit(defaultLimit),
    cursor: string({ max: 1024 })
      .optional()
      .describe('`next_cursor` of the page before; left out: the first page.'),
  });
}

/** `q` of a list; a blank text means no filter (undefined). */
export const searchText = string({ max: MAX_SEARCH_CHARACTERS })
  .transform((value) => (value.trim() === '' ? undefined : value))
  .optional();

/** The bytes of a file, in an answer that is not JSON. */
export const bytes = z.custom<Uint8Array>().meta({ type: 'string', format: 'binary' });

/** A page of a list; next_cursor is null on the last page. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item).describe('The items of this page.'),
    next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
  });
}

/** Whether the text has between min and max Unicode code points. */
export function hasCodePoints(value: string, min: number, max: number): boolean {
  // A code point has one or two UTF-16 units, so for most texts the length decides without iterating.
  if (value.length < min || value.length > max * 2) return false;
  let count = 0;
  for (const _ of value) {
    count += 1;
    if (count > max) return false;
  }
  return count >= min;
}
