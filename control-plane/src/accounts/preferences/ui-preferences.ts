/**
 * The document of the web client's settings. Pure.
 * Source: docs/devices.md, "Preferences".
 */
import { fitsUtf8, type JsonObject, objectOrEmpty } from '@footlight/protocol';
import type { UiPreferences } from '@footlight/protocol/rest';
import { toJson } from '../../platform/database/index.ts';

/** UTF-8 bytes of the whole document as JSON. */
const MAX_DOCUMENT_BYTES = 64 * 1024;

/**
 * Merges a change one level deep: within session_overlay each key that is there replaces that key, everywhere else the
 * whole value of a key is replaced. Keys such as `__proto__` are ordinary data.
 * @param patch with a session_overlay that was checked, or none
 */
export function mergeUiPreferences(stored: JsonObject, patch: JsonObject): UiPreferences {
  const merged = new Map([...Object.entries(stored), ...Object.entries(patch)]);
  const overlay = new Map([
    ...Object.entries(objectOrEmpty(stored.session_overlay)),
    ...Object.entries(objectOrEmpty(patch.session_overlay)),
  ]);
  merged.set('session_overlay', Object.fromEntries(overlay));
  // Defines each key, where an assignment would take `__proto__` for the prototype.
  return Object.fromEntries(merged) as UiPreferences;
}

/** Text of a document to store; null when it is too long. */
export function encodeUiPreferences(document: UiPreferences): string | null {
  const text = toJson(document);
  return fitsUtf8(text, MAX_DOCUMENT_BYTES) ? text : null;
}
