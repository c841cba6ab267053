/**
 * Steam's text files of keys and values, from homes that apps write. Pure; never throws.
 * Format: https://developer.valvesoftware.com/wiki/KeyValues
 */
import { parse } from 'vdf-parser';

/** A key with its value or its block; a key that occurs twice has a list. */
export type VdfValue = string | VdfBlock | readonly VdfValue[];
export interface VdfBlock {
  readonly [key: string]: VdfValue;
}

/**
 * Bounds of a line. The parser copies the rest of a line for each pair and each bracket, so a mebibyte in one line
 * would take minutes. Real lines have a pair or a bracket, and at most a path of 4 KiB. Chosen, not measured.
 */
const MAX_LINE = 8 * 1024;
const MAX_WORDS = 64;
const MAX_BRACKETS = 64;

/** @returns null for a text in another format, or that would take the parser too long */
export function parseVdf(text: string): VdfBlock | null {
  if (!text.split('\n').every(isPlainLine)) return null;
  try {
    // Without types: ids keep their digits. Lists for repeated keys: otherwise `__proto__` would be merged into.
    return parse<VdfBlock>(text, { types: false, arrayify: true });
  } catch {
    return null;
  }
}

function isPlainLine(line: string): boolean {
  if (line.length > MAX_LINE) return false;
  let quotes = 0;
  let unescapedQuotes = 0;
  let brackets = 0;
  let words = 0;
  let isEscaped = false;
  let wasSpace = true;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at];
    const isQuote = character === '"';
    const isSpace = character === ' ' || character === '\t';
    // The parser looks only at the character before a quote, its regular expression at pairs of backslashes. Both must
    // find an end of the text.
    if (isQuote && line[at - 1] !== '\\') quotes += 1;
    if (isQuote && !isEscaped) unescapedQuotes += 1;
    if (character === '{' || character === '}') brackets += 1;
    if (wasSpace && !isSpace && unescapedQuotes % 2 === 0) words += 1;
    isEscaped = character === '\\' && !isEscaped;
    wasSpace = isSpace;
  }
  const isClosed = quotes % 2 === 0 && unescapedQuotes % 2 === 0;
  return isClosed && quotes <= 2 * MAX_WORDS && words <= MAX_WORDS && brackets <= MAX_BRACKETS;
}

const isBlock = (value: VdfValue | undefined): value is VdfBlock =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys of the format have no case. @returns undefined: no such key */
function lookUp(block: VdfBlock, key: string): VdfValue | undefined {
  const name = Object.keys(block).find((own) => own.toLowerCase() === key);
  const value = name === undefined ? undefined : block[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The block of a key in lower case; null: there is none. */
export function blockOf(block: VdfBlock, key: string): VdfBlock | null {
  const value = lookUp(block, key);
  return isBlock(value) ? value : null;
}

/** The text of a key in lower case, without escapes; null: there is none. */
export function textOf(block: VdfBlock, key: string): string | null {
  const value = lookUp(block, key);
  return typeof value === 'string' ? unescaped(value) : null;
}

/** Texts and blocks of a block in order, with their keys. */
export function membersOf(block: VdfBlock): [string, string | VdfBlock][] {
  return Object.entries(block).flatMap(([key, value]): [string, string | VdfBlock][] => {
    const first = Array.isArray(value) ? value[0] : value;
    if (typeof first === 'string') return [[key, unescaped(first)]];
    return isBlock(first) ? [[key, first]] : [];
  });
}

const ESCAPES: Readonly<Record<string, string>> = { n: ' ', t: ' ' };

const unescaped = (text: string): string =>
  text.replace(/\\(.)/gs, (_whole, character: string) => ESCAPES[character] ?? character);
