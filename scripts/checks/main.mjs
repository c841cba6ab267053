// scripts/test: one command that checks everything.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { checkPackages } from '../lib/debian-packages.mjs';
import { npmIsInstalled, prepare, root } from '../lib/prepare.mjs';
import { drills } from './drills.mjs';
import { lookAround, whatIsLeft } from './leftovers.mjs';

const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
const bin = (/** @type {string} */ name) => path.join(root, 'node_modules', '.bin', name);
/** Folders with a tsconfig.json; that of the root has the programs that run on Node, which share most of their types. */
const typed = ['.', 'protocol', 'packages/stream-client', 'packages/web', 'test-harness', 'scripts'];

const usage = `Usage: scripts/test                     everything
       scripts/test PATH …              the tests below these files and folders, and nothing else
       scripts/test --long [DRILL …]    what takes minutes by its nature
       scripts/check [--fix]            types, lint and dead code, without tests

A package may be named without its folder: scripts/test web.
Drills under --long: ${drills.map((d) => d.name).join(', ')}; without a name all of them.
`;

const total = { passed: 0, failed: 0, skipped: 0 };
/** @type {string[]} */
const problems = [];

/**
 * Who may have the processor. `foreground` measures time.
 * `background` only computes. It takes what the foreground leaves (nice 10: a tenth of a busy core, so that its own time limits hold).
 * @typedef {'foreground' | 'background'} Lane
 */

/** Output of one command that is kept, in characters: its end. */
const KEPT_OUTPUT = 256 * 1024;

/**
 * Runs a command without showing its output; its descriptor 3 is shown (progress.mjs).
 * @param {string[]} command @param {NodeJS.ProcessEnv} env @param {Lane} lane
 * @returns {Promise<{code: number, output: string}>}
 */
function run(command, env, lane) {
  return new Promise((resolve) => {
    const [program = '', ...words] = lane === 'background' ? ['nice', '-n', '10', ...command] : command;
    const child = spawn(program, words, { cwd: root, env, stdio: ['inherit', 'pipe', 'pipe', 1] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-KEPT_OUTPUT);
      });
    child.once('error', (error) => {
      problems.push(`${program}: ${error.message}`);
      resolve({ code: 127, output });
    });
    // `close` comes after the last output.
    child.once('close', (code, signal) =>
      resolve({ code: code ?? (signal ? 1 : 0), output: stripVTControlCharacters(output) }),
    );
  });
}

/** A check that is one test: it passes or fails as a whole. @param {string} name @param {string[][]} commands @param {NodeJS.ProcessEnv} env */
async function check(name, commands, env) {
  const from = performance.now();
  let ok = true;
  for (const command of commands) {
    const { code, output } = await run(command, env, 'background');
    if (code !== 0) say(output);
    ok = code === 0 && ok;
  }
  total[ok ? 'passed' : 'failed']++;
  if (!ok) problems.push(name);
  say(`${ok ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - from) / 1000).toFixed(0)} s)`);
}

/** Where vitest's report of failures begins. */
const FAILURES = /⎯+ Failed (Suites|Tests) /;

/**
 * One vitest run, counted test by test.
 * @param {string} name @param {string[]} words @param {NodeJS.ProcessEnv} env @param {string} scratch @param {Lane} lane
 */
