import { cutUtf8, stripControls } from '@footlight/protocol';

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are the subject here
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;

/**
 * Text of an app or driver, sanitized for logs, pages and terminals: removes whole escape sequences, whose rest would
 * be readable garbage, and then every control character except newline and tab.
 */
export function plainText(text: string): string {
  return stripControls(text.replace(ESCAPE_SEQUENCE, ''));
}

/** One sentence of a thrown value, without stack and control characters. */
export function errorText(error: unknown, maxBytes = 512): string {
  const text = error instanceof Error ? error.message : String(error);
  return cutUtf8(plainText(text).trim(), maxBytes);
}
