/** X keysyms of characters. Source: X11 protocol, appendix A, and the Unicode keysym rule. */

const RETURN = 0xff0d;
const TAB = 0xff09;
const UNICODE_BASE = 0x0100_0000;

/**
 * Keysym of a character.
 * @returns null: the character cannot be typed. Of the control characters, only tab and newline can be typed
 */
export function keysymOf(character: string): number | null {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0a || code === 0x0d) return RETURN;
  if (code === 0x09) return TAB;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return null;
  if (code < 0x100) return code;
  return UNICODE_BASE + code;
}

/** Both keysyms that keyboard maps use for the same character. */
export function equalKeysyms(keysym: number): readonly number[] {
  if (keysym >= UNICODE_BASE) return [keysym];
  return keysym < 0x100 ? [keysym, UNICODE_BASE + keysym] : [keysym];
}
