import type { KeyboardLayout } from '@footlight/protocol/input';
import { DETECTED_KEYS, offered } from './layouts.ts';

/**
 * The key that types a letter or digit, for a key combination such as Ctrl+Z. The app translates keys by its display's
 * layout.
 * @param layout of the app's display; null: the host cannot set a layout and uses the US layout
 * @returns KeyboardEvent.code; null: the text is not a single letter or digit
 */
export function chordCode(text: string, layout: KeyboardLayout | null): string | null {
  if (/^\d$/.test(text)) return `Digit${text}`;
  if (!/^[a-z]$/i.test(text)) return null;
  const printed = layout === null ? null : offered(layout)?.printed;
  const place = printed == null ? -1 : [...printed].indexOf(text.toLowerCase());
  // A letter that these keys do not type is at its US position, as on every Latin layout.
  return DETECTED_KEYS[place] ?? `Key${text.toUpperCase()}`;
}
