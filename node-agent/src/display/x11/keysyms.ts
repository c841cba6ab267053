/** X keysyms of characters. Source: X11 protocol, appendix A, and the Unicode keysym rule. */

const RETURN = 0xff0d;
const TAB = 0xff09;
const UNICODE_BASE = 0x0100_0000;

/**
 * Keysym of one character.
 * @returns null for what cannot be typed: control characters other than tab and newline
 */
export function keysymOf(character: string): number | null {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0a || code === 0x0d) return RETURN;
  if (code === 0x09) return TAB;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return null;
  if (code < 0x100) return code;
  return UNICODE_BASE + code;
}

/** Both keysyms under which a keyboard map may hold the character. */
export function equalKeysyms(keysym: number): readonly number[] {
  if (keysym >= UNICODE_BASE) return [keysym];
  return keysym < 0x100 ? [keysym, UNICODE_BASE + keysym] : [keysym];
}