async function vitest(name, words, env, scratch, lane) {
  const from = performance.now();
  say(`       ${name} …`);
  const report = path.join(scratch, `${name}.json`);
  const reporters = ['dot', 'json', path.join(root, 'scripts/checks/progress.mjs')];
  const { code, output } = await run(
    [bin('vitest'), 'run', ...words, ...reporters.map((r) => `--reporter=${r}`), `--outputFile=${report}`],
    env,
    lane,
  );
  if (code !== 0) say(output.slice(Math.max(0, output.search(FAILURES))));
  if (!existsSync(report)) {
    total.failed++;
    problems.push(`${name}: the test runner ended with ${code} and no report`);
    return;
  }
  const result = JSON.parse(readFileSync(report, 'utf8'));
  const skipped = result.numPendingTests + result.numTodoTests;
  /** @type {string[]} */
  const failures = [];
  for (const file of result.testResults) {
    const where = path.relative(root, file.name);
    const failed = file.assertionResults.filter((/** @type {{status: string}} */ t) => t.status === 'failed');
    for (const test of failed) failures.push(`${where}: ${test.fullName}`);
    // A file that could not be loaded, or whose hooks failed.
    if (file.status === 'failed' && failed.length === 0) failures.push(`${where}: ${file.message}`);
  }
  if (code !== 0 && failures.length === 0)
    failures.push(`${name}: the test runner ended with ${code} although no test failed`);
  total.passed += result.numPassedTests;
  total.failed += failures.length;
  total.skipped += skipped;
  problems.push(...failures);
  say(
    `${code === 0 && failures.length === 0 ? 'ok    ' : 'FAILED'} ${name}: ${result.numPassedTests} passed, ${failures.length} failed, ${skipped} skipped (${((performance.now() - from) / 1000).toFixed(0)} s)`,
  );
}

/**
 * Test runs by lane; both lanes run at the same time, and the runs of one lane one after another.
 * Foreground: tests of hosts and those with a browser wait for pictures and for time, and leave half of two cores idle
 * (measured: 103 % of one core over a whole run without lanes). They run one file at a time, because their sessions
 * use the displays and users of this machine.
 * Background: files of unit tests and of the control plane share the modules that they load. Loading them for each file
 * took a quarter of the time. Unit tests have one worker: of several, each is started again whenever a file with a page
 * follows one without.
 * @type {Record<Lane, Record<string, string[]>>}
 */
const suites = {
  foreground: {
    'integration of hosts': ['--project', 'integration', '--maxWorkers=1', 'node-agent'],
    'a killed control plane': ['--project', 'timed'],
    e2e: ['--project', 'e2e'],
  },
  background: {
    'integration of packages': ['--project', 'integration', '--maxWorkers=1', 'packages', 'test-harness'],
    'collection of homes, and builds': ['--project', 'collection', '--maxWorkers=1'],
    unit: ['--project', 'unit', '--maxWorkers=1', '--no-isolate'],
    'integration of the control plane': [
      '--project',
      'integration',
      '--maxWorkers=2',
      '--no-isolate',
      'control-plane',
    ],
  },
};

