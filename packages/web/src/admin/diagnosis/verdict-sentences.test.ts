import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { putInForce } from '../../i18n/translate.ts';
import german from '../i18n/de.po';
import { VERDICT_CLAUSES, verdictSentence } from './verdict-sentences.ts';

afterEach(() => putInForce({}, 'en-GB'));

test('each clause exists in the server’s source', () => {
  const file = path.resolve(
    import.meta.dirname,
    '../../../../../control-plane/src/telemetry/verdict/reason.ts',
  );
  const source = readFileSync(file, 'utf8').replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '{}');
  for (const clause of VERDICT_CLAUSES)
    expect(source).toContain(clause.replace(/ \{n\} times$/, '').replace(/\{\w+\}/g, '{}'));
});

test.each([
  [
    'The encoder took up to 41.5 ms for a frame, and the host fell to 22 fps; the encoder stalled 3 times.',
    'Der Encoder brauchte bis zu 41,5 ms für ein Bild, und der Host fiel auf 22 fps; der Encoder stand 3-mal still.',
  ],
  ['A sentence of a newer server.', 'A sentence of a newer server.'],
])('%s', (english, expected) => {
  expect(verdictSentence(english)).toBe(english);
  putInForce(german, 'de');
  expect(verdictSentence(english)).toBe(expected);
});
