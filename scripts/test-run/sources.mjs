// Checks that do not run tests.
import path from 'node:path';
import { root } from '../lib/prepare.mjs';

export const bin = (/** @type {string} */ name) => path.join(root, 'node_modules', '.bin', name);

/** Folders with a tsconfig.json. The file in the root covers the programs for Node, which share most of their types. */
const TYPED = ['.', 'protocol', 'packages/stream-client', 'packages/web', 'test-harness', 'scripts'];

/** Disables Redocly's usage reports and update checks. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

/**
 * Limits tsc to one thread. With several threads, each checked the shared types again. For the programs on Node this
 * took 29 s of CPU time instead of 15 s, and was not faster (two cores).
 */
const ONE_THREAD = '--singleThreaded';

/** @typedef {{name: string, commands: string[][], env?: Record<string, string>}} Check */

/** @param {boolean} [fix] formats, and applies lint's automatic fixes @returns {Check[]} */
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
