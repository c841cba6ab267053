/**
 * Scans a home of 2,000 manifests in three folders, for the bench of the library. For each line of standard input it
 * prints {"ms"}: `scan` scans like an agent; `plain` only reads and parses the files, as a baseline.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'vdf-parser';
import { scanSteamLibrary } from '../steam-library.ts';
import { makeLargeSteamHome } from './steam-home.ts';

const TITLES = 2_000;
const LIMIT_MS = 60_000;

const home = makeLargeSteamHome(TITLES);
const folders = readdirSync(home.root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('steamapps'))
  .map((path) => join(home.root, path));

function plain(): number {
  let titles = 0;
  for (const folder of folders) {
    for (const name of readdirSync(folder)) {
      if (!name.endsWith('.acf')) continue;
      const { AppState } = parse<{ AppState: { appid: string } }>(readFileSync(join(folder, name), 'utf8'), {
        ...{ types: false, arrayify: true },
      });
      if (AppState.appid !== '') titles += 1;
    }
  }
  return titles;
}
const scan = (): number => scanSteamLibrary(home.task, () => performance.now(), LIMIT_MS).entries.length;

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const startedMs = performance.now();
  const titles = line === 'plain' ? plain() : scan();
  const ms = performance.now() - startedMs;
  if (titles !== TITLES) throw new Error(`${titles} of ${TITLES} titles were found`);
  process.stdout.write(`${JSON.stringify({ ms })}\n`);
}
home.remove();
