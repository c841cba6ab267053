// scripts/test: the command that checks everything, in three tiers.
import { spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { checkPackages } from '../lib/debian-packages.mjs';
import { npmIsInstalled, prepare, root } from '../lib/prepare.mjs';
import { drills } from './drills.mjs';
import { leftBehind, lookAround } from './leftovers.mjs';
import { hasRoomInMemory, MEMORY, makeOwnFolder } from './own-folders.mjs';
import { emptyResults, say, TestRun } from './run.mjs';
import { bin } from './sources.mjs';
import { all, changedTier, gate } from './tiers.mjs';

const usage = `Usage: scripts/test                     the gate: what decides whether a change lands
       scripts/test --all               every test, with the short forms of the drills
       scripts/test --long [DRILL …]    the drills in full: what takes minutes by its nature
       scripts/test --changed [COMMIT]  the tests that the changes since main (or COMMIT) can reach
       scripts/test PATH …              the tests below these files and folders, and nothing else
       scripts/check [--fix]            types, lint and dead code, without tests

A package may be named without its folder: scripts/test web.
Drills under --long: ${drills.map((d) => d.name).join(', ')}; without a name all of them.
`;

/** Created by the build of the web app. The type check of the pages needs this file. */
const routeTree = path.join(root, 'packages/web/src/route-tree.gen.ts');

/** Exit code for a run without a result, because a package could not be downloaded or built. */
const NOT_JUDGED = 2;

/**
 * The file or folder that an argument names.
 * @param {string} word
 * @returns {string | undefined} undefined: it does not exist
 */
function pathMeant(word) {
  const from = process.env.INIT_CWD ?? process.cwd();
  return [path.resolve(from, word), path.join(root, word), path.join(root, 'packages', word)].find((place) =>
    existsSync(place),
  );
}

/** @param {string[]} words @returns {string[]} lines of the output; empty if git fails */
function git(...words) {
  const { stdout, status } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
}

/** Whether a test below these paths starts built programs or a database. @param {string[]} paths */
function needsPrograms(paths) {
  const listed = git('ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths);
  return listed.length === 0 || listed.some((file) => /\.((int|db|all)\.test|e2e)\.tsx?$/.test(file));
}

/** Runs only the tests below these paths. @param {string[]} paths */
async function runBelow(paths) {
  if (!npmIsInstalled() || needsPrograms(paths)) await prepareOrStop();
  const { status } = spawnSync(bin('vitest'), ['run', '--maxWorkers=1', ...paths], {
    cwd: root,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}

/**
 * Installs and builds. A failure of the network ends the run with NOT_JUDGED, because it is not a failed test.
 * @param {import('../lib/debian-packages.mjs').DebianPackage[]} [more]
 */
async function prepareOrStop(more = []) {
  try {
    await prepare({ packages: [...checkPackages, ...more], say });
  } catch (error) {
    say(
      `Not judged, because the preparation failed:\n${error instanceof Error ? error.message : String(error)}`,
    );
    process.exit(NOT_JUDGED);
  }
}

/** @param {string} message */
function refuse(message) {
  process.stderr.write(`scripts/test ${message}\n\n${usage}`);
  process.exitCode = NOT_JUDGED;
}

/** @param {import('./drills.mjs').Drill[]} chosen @param {TestRun} run */
async function runDrills(chosen, run) {
  for (const drill of chosen) {
    say(`\nDrill ${drill.name}: ${drill.whole}`);
    await run.vitest({ name: drill.name, words: drill.words, env: drill.env ?? {} });
  }
}

async function main() {
  const [first = '', ...rest] = process.argv.slice(2);
  if (first === '--help') return say(usage);
  if (first === '--sources') {
    if (!npmIsInstalled() || !existsSync(routeTree)) await prepareOrStop();
    return checkSources(rest.includes('--fix'));
  }
  const long = first === '--long';
  const unknownDrill = long && rest.find((name) => !drills.some((drill) => drill.name === name));
  if (unknownDrill) return refuse(`finds no drill '${unknownDrill}'.`);
  if (first !== '' && !first.startsWith('--')) {
    const words = [first, ...rest];
    const places = words.map(pathMeant);
    const unknown = words[places.indexOf(undefined)];
    if (unknown !== undefined) return refuse(`finds no file, folder or package '${unknown}'.`);
    return runBelow(places.filter((place) => place !== undefined));
  }
  if (!['', '--all', '--long', '--changed'].includes(first)) return refuse(`does not know '${first}'.`);
  const base = rest[0] ?? 'main';
  if (first === '--changed' && git('rev-parse', '--verify', '--quiet', `${base}^{commit}`).length === 0)
    return refuse(`finds no commit '${base}' to compare with.`);

  const began = performance.now();
  const chosen = long ? drills.filter((d) => rest.length === 0 || rest.includes(d.name)) : [];
  await prepareOrStop(chosen.flatMap((drill) => drill.packages ?? []));

  const runId = randomBytes(8).toString('hex');
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'footlight-test-'));
  const deadlocks = path.join(scratch, 'deadlocks');
  const ownFolder = makeOwnFolder(os.tmpdir());
  const memory = hasRoomInMemory() ? makeOwnFolder(MEMORY) : undefined;
  const ownFolders = memory === undefined ? [ownFolder] : [ownFolder, memory];
  const env = {
    ...process.env,
    TMPDIR: ownFolder,
    FOOTLIGHT_TEST_RUN: runId,
    FOOTLIGHT_TEST_DEADLOCKS: deadlocks,
    CI: '1',
    ...(first === '' || first === '--changed' ? { FOOTLIGHT_TEST_DATABASES: 'sqlite' } : {}),
    ...(long ? { FOOTLIGHT_LONG: '1' } : {}),
    ...(chosen.some((drill) => drill.newSeed) ? { FOOTLIGHT_SEED: String(randomInt(2 ** 31)) } : {}),
  };
  const look = () => lookAround(runId, ownFolders);
  const before = look();
  emptyResults();
  const run = new TestRun(env, scratch, memory);
  let logged = '';
  try {
    if (long) await runDrills(chosen, run);
    else if (first === '--all') await run.run(all);
    else if (first === '--changed') {
      const changed = [
        ...git('diff', '--name-only', `${base}...`),
        ...git('diff', '--name-only', 'HEAD'),
        ...git('ls-files', '--others', '--exclude-standard'),
      ];
      await run.run(changedTier(base, changed));
    } else await run.run(gate);
    if (existsSync(deadlocks)) logged = readFileSync(deadlocks, 'utf8');
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }

  run.record(
    'the log of Postgres shows no deadlock',
    logged === '' ? [] : [`the log of Postgres shows a deadlock:\n${logged}`],
  );
  const left = await leftBehind(before, look);
  for (const folder of ownFolders) rmSync(folder, { recursive: true, force: true });
  run.record('nothing is left behind', left.length === 0 ? [] : [`left behind:\n    ${left.join('\n    ')}`]);
  if (env.FOOTLIGHT_SEED !== undefined) say(`Seed: FOOTLIGHT_SEED=${env.FOOTLIGHT_SEED}`);
  if (first === '--all')
    for (const drill of drills)
      say(
        `shortened: ${drill.name}: ${drill.short} instead of ${drill.whole} (scripts/test --long ${drill.name})`,
      );
  if (run.flaky.length > 0) say(`\n${run.flaky.join('\n')}\n(test-results/flaky.jsonl)`);
  if (run.problems.length > 0)
    say(`\nFailed; logs and screenshots are in test-results/:\n  ${run.problems.join('\n  ')}`);
  say(`\nIn ${((performance.now() - began) / 60_000).toFixed(1)} minutes.`);
  say(`${run.passed} passed, ${run.failed} failed, ${run.skipped} skipped`);
  process.exitCode = run.failed === 0 ? 0 : 1;
}

/**
 * scripts/check: runs all checks except tests. Warnings do not affect the result.
 * @param {boolean} fix
 */
async function checkSources(fix) {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'footlight-check-'));
  try {
    const run = new TestRun(process.env, scratch);
    await run.checkSources(fix);
    for (const { test, message } of await run.warnings()) say(`warning ${test}: ${message}`);
    process.exitCode = run.failed === 0 ? 0 : 1;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
