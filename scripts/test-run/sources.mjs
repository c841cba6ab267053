// What is checked without running tests.
import path from 'node:path';
import { root } from '../lib/prepare.mjs';

export const bin = (/** @type {string} */ name) => path.join(root, 'node_modules', '.bin', name);

/** Folders with a tsconfig.json; that of the root has the programs that run on Node, which share most of their types. */
const TYPED = ['.', 'protocol', 'packages/stream-client', 'packages/web', 'test-harness', 'scripts'];

/** Redocly neither reports its use nor looks for a newer version of itself. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

/**
 * With several threads the compiler checks shared types once in each: 29 s of processor time instead of 15 s for the
 * programs on Node, and no earlier (two cores).
 */
const ONE_THREAD = '--singleThreaded';

/** @typedef {{name: string, commands: string[][], env?: Record<string, string>}} Check */

/** @param {boolean} [fix] formats, and mends what lint can mend @returns {Check[]} */
export const sourceChecks = (fix = false) => [
  { name: 'types', commands: TYPED.map((folder) => [bin('tsc'), ONE_THREAD, '-p', folder]) },
  {
    name: 'lint, format and import directions',
    commands: [[bin('biome'), ...(fix ? ['check', '--write'] : ['ci', '--reporter=summary'])]],
  },
  { name: 'dead code', commands: [[bin('knip')]] },
  {
    name: 'the published contract',
    commands: [[bin('redocly'), 'lint', '--max-problems=1000', 'docs/openapi.json']],
    env: QUIET,
  },
];
