import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { DEMO_DESCRIPTIONS, describedAs } from './demo-texts.ts';

test('each description of a demo app can be translated, and other descriptions stay as they are', () => {
  const file = path.resolve(import.meta.dirname, '../../../../scripts/bring-up/demo-apps.mjs');
  const found = [...readFileSync(file, 'utf8').matchAll(/description: '([^']+)'/g)].map(([, text]) => text);
  expect(found.sort()).toEqual([...DEMO_DESCRIPTIONS].sort());
  expect(describedAs('Of the family.')).toBe('Of the family.');
});