/** What needs no test run. @param {NodeJS.ProcessEnv} env @param {boolean} [fix] formats, and mends what lint can mend */
async function checkSources(env, fix = false) {
  await check(
    'types',
    typed.map((folder) => [bin('tsc'), '-p', folder]),
    env,
  );
  const lint = fix ? ['check', '--write'] : ['ci', '--reporter=summary'];
  await check('lint, format and import directions', [[bin('biome'), ...lint]], env);
  await check('dead code', [[bin('knip')]], env);
  // It neither reports its use nor looks for a newer version of itself.
  const quiet = { ...env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  await check(
    'the published contract',
    [[bin('redocly'), 'lint', '--max-problems=1000', 'docs/openapi.json']],
    quiet,
  );
}

/** The file or folder that a person means. @param {string} word @returns {string | undefined} undefined: there is none */
function pathMeant(word) {
  const from = process.env.INIT_CWD ?? process.cwd();
  return [path.resolve(from, word), path.join(root, word), path.join(root, 'packages', word)].find((place) =>
    existsSync(place),
  );
}

/** Whether a test below these paths starts built programs or a database. @param {string[]} paths */
function needsPrograms(paths) {
  const listed = spawnSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  return listed.status !== 0 || /\.(int\.test|e2e)\.ts$/m.test(listed.stdout);
}

/** Runs only what lies below these paths. @param {string[]} paths */
async function runBelow(paths) {
  if (!npmIsInstalled() || needsPrograms(paths)) await prepare({ packages: checkPackages, say });
  const { status } = spawnSync(bin('vitest'), ['run', '--maxWorkers=1', ...paths], {
    cwd: root,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}

async function main() {
  const words = process.argv.slice(2);
  if (words.includes('--help')) return say(usage);
  if (words[0] === '--sources') {
    if (!npmIsInstalled()) await prepare({ packages: checkPackages, say });
    await checkSources(process.env, words.includes('--fix'));
    process.exitCode = total.failed === 0 ? 0 : 1;
    return;
  }
  const long = words[0] === '--long';
  const named = long ? words.slice(1) : [];
  const places = long ? [] : words.map(pathMeant);
  const unknown = long
    ? named.find((name) => !drills.some((d) => d.name === name))
    : words[places.indexOf(undefined)];
  if (unknown !== undefined) {
    process.stderr.write(
      `scripts/test finds no ${long ? 'drill' : 'file, folder or package'} '${unknown}'.\n\n${usage}`,
    );
    process.exitCode = 2;
    return;
  }
  if (places.length > 0) return runBelow(places.filter((place) => place !== undefined));
  const began = performance.now();
  const chosen = long ? drills.filter((d) => named.length === 0 || named.includes(d.name)) : [];
  await prepare({ packages: [...checkPackages, ...chosen.flatMap((d) => d.packages ?? [])], say });

  const runId = randomBytes(8).toString('hex');
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'footlight-test-'));
  const deadlocks = path.join(scratch, 'deadlocks');
  // A short name: what a test makes below it is the state directory of an agent, whose length is limited.
  const ownFolder = mkdtempSync(path.join(os.tmpdir(), 'run-'));
  // The users of Postgres and of sessions work in it too, as in /tmp.
  chmodSync(ownFolder, 0o1777);
  const env = {
    ...process.env,
    TMPDIR: ownFolder,
    FOOTLIGHT_TEST_RUN: runId,
    FOOTLIGHT_TEST_DEADLOCKS: deadlocks,
    CI: '1',
    ...(long ? { FOOTLIGHT_LONG: '1' } : {}),
  };
  const look = () => lookAround(`FOOTLIGHT_TEST_RUN=${runId}`, ownFolder);
  const before = look();
  let logged = '';
  try {
    if (long) {
      for (const drill of chosen) {
        say(`\nDrill ${drill.name}: ${drill.whole}`);
        await vitest(drill.name, [drill.file], env, scratch, 'foreground');
      }
    } else {
      const lane = async (/** @type {Lane} */ name) => {
        for (const [suite, words] of Object.entries(suites[name]))
          await vitest(suite, words, env, scratch, name);
      };
      await Promise.all([lane('foreground'), checkSources(env).then(() => lane('background'))]);
    }
    if (existsSync(deadlocks)) logged = readFileSync(deadlocks, 'utf8');
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }

  total[logged === '' ? 'passed' : 'failed']++;
  say(
    logged === ''
      ? 'ok     the log of Postgres shows no deadlock'
      : `FAILED the log of Postgres shows no deadlock:\n${logged}`,
  );
  if (logged !== '') problems.push('the log of Postgres shows deadlocks');

  const left = whatIsLeft(before, look());
  rmSync(ownFolder, { recursive: true, force: true });
  total[left.length === 0 ? 'passed' : 'failed']++;
  say(
    left.length === 0
      ? 'ok     nothing is left behind'
      : `FAILED nothing is left behind:\n  ${left.join('\n  ')}`,
  );
  if (left.length > 0) problems.push(`${left.length} things were left behind`);
  if (!long)
    for (const drill of drills)
      say(
        `shortened: ${drill.name}: ${drill.short} instead of ${drill.whole} (scripts/test --long ${drill.name})`,
      );
  if (problems.length > 0) say(`\nFailed:\n  ${problems.join('\n  ')}`);
  say(`\nIn ${((performance.now() - began) / 60_000).toFixed(1)} minutes.`);
  say(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  say(`${total.passed} passed, ${total.failed + 1} failed, ${total.skipped} skipped`);
  process.exitCode = 1;
});
