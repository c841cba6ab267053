/**
 * Parses Steam's text files of keys and values. The files come from homes that apps write, so they are untrusted. Pure;
 * never throws. Format: https://developer.valvesoftware.com/wiki/KeyValues
 */
import { parse } from 'vdf-parser';

/** Value of a key: a text or a block. If a key occurs several times, its value is a list. */
export type VdfValue = string | VdfBlock | readonly VdfValue[];
export interface VdfBlock {
  readonly [key: string]: VdfValue;
}

/**
 * Bounds of a line. The parser copies the rest of a line for each pair and each bracket, so a mebibyte in one line
 * would take minutes. Real lines contain one pair or one bracket, and a path of at most 4 KiB. Chosen, not measured.
 */
const MAX_LINE = 8 * 1024;
const MAX_WORDS = 64;
const MAX_BRACKETS = 64;

/** @returns null: the text has another format, or would take the parser too long */
export function parseVdf(text: string): VdfBlock | null {
  if (!text.split('\n').every(isPlainLine)) return null;
  try {
    // types: false keeps all digits of ids. arrayify: true makes lists of repeated keys; otherwise the parser would
    // merge a block into the prototype for the key `__proto__`.
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
    // To find the end of a quoted text, the parser checks only the character before a quote, but its regular expression
    // counts pairs of backslashes. So each quoted text must end under both rules.
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

/** Keys of this format are not case-sensitive. @returns undefined: the block does not contain the key */
function lookUp(block: VdfBlock, key: string): VdfValue | undefined {
  const name = Object.keys(block).find((own) => own.toLowerCase() === key);
  const value = name === undefined ? undefined : block[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The block of a key; null: the key has no block. @param key in lower case */
export function blockOf(block: VdfBlock, key: string): VdfBlock | null {
  const value = lookUp(block, key);
  return isBlock(value) ? value : null;
}

/** The text of a key, without escapes; null: the key has no text. @param key in lower case */
export function textOf(block: VdfBlock, key: string): string | null {
  const value = lookUp(block, key);
  return typeof value === 'string' ? unescaped(value) : null;
}

/** All texts and blocks in a block with their keys, in order. */
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
