// The suites of each tier. A test file's name decides its tier (CONTRIBUTING.md, "Tests"; vitest.config.ts).

/**
 * One run of vitest.
 * @typedef {object} Suite
 * @property {string} name
 * @property {string[]} words        for vitest
 * @property {boolean} [background] runs with low priority
 * @property {boolean} [inMemory] its temporary files may be in memory, because waiting for the disk took a fifth of the
 * time
 * @property {Record<string, string>} [env] additional environment variables
 * @property {boolean} [retried]     a file whose wait expired is run once more
 */

/**
 * Steps run one after the other. The lanes of a step run at the same time, and the suites of a lane run one after the
 * other. `sources`: types, lint, dead code and the published contract.
 * @typedef {(Suite | 'sources')[][][]} Tier
 */

/** @param {...string} names */
const projects = (...names) => names.flatMap((name) => ['--project', name]);

/**
 * Files of unit tests and of the control plane share the modules that they load, because loading the modules for each
 * file took a quarter of the time. Unit tests have one worker, because with several workers, vitest restarts a worker
 * whenever a test file with a page follows a file without one.
 * @type {Suite}
 */
const unit = { name: 'unit', words: [...projects('unit'), '--maxWorkers=1', '--no-isolate'], inMemory: true };

/**
 * One stack at a time, because two stacks together took the same time, and the network load of one disturbed the
 * browser of the other.
 */
const endToEnd = { name: 'end to end', words: [...projects('e2e'), '--maxWorkers=1'], retried: true };

/**
 * Three lanes need CPU time. The fourth lane runs one file at a time and mostly waits for programs, pictures and pages.
 * The tests do not depend on free CPU time, so the lanes share both cores. On a busy machine, more processes also get a
 * larger share of the CPU.
 * @type {Tier}
 */
export const gate = [
  [
    ['sources'],
    [unit],
    [
      {
        name: 'control plane',
        words: [...projects('integration', 'database'), '--maxWorkers=3', '--no-isolate'],
        inMemory: true,
      },
    ],
    [{ name: 'hosts', words: [...projects('hosts'), '--maxWorkers=1'] }, endToEnd],
  ],
];

/** This test measures how fast a killed control plane recovers, so it does not run at the same time as other tests. */
const TIMED = 'control-plane/src/integration/own-process.all.test.ts';

/** These tests only move files and need no session, so they run at the same time as tests with sessions. */
const COLLECTION = ['node-agent/src/sessions/home/collection', 'node-agent/src/images/image-build'];

/** Suites on Postgres start three control planes behind one address (control-plane/src/testing/replicas.ts). */
export const THREE_REPLICAS = { FOOTLIGHT_TEST_REPLICAS: '3' };

/** @param {string[]} paths */
const without = (...paths) => paths.map((path) => `--exclude=${path}`);

/**
 * All tests except the full forms of the drills. The host tests measure time, so they have priority over the background
 * lane. If they ran alone, half of two cores would be idle.
 * @type {Tier}
 */
export const all = [
  [
    [
      {
        name: 'hosts',
        words: [
          ...[...projects('hosts', 'all'), '--maxWorkers=1', 'node-agent'],
          ...without(...COLLECTION.map((path) => `${path}**`)),
        ],
      },
      { name: 'a killed control plane', words: [...projects('all'), TIMED] },
      { name: 'end to end', words: [...projects('e2e', 'all-e2e'), '--maxWorkers=1'] },
    ],
    [
      'sources',
      {
        name: 'packages',
        words: [
          ...projects('hosts', 'all'),
          '--maxWorkers=1',
          'packages',
          'test-harness',
          'scripts',
          'protocol',
        ],
        background: true,
      },
      {
        name: 'homes and images',
        words: [...projects('all'), '--maxWorkers=1', ...COLLECTION],
        background: true,
      },
      { ...unit, background: true },
      {
        name: 'control plane',
        words: [
          ...[
            ...projects('integration', 'database', 'all'),
            '--maxWorkers=2',
            '--no-isolate',
            'control-plane',
          ],
          ...without(TIMED),
        ],
        background: true,
        inMemory: true,
      },
      {
        // The short form of the drill three-replicas.
        name: 'three replicas',
        words: [
          ...[...projects('integration'), '--maxWorkers=1', '--testNamePattern=postgres'],
          'control-plane/src/sessions/life/stop',
          'control-plane/src/signaling/tokens',
        ],
        env: THREE_REPLICAS,
        background: true,
        inMemory: true,
      },
    ],
  ],
];

/**
 * The tests that changed files can affect: tests that import them, which vitest finds, and end-to-end tests that start
 * programs built from them. Pure.
 * @param {string} base commit to compare with
 * @param {readonly string[]} changed paths from the root of the repository
 * @returns {Tier}
 */
export function changedTier(base, changed) {
  const related = [`--changed=${base}`, '--passWithNoTests'];
  const rules = { name: 'rules of the sources', words: [...projects('unit'), 'scripts/checks'] };
  const reachable = {
    name: 'reached by imports',
    words: [...projects('unit', 'integration', 'database', 'hosts'), '--maxWorkers=2', ...related],
  };
  const program = /^(protocol|control-plane|node-agent|packages|test-harness|scripts\/(bring-up|lib))\//;
  const isTest = /\.(test|e2e)\.tsx?$/;
  const inPrograms = changed.some((file) => program.test(file) && !isTest.test(file));
  const ends = inPrograms ? endToEnd : { ...endToEnd, words: [...endToEnd.words, ...related] };
  return [[[rules, reachable, ends]]];
}
