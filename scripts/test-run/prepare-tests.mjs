// Only installs and builds the parts that tests and benches need.
import { checkPackages } from '../lib/debian-packages.mjs';
import { prepare } from '../lib/prepare.mjs';

try {
  await prepare({ packages: checkPackages, say: (line) => process.stdout.write(`${line}\n`) });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
