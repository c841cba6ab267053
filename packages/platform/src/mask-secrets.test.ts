import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskJson, maskSecrets } from './mask-secrets.ts';

describe('texts that look like a credential are masked', () => {
  test.each([
    ['api_key=abc123', 'api_key=[masked]'],
    ['{"password":"hunter2","n":1}', '{"password":"[masked]","n":1}'],
    ['Authorization: Bearer abc.def-ghi', 'Authorization: Bearer [masked]'],
    ['got bearer 0123456789abcdef', 'got bearer [masked]'],
    ['curl https://ann:pa55@example.org/x', 'curl https://[masked]@example.org/x'],
    ['key Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MA', 'key [masked]'],
    ['sum 0123456789abcdef0123456789abcdef', 'sum [masked]'],
    ['a=ice-pwd:abcdefghijklmnop', '[masked]'],
    ['sent v=0\r\nthen', 'sent [masked]\nthen'],
    ['candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host', '[masked]'],
  ])('%s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });

  test.each([
    'session b4e1c7a0-5f2d-4c83-a6b9-0d7e31f8c254 runs',
    'video/x-h264, stream-format=(string)byte-stream, width=(int)1280',
    'openh264enc: bitrate 8000000, gop-size 120',
    '[warn] frame 12 took 18.4 ms',
    'GstVideoConvertScale_negotiate_caps_failed',
  ])('%s stays', (text) => {
    expect(maskSecrets(text)).toBe(text);
  });
});

describe('known values are masked', () => {
  test.each([
    ['HOST=db.local port', ['db.local'], 'HOST=[masked] port'],
    ['DEBUG=1 in 11 steps', ['1'], 'DEBUG=[masked] in 11 steps'],
    ['said "a\\"bcd"', ['a"bcd'], 'said "[masked]"'],
    ['line two of it', ['one line', 'first\nline two'], '[masked] of it'],
    ['abcdef', ['abcd', 'abcdef'], '[masked]'],
  ])('%s without %j', (text, values, masked) => {
    expect(maskSecrets(text, values)).toBe(masked);
  });

  test('anywhere in the text', () => {
    // A mask and the text next to it may form a value that contains a part of the mask.
    const isMasked = (line: string) =>
      line.trim().length >= 4 && !/[[\]]/.test(line) && !'masked'.includes(line);
    fc.assert(
      fc.property(fc.string({ minLength: 4 }), fc.string(), fc.string(), (value, before, after) => {
        const text = maskSecrets(`${before}${value}${after}`, [value]);
        for (const line of value.split(/\r?\n/).filter(isMasked)) expect(text).not.toContain(line);
      }),
    );
  });
});

test('texts of JSON are masked, numbers and keys stay', () => {
  expect(maskJson({ a: ['token=abc', 3], b: { c: null, d: true, api_key: 'abc' } })).toEqual({
    a: ['token=[masked]', 3],
    b: { c: null, d: true, api_key: '[masked]' },
  });
});

// Each pattern needs a second for these texts; a pattern with quadratic time would need hours.
test('long hostile texts take a bounded time', () => {
  for (const text of ['a'.repeat(1e6), 'password='.repeat(1e5), '://'.repeat(3e5), 'token:"'.repeat(1e5)])
    expect(maskSecrets(text).length).toBeGreaterThan(0);
});
