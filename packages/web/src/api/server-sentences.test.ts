import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import german from '../i18n/de.po';
import { putInForce } from '../i18n/translate.ts';
import { NO_HOST_REASONS } from './error-text.ts';
import { SENTENCES, saidByServer } from './server-sentences.ts';

const SOURCES = [
  'telemetry/verdict/report.ts',
  'profiles/offer/eligibility.ts',
  'profiles/offer/offer.ts',
  'profiles/offer/recommendation.ts',
  'sessions/placement/placement.ts',
];

afterEach(() => putInForce({}, 'en-GB'));

test('each of these sentences exists in the server’s source', () => {
  const root = path.resolve(import.meta.dirname, '../../../../control-plane/src');
  const said = SOURCES.map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n')
    .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '{}');
  for (const sentence of [...SENTENCES, ...NO_HOST_REASONS])
    expect(said).toContain(sentence.replace(/\{\w+\}/g, '{}'));
});

test.each([
  ['Measured 900 kbit/s; at least 4500 are needed.', 'Gemessen sind 900 kbit/s; nötig sind mindestens 4500.'],
  ['This device does not decode AV1.', 'Dieses Gerät dekodiert AV1 nicht.'],
  ['The picture was smooth.', 'Das Bild war flüssig.'],
  ['Something new.', 'Something new.'],
])('%s', (english, expected) => {
  expect(saidByServer(english)).toBe(english);
  putInForce(german, 'de');
  expect(saidByServer(english)).toBe(expected);
});
