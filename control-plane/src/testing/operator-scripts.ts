import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const scripts = fileURLToPath(new URL('../../../scripts', import.meta.url));

/** Runs a script like an operator, configured only by the environment. */
export async function runScript(
  script: 'audit' | 'backup' | 'restore',
  words: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const { PATH = '', HOME = '', FOOTLIGHT_TEST_RUN = '' } = process.env;
  const child = spawn(join(scripts, script), words, {
    env: { PATH, HOME, FOOTLIGHT_TEST_RUN, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}
