import { describe, expect, test } from 'vitest';
import { parseDuration, parseListenAddress } from './config-values.ts';

describe('durations', () => {
  test.each([
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['90s', 90_000],
    ['1.5s', 1_500],
    ['250ms', 250],
    ['1.4ms', 1],
    ['1us', 1],
    ['0s', 0],
  ])('%s is %i ms', (text, expected) => expect(parseDuration(text)).toBe(expected));

  test.each(['', '24', 'h', '-1h', '1d', '1h 30m', '1h,30m', 'NaNs', '600000h', `${'9'.repeat(400)}h`])(
    '%s is none',
    (text) => expect(parseDuration(text)).toBeNull(),
  );
});

describe('listen addresses', () => {
  test.each([
    [':8080', { host: null, port: 8080 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['[::1]:8443', { host: '::1', port: 8443 }],
    ['play.example:80', { host: 'play.example', port: 80 }],
  ])('%s', (text, expected) => expect(parseListenAddress(text)).toEqual(expected));

  test.each(['8080', 'a:b', '::1:80', '[::1]', ':70000', 'a b:1'])('%s is none', (text) =>
    expect(parseListenAddress(text)).toBeNull(),
  );
});
