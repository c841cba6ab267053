import { spawnSync } from 'node:child_process';

/**
 * Runs a program.
 * @param {readonly string[]} command
 * @param {string} name for the error, for example "Building the web app"
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 * @returns {string} its standard output
 * @throws with the end of its output, if it fails
 */
export function run([program = '', ...args], name, options = {}) {
  const result = spawnSync(program, args, {
    // The terminal is the input, because sudo may ask for a password.
    stdio: ['inherit', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    encoding: 'utf8',
  });
  if (result.status === 0) return result.stdout;
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`.trim();
  throw new Error(`${name} failed:\n${output.split('\n').slice(-25).join('\n')}`);
}
