import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { captureResultSchema } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { failedResult, type PackedResult, packCapture } from './capture-result.ts';

const unpack = ({ data = '' }: PackedResult) => gunzipSync(Buffer.from(data, 'base64')).toString();
/** Random lines, which hardly compress. */
const noise = (lines: number) =>
  Array.from({ length: lines }, () => `${randomBytes(48).toString('base64')}\n`);

describe('a text', () => {
  const text = (lines: readonly string[], keeps: 'first' | 'newest' = 'first') =>
    ({ text: lines.join(''), contentType: 'text/plain', keeps }) as const;

  test('is compressed completely within the budget', async () => {
    const result = await packCapture(text(['one\n', 'two\n']), 262_144);
    expect(unpack(result)).toBe('one\ntwo\n');
    expect(result).toMatchObject({ encoding: 'gzip+base64', bytes: 8, truncated: false });
    expect(result).not.toHaveProperty('original_bytes');
    expect(result.compressed_bytes).toBe(Buffer.from(result.data ?? '', 'base64').length);
  });

  test.each(['first', 'newest'] as const)('over it keeps its %s lines, whole', async (keeps) => {
    const lines = noise(1_000);
    const result = await packCapture(text(lines, keeps), 20_000);
    const kept = unpack(result);
    const all = lines.join('');
    expect(keeps === 'first' ? all.startsWith(kept) : all.endsWith(kept)).toBe(true);
    expect(kept.endsWith('\n') && kept.length % (lines[0] ?? '').length === 0).toBe(true);
    expect(result).toMatchObject({ truncated: true, original_bytes: all.length, bytes: kept.length });
    expect(result.compressed_bytes).toBeLessThanOrEqual(20_000);
    expect(result.compressed_bytes).toBeGreaterThan(19_000);
  });

  test('is an error if not even a part fits', async () => {
    expect(await packCapture(text(['one\n']), 5)).toMatchObject({ error: 'nothing of it fits 5 bytes' });
  });

  test('without lines is empty', async () => {
    expect(unpack(await packCapture(text([]), 262_144))).toBe('');
  });
});

describe('a JSON object', () => {
  const windows = (count: number, width: number) =>
    Array.from({ length: count }, () => ({ a: randomBytes(width).toString('hex') }));

  test('is sent uncompressed up to 64 KiB', async () => {
    const json = { window_ms: 250, windows: windows(10, 100) };
    expect(await packCapture({ json, trailing: 'windows' }, 262_144)).toEqual({
      encoding: 'json',
      content_type: 'application/json',
      json,
      bytes: JSON.stringify(json).length,
      compressed_bytes: JSON.stringify(json).length,
      truncated: false,
    });
  });

  test('is compressed above', async () => {
    const json = { windows: windows(100, 1_000) };
    const result = await packCapture({ json, trailing: 'windows' }, 262_144);
    expect(result).toMatchObject({ encoding: 'gzip+base64', truncated: false });
    expect(JSON.parse(unpack(result))).toEqual(json);
  });

  test('over the budget loses its last windows', async () => {
    const json = { window_ms: 250, windows: windows(40, 100) };
    const result = await packCapture({ json, trailing: 'windows' }, 2_000);
    const kept = (result.json as typeof json).windows;
    expect(kept).toEqual(json.windows.slice(0, kept.length));
    expect(kept.length).toBe(9);
    expect(result).toMatchObject({ truncated: true, original_bytes: JSON.stringify(json).length });
  });

  test('without windows fits or fails', async () => {
    const json = { codec: 'h264' };
    expect(await packCapture({ json, trailing: null }, 10)).toMatchObject({ error: expect.any(String) });
    expect(await packCapture({ json, trailing: null }, 100)).toMatchObject({ json });
  });
});

test('every result fits the schema of its event', async () => {
  const facts = { capture_id: '4d0f6a1e-93b7-4c25-8e1a-b7f26c09d538', kind: 'log_tail', duration_ms: 3 };
  const whole = { text: noise(5_000).join(''), contentType: 'text/plain', keeps: 'newest' } as const;
  const results = [await packCapture(whole, 262_144), failedResult('€'.repeat(1_000))];
  for (const result of results)
    expect(captureResultSchema.safeParse({ ...facts, ...result }).error).toBe(undefined);
});
