import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { SECRET_SENTENCES } from './secret-texts.ts';

test('each text exists in the server’s source', () => {
  const folder = path.resolve(import.meta.dirname, '../../../../../control-plane/src/settings');
  const said = ['secret-names.ts', 'secret-cipher.ts']
    .map((file) => readFileSync(path.join(folder, file), 'utf8').replace(/\$\{[^{}]*\}/g, '{}'))
    .join('\n');
  for (const text of SECRET_SENTENCES) expect(said).toContain(text.replace(/\{\w+\}/g, '{}'));
});
