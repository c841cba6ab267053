/** Writes new texts of the sources into the catalogues, and removes unused ones. */
import { readFileSync, writeFileSync } from 'node:fs';
import { catalogFile, textsOf, updated } from './catalogs.ts';

for (const area of ['users', 'admin'] as const) {
  const file = catalogFile(area);
  writeFileSync(file, updated(readFileSync(file, 'utf8'), textsOf(area)));
}
