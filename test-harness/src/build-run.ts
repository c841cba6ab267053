/**
 * Global set-up of a test run: builds the programs that tests start as separate processes from the current sources.
 */
import path from 'node:path';
import { buildForTests } from '../../scripts/lib/build.mjs';

export default async function setUp(): Promise<void> {
  await buildForTests();
  // `forkEntry` of the agent reads this variable. Workers of the test runner inherit the variable.
  process.env.FOOTLIGHT_BUILT_ENTRIES = path.resolve(import.meta.dirname, '../../node-agent/dist');
}
