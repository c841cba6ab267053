/**
 * Reference of login: only verifies a password against its hash, with the given concurrency and count.
 * Arguments: hash, password. Answers each job with the duration in seconds.
 */
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [stored = '', password = ''] = process.argv.slice(2);
// The service's copy of the package.
const require = createRequire(new URL('../../../control-plane/package.json', import.meta.url));
const { verify } = require('@node-rs/argon2') as { verify(hash: string, text: string): Promise<boolean> };

for await (const line of createInterface({ input: process.stdin })) {
  const { atOnce, each } = JSON.parse(line) as { atOnce: number; each: number };
  const startedMs = performance.now();
  const work = async () => {
    for (let n = 0; n < each; n++) {
      if (!(await verify(stored, password))) throw new Error('the password does not fit');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  process.stdout.write(`${(performance.now() - startedMs) / 1000}\n`);
}
