// Loaded into a server that is measured: collects its garbage when signalled, and counts in a file how often it did.
import { appendFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGIO', () => {
  collect();
  collect();
  appendFileSync(process.env.COLLECTED_COUNT ?? '', '.');
});
