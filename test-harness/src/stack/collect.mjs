// Loaded into a server that is measured: runs its garbage collector on a signal, and counts the runs in a file.
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
