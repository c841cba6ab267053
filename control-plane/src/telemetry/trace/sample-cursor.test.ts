import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSampleCursor, writeSampleCursor } from './sample-cursor.ts';

test('every cursor that is written is read as its sample', () => {
  const key = fc.record({
    ts_unix_ms: fc.maxSafeInteger(),
    source: fc.constantFrom('agent' as const, 'browser' as const, 'native' as const),
  });
  fc.assert(
    fc.property(key, (sample) => {
      expect(parseSampleCursor(writeSampleCursor(sample))).toEqual(sample);
    }),
  );
});

test('any other text is none', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const key = parseSampleCursor(text);
      if (key !== null)
        expect(Buffer.from(writeSampleCursor(key), 'base64url')).toEqual(Buffer.from(text, 'base64url'));
    }),
  );
});
