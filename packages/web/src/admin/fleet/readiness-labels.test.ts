import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CHECK_SENTENCES, checkName, checkSentence } from './readiness-labels.ts';

const file = path.resolve(import.meta.dirname, '../../../../../node-agent/src/readiness/checks.ts');
const source = readFileSync(file, 'utf8');

test('each sentence exists in the agent’s source', () => {
  const said = source.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '{}').replaceAll("\\'", "'");
  for (const sentence of CHECK_SENTENCES) expect(said).toContain(sentence.replace(/\{\w+\}/g, '{}'));
});

test('each check of the agent has a name', () => {
  const ids = [...source.matchAll(/const id = '(\w+)';/g)].map(([, id]) => id ?? '');
  expect(ids).toHaveLength(17);
  for (const id of ids) expect(checkName(id).toLowerCase()).not.toContain('_');
  expect(ids.filter((id) => checkName(id).toLowerCase() === id.replaceAll('_', ' '))).toEqual([
    'gpu_driver',
    'settings',
  ]);
});

test('a check and a sentence of a newer agent are shown as they are', () => {
  expect(checkName('warp_drive')).toBe('Warp drive');
  expect(checkName('encoder_table_nvidia')).toBe('Encoders: nvidia');
  expect(checkSentence('The warp drive is cold.')).toBe('The warp drive is cold.');
  expect(checkSentence('41.2 GiB (12 %) are free at /var/lib.')).toBe(
    '41.2 GiB (12 %) are free at /var/lib.',
  );
});
