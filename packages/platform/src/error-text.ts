import { cutUtf8, stripControls } from '@footlight/protocol';

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are the subject here
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;

/**
 * Text from an app or a driver, made harmless for logs, pages and terminals: whole escape sequences are removed,
 * because without their ESC they leave readable rubbish, then every control character but newline and tab.
 */
export function plainText(text: string): string {
  return stripControls(text.replace(ESCAPE_SEQUENCE, ''));
}

/** One sentence out of a thrown value; never a stack, never control characters. */
export function errorText(error: unknown, maxBytes = 512): string {
  const text = error instanceof Error ? error.message : String(error);
  return cutUtf8(plainText(text).trim(), maxBytes);
}
