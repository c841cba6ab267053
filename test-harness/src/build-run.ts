/** Global set-up of a test run: the programs that tests start as processes of their own are those of today's sources. */
import path from 'node:path';
import { build } from '../../scripts/lib/build.mjs';

export default async function setUp(): Promise<void> {
  await build();
  // Read by the agent's `forkEntry`; workers of the test runner inherit it.
  process.env.FOOTLIGHT_BUILT_ENTRIES = path.resolve(import.meta.dirname, '../../node-agent/dist');
}
