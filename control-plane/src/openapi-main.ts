/** scripts/openapi: regenerates the published contract. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceText } from './reference/index.ts';

writeFileSync(fileURLToPath(new URL('../../docs/openapi.json', import.meta.url)), referenceText());
