/** Writes new texts of the sources into the catalogues, and removes unused ones. */
import { readFileSync, writeFileSync } from 'node:fs';
import { catalogFiles, textsOf, updated } from './catalogs.ts';

for (const { area, file } of catalogFiles) {
  writeFileSync(file, updated(readFileSync(file, 'utf8'), textsOf(area)));
}
