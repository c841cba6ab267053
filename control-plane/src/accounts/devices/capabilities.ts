/**
 * Sanitizes the capabilities that a client posts. Pure, never throws: values beyond a limit are cut, impossible values
 * are dropped, everything else is stored as sent.
 */
import { isJsonObject, type JsonObject } from '@footlight/protocol';

/** The root is level 0; deeper values are dropped. */
const MAX_DEPTH = 8;
/** Maximum keys of an object, and maximum elements of a list. */
const MAX_MEMBERS = 64;
/** Maximum Unicode code points of a string or key. */
const MAX_CHARACTERS = 512;

/**
 * Sanitizes and stamps capabilities.
 * @param sent as parsed by JSON.parse; keys such as `__proto__` are ordinary data
 * @param measuredAt RFC 3339 time that replaces the client's value
 */
export function sanitizeCapabilities(sent: JsonObject, measuredAt: string): JsonObject {
  // The server's time stamp replaces this one, so it must not count towards MAX_MEMBERS.
  const { measured_at: _, ...measured } = sent;
  const kept = cutObject(measured, 0);
  if (Object.hasOwn(kept, 'client_type') && kept.client_type !== 'web' && kept.client_type !== 'native') {
    kept.client_type = 'web';
  }
  if (!Number.isInteger(kept.report_version)) delete kept.report_version;
  kept.measured_at = measuredAt;
  return kept;
}

/** Marks a dropped value; null is a valid value. */
const DROPPED = Symbol('dropped');

function cut(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return DROPPED;
  if (typeof value === 'string') return cutText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : DROPPED;
  if (Array.isArray(value)) {
    return value
      .slice(0, MAX_MEMBERS)
      .map((item) => cut(item, depth + 1))
      .filter((item) => item !== DROPPED);
  }
  return isJsonObject(value) ? cutObject(value, depth) : value;
}

/** Keeps the first keys in text order. Of two keys that are equal after cutting, the first stays. */
function cutObject(value: JsonObject, depth: number): JsonObject {
  const kept = new Map<string, unknown>();
  for (const key of Object.keys(value).sort().slice(0, MAX_MEMBERS)) {
    const cutKey = cutText(key);
    const item = cut(value[key], depth + 1);
    if (item !== DROPPED && !kept.has(cutKey)) kept.set(cutKey, item);
  }
  // fromEntries defines each key; an assignment to `__proto__` would set the prototype.
  return Object.fromEntries(kept);
}

function cutText(text: string): string {
  // A code point has at most two UTF-16 units. A text of at most MAX_CHARACTERS units therefore needs no cut.
  if (text.length <= MAX_CHARACTERS) return text;
  return Array.from(text.slice(0, 2 * MAX_CHARACTERS))
    .slice(0, MAX_CHARACTERS)
    .join('');
}
