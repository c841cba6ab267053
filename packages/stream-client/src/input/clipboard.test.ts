// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Environment } from '../types.ts';
import { ClipboardBridge } from './clipboard.ts';

const LIMIT = 65_536;

let nowMs: number;
let heard: boolean;
let sent: string[];
let written: string[];
let allowed: boolean;
let bridge: ClipboardBridge;

const clipboard = Object.getOwnPropertyDescriptor(navigator, 'clipboard');

beforeEach(() => {
  [nowMs, heard, sent, written, allowed] = [0, true, [], [], true];
  const writeText = (text: string) => {
    if (!allowed) return Promise.reject(new Error('no gesture'));
    written.push(text);
    return Promise.resolve();
  };
  Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText } });
  Object.defineProperty(document, 'hasFocus', { configurable: true, value: () => true });
  bridge = new ClipboardBridge({ monotonicMs: () => nowMs } as Environment, (text) => {
    if (heard) sent.push(text);
    return heard;
  });
});

afterEach(() => {
  Reflect.deleteProperty(document, 'hasFocus');
  if (clipboard === undefined) Reflect.deleteProperty(navigator, 'clipboard');
  else Object.defineProperty(navigator, 'clipboard', clipboard);
});

describe('from the page to the session', () => {
  test.each([
    ['a text of 64 KiB', 'a'.repeat(LIMIT), 'sent'],
    ['one byte more', 'a'.repeat(LIMIT + 1), 'too_long'],
    ['fewer characters of more bytes', '漢'.repeat(LIMIT / 2), 'too_long'],
    ['new lines, which take two bytes each in the message', '\n'.repeat(LIMIT), 'too_long'],
  ])('%s: %#', (_what, text, outcome) => {
    expect(bridge.toSession(text)).toBe(outcome);
    expect(sent).toEqual(outcome === 'sent' ? [text] : []);
  });

  test('at most five texts in a second', () => {
    const outcomes = Array.from({ length: 6 }, (_, index) => bridge.toSession(`${index}`));
    expect(outcomes).toEqual(['sent', 'sent', 'sent', 'sent', 'sent', 'not_now']);
    nowMs = 1000;
    expect(bridge.toSession('later')).toBe('sent');
  });

  test('a text that could not be sent does not count against the rate', () => {
    heard = false;
    for (let turn = 0; turn < 9; turn++) expect(bridge.toSession('x')).toBe('not_now');
    heard = true;
    expect(bridge.toSession('x')).toBe('sent');
  });
});

describe('from the session to the page', () => {
  test('is written at once if the browser allows it', async () => {
    expect(await bridge.fromSession('copied')).toBe(true);
    expect(await bridge.onGesture()).toBe(false);
    expect(written).toEqual(['copied']);
  });

  test('otherwise waits for a gesture, and only the newest text is written', async () => {
    allowed = false;
    expect(await bridge.fromSession('old')).toBe(false);
    expect(await bridge.fromSession('new')).toBe(false);
    allowed = true;
    expect(await bridge.onGesture()).toBe(true);
    expect(written).toEqual(['new']);
  });
});
