/** The web app's settings document. Pure. */
import { fitsUtf8, type JsonObject, objectOrEmpty } from '@footlight/protocol';
import type { UiPreferences } from '@footlight/protocol/rest';
import { toJson } from '../../platform/database/index.ts';

/** Maximum UTF-8 bytes of the whole document as JSON. */
const MAX_DOCUMENT_BYTES = 64 * 1024;

/**
 * Merges a change one level deep: each sent key of session_overlay and each sent top-level value replaces the stored
 * one. Keys such as `__proto__` are ordinary data.
 * @param patch its session_overlay, if any, is already validated
 */
export function mergeUiPreferences(stored: JsonObject, patch: JsonObject): UiPreferences {
  const merged = new Map([...Object.entries(stored), ...Object.entries(patch)]);
  const overlay = new Map([
    ...Object.entries(objectOrEmpty(stored.session_overlay)),
    ...Object.entries(objectOrEmpty(patch.session_overlay)),
  ]);
  merged.set('session_overlay', Object.fromEntries(overlay));
  // fromEntries defines each key; an assignment to `__proto__` would set the prototype.
  return Object.fromEntries(merged) as UiPreferences;
}

/** The document as JSON text; null when it exceeds MAX_DOCUMENT_BYTES. */
export function encodeUiPreferences(document: UiPreferences): string | null {
  const text = toJson(document);
  return fitsUtf8(text, MAX_DOCUMENT_BYTES) ? text : null;
}
