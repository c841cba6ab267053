import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { JOB_TEXTS } from './job-texts.ts';

test('the texts are those of the server', () => {
  const file = path.resolve(import.meta.dirname, '../../../../../control-plane/src/jobs/code-jobs.ts');
  const texts = [...readFileSync(file, 'utf8').matchAll(/'([A-Z][^']+)'/g)].map(([, text]) => text);
  expect([...JOB_TEXTS]).toEqual(texts);
});
