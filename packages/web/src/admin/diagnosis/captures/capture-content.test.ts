import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { burstRows, captureFileName, captureText, kindLabel } from './capture-content.ts';

const packed = (text: string) => gzipSync(text).toString('base64');

test('a compressed result is unpacked, and JSON is indented', async () => {
  expect(await captureText({ data: packed('digraph { ä }') })).toBe('digraph { ä }');
  expect(await captureText({ data: packed('{"a":1}') })).toBe('{\n  "a": 1\n}');
  expect(await captureText({ data: packed('{ half') })).toBe('{ half');
  expect(await captureText({ json: { a: 1 } })).toBe('{\n  "a": 1\n}');
  expect(await captureText({})).toBeNull();
});

test('data that is not compressed is an error', async () => {
  await expect(captureText({ data: btoa('plain') })).rejects.toThrow();
});

test('a decompression bomb is not unpacked', async () => {
  const longest = 4 * 1024 * 1024;
  expect((await captureText({ data: packed('x'.repeat(longest)) }))?.length).toBe(longest);
  await expect(captureText({ data: packed('x'.repeat(longest + 1)) })).rejects.toThrow('too long');
  await expect(captureText({ data: packed('\0'.repeat(64 * 1024 * 1024)) })).rejects.toThrow('too long');
});

test('a burst has at most as many rows as a capture may have windows', () => {
  expect(burstRows(JSON.stringify({ windows: Array(100_000).fill({}) }))).toHaveLength(40);
});

test('a burst is a row for each window', () => {
  const window = {
    t_ms: 250,
    encode_ms: { n: 15, p50: 4, p95: 6.5, max: 9, samples: [4, 9] },
    fps: 60,
    bitrate_kbps: 8_000,
    frames_dropped: 0,
  };
  expect(burstRows(JSON.stringify({ window_ms: 250, windows: [window, {}, null] }))).toEqual([
    { atMs: 250, fps: 60, encodeP50: 4, encodeP95: 6.5, encodeMax: 9, bitrateKbps: 8_000, dropped: 0 },
    { atMs: 0 },
    { atMs: 0 },
  ]);
});

test('any other result has no rows', () => {
  expect(burstRows('digraph {}')).toEqual([]);
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(Array.isArray(burstRows(text))).toBe(true);
    }),
  );
});

test.each([
  ['log_tail', 'Log', 'log_tail-1.txt'],
  ['pipeline_dot', 'Pipeline', 'pipeline_dot-1.dot'],
  ['newer', 'newer', 'newer-1.txt'],
])('%s is "%s" and saved as %s', (kind, label, name) => {
  expect([kindLabel(kind), captureFileName({ kind, capture_id: '1' })]).toEqual([label, name]);
});
