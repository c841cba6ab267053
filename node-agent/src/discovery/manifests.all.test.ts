import { describe, expect, test } from 'vitest';
import { readManifest } from './manifests.ts';

describe('a manifest', () => {
  test.each([
    ['brackets', '{'.repeat(1024 * 1024)],
    ['pairs', 'a b '.repeat(256 * 1024)],
    ['quoted pairs', '"a" "b" '.repeat(128 * 1024)],
    ['quotation marks', '"'.repeat(1024 * 1024)],
    ['an open value over many lines', `"a" "${'\n'.repeat(1024 * 1024)}`],
    ['backslashes', `"${'\\'.repeat(1024 * 1024 - 2)}"`],
    ['nested blocks', '"a"\n{\n'.repeat(150_000)],
    ['short lines of pairs', `${'a b '.repeat(30)}\n`.repeat(8_000)],
  ])('of a mebibyte of %s is parsed quickly', (_what, text) => {
    const startMs = performance.now();
    readManifest('440', text);
    // Takes at most 0.8 s on a busy machine. Without the limits per line, inputs of brackets and of unclosed values
    // took over 40 s.
    expect(performance.now() - startMs).toBeLessThan(20_000);
  });
});
