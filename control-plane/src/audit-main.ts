/** scripts/audit and `footlight audit`: checks whether the activity log was changed, and exports it. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { errorText } from '@footlight/platform';
import { linesOf, readExport, readLog, sealingKeysOf, verifyLog } from './activity/index.ts';
import { loadConfig } from './platform/config/config.ts';
import { readSnapshot } from './platform/database/engine/snapshot.ts';

const USAGE = `Usage: audit verify [--file EXPORT] [--head HASH]
       audit export [FILE]`;

/** @returns the exit code @throws when nothing could be checked or written */
async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    args: process.argv.slice(3),
    allowPositionals: true,
    options: { file: { type: 'string' }, head: { type: 'string' } },
  });
  const [command, file, ...rest] = positionals;
  const { database, secrets } = loadConfig(process.env);
  if (command === 'verify' && file === undefined) {
    if (secrets.keys === null)
      throw new Error('Set SERVICE_SECRET_KEY as for the control plane. The seals are made with this key.');
    const keys = sealingKeysOf(secrets.keys);
    const head = values.head?.toLowerCase() ?? null;
    const { code, lines } =
      values.file === undefined
        ? await readSnapshot(database, (db) => verifyLog(readLog(db), keys, head))
        : await verifyLog(readExport(values.file), keys, head);
    process.stdout.write(`${lines.join('\n')}\n`);
    return code;
  }
  const hasOptions = values.file !== undefined || values.head !== undefined;
  if (command !== 'export' || hasOptions || rest.length > 0) throw new Error(USAGE);
  await readSnapshot(database, async (db) => {
    const lines = Readable.from(linesOf(readLog(db)));
    if (file === undefined) return pipeline(lines, process.stdout, { end: false });
    // Only the owner may read it, and it replaces no file.
    return pipeline(lines, createWriteStream(file, { flags: 'wx', mode: 0o600 }));
  });
  return 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 2;
  },
);
