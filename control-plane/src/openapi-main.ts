/** scripts/openapi: writes the published contract again. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceText } from './reference/index.ts';

writeFileSync(fileURLToPath(new URL('../../docs/openapi.json', import.meta.url)), referenceText());
