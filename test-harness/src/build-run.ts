/** Global set-up of a test run: the programs that tests start as processes of their own are those of today's sources. */
import { build } from '../../scripts/lib/build.mjs';

export default async function setUp(): Promise<void> {
  await build();
}
