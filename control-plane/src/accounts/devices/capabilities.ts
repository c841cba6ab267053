/**
 * What a client may have stored about itself. Pure, and never an error: what is too much is cut, what cannot be is
 * dropped, and everything else stays as it was sent.
 * Source: docs/devices.md, "Devices".
 */
import { isJsonObject, type JsonObject } from '@footlight/protocol';

/** The root is level 0; what lies deeper than this is dropped. */
const MAX_DEPTH = 8;
/** Keys of one object, elements of one list. */
const MAX_MEMBERS = 64;
/** Unicode code points of one string or key. */
const MAX_CHARACTERS = 512;

/**
 * Makes capabilities fit to be stored, and stamps them.
 * @param sent as JSON.parse made them; keys such as `__proto__` are ordinary data
 * @param measuredAt RFC 3339 time that replaces whatever the client says
 */
export function sanitizeCapabilities(sent: JsonObject, measuredAt: string): JsonObject {
  // The stamp is the server's, so the client's own takes no place among the members.
  const { measured_at: _, ...measured } = sent;
  const kept = cutObject(measured, 0);
  if (Object.hasOwn(kept, 'client_type') && kept.client_type !== 'web' && kept.client_type !== 'native') {
    kept.client_type = 'web';
  }
  if (!Number.isInteger(kept.report_version)) delete kept.report_version;
  kept.measured_at = measuredAt;
  return kept;
}

/** What has no place in the answer; distinct from null, which has. */
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

/** The first keys in their order as text. Of two that are the same once cut, the first stays. */
function cutObject(value: JsonObject, depth: number): JsonObject {
  const kept = new Map<string, unknown>();
  for (const key of Object.keys(value).sort().slice(0, MAX_MEMBERS)) {
    const cutKey = cutText(key);
    const item = cut(value[key], depth + 1);
    if (item !== DROPPED && !kept.has(cutKey)) kept.set(cutKey, item);
  }
  // Defines each key, where an assignment would take `__proto__` for the prototype.
  return Object.fromEntries(kept);
}

function cutText(text: string): string {
  // A code point is at most two UTF-16 units, so most texts need no walk.
  if (text.length <= MAX_CHARACTERS) return text;
  return Array.from(text.slice(0, 2 * MAX_CHARACTERS))
    .slice(0, MAX_CHARACTERS)
    .join('');
}
