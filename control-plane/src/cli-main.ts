/** scripts/footlight and `footlight`: administers an instance over its HTTP API. */
import { run, systemTerminal } from './cli/index.ts';

process.exitCode = await run(process.argv.slice(2), systemTerminal());
