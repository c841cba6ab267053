import { cutUtf8, stripControls } from '@footlight/protocol';

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are the subject here
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;

/**
 * Text of an app or driver, sanitized for logs, pages and terminals: removes whole escape sequences, because their rest
 * would be shown as text, and then all control characters except newline and tab.
 */
export function plainText(text: string): string {
  return stripControls(text.replace(ESCAPE_SEQUENCE, ''));
}

/** One sentence about a thrown value, without a stack and without control characters. */
export function errorText(error: unknown, maxBytes = 512): string {
  const text = error instanceof Error ? error.message : String(error);
  return cutUtf8(plainText(text).trim(), maxBytes);
}
