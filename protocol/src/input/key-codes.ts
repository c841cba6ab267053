/**
 * Physical keys: KeyboardEvent.code → Linux evdev code (X11 keycode = evdev + 8). The keyboard layout inside the
 * session decides which character a key types. Keys that are not in the table are not sent.
 * Source: UI Events KeyboardEvent code values; linux/input-event-codes.h.
 */

function row(first: number, ...codes: string[]): [string, number][] {
  return codes.map((code, index) => [code, first + index]);
}

const letters = (keys: string) => [...keys].map((key) => `Key${key}`);
const digits = [...'1234567890'].map((digit) => `Digit${digit}`);
const functionKeys = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `F${from + index}`);

/** KeyboardEvent.code → evdev code. */
export const KEY_CODES: ReadonlyMap<string, number> = new Map<string, number>([
  ...row(1, 'Escape', ...digits, 'Minus', 'Equal', 'Backspace', 'Tab'),
  ...row(16, ...letters('QWERTYUIOP'), 'BracketLeft', 'BracketRight', 'Enter', 'ControlLeft'),
  ...row(30, ...letters('ASDFGHJKL'), 'Semicolon', 'Quote', 'Backquote', 'ShiftLeft', 'Backslash'),
  ...row(44, ...letters('ZXCVBNM'), 'Comma', 'Period', 'Slash', 'ShiftRight', 'NumpadMultiply'),
  ...row(56, 'AltLeft', 'Space', 'CapsLock', ...functionKeys(1, 10), 'NumLock', 'ScrollLock'),
  ...row(71, 'Numpad7', 'Numpad8', 'Numpad9', 'NumpadSubtract'),
  ...row(75, 'Numpad4', 'Numpad5', 'Numpad6', 'NumpadAdd'),
  ...row(79, 'Numpad1', 'Numpad2', 'Numpad3', 'Numpad0', 'NumpadDecimal'),
  ...row(86, 'IntlBackslash', 'F11', 'F12', 'IntlRo', 'Lang3', 'Lang4', 'Convert', 'KanaMode', 'NonConvert'),
  ...row(96, 'NumpadEnter', 'ControlRight', 'NumpadDivide', 'PrintScreen', 'AltRight'),
  ...row(102, 'Home', 'ArrowUp', 'PageUp', 'ArrowLeft', 'ArrowRight', 'End', 'ArrowDown', 'PageDown'),
  ...row(110, 'Insert', 'Delete'),
  ...row(113, 'AudioVolumeMute', 'AudioVolumeDown', 'AudioVolumeUp'),
  ...row(117, 'NumpadEqual'),
  ...row(119, 'Pause'),
  ...row(121, 'NumpadComma', 'Lang1', 'Lang2', 'IntlYen', 'MetaLeft', 'MetaRight', 'ContextMenu'),
  ...row(131, 'Undo'),
  ...row(133, 'Copy'),
  ...row(135, 'Paste', 'Find', 'Cut', 'Help'),
  ...row(158, 'BrowserBack', 'BrowserForward'),
  ...row(163, 'MediaTrackNext', 'MediaPlayPause', 'MediaTrackPrevious', 'MediaStop'),
  ...row(173, 'BrowserRefresh'),
  ...row(179, 'NumpadParenLeft', 'NumpadParenRight'),
  ...row(183, ...functionKeys(13, 24)),
  ...row(217, 'BrowserSearch'),
]);

/** Keys for power management of the host, which must not reach an app. */
const FORBIDDEN: ReadonlySet<number> = new Set([116, 142, 143, 205]);
/**
 * Largest evdev code that X supports: X keycodes end at 255 and are evdev codes plus eight. Source: X11 protocol,
 * "Keyboards".
 */
const MAX_KEY = 247;

/** Whether an evdev code may be sent and injected. */
export function isKeyAllowed(code: number): boolean {
  return Number.isInteger(code) && code >= 1 && code <= MAX_KEY && !FORBIDDEN.has(code);
}

/** Lock bits of a KEY message. */
export const LOCK = { caps: 1, num: 2, scroll: 4 } as const;
