import { spawnSync } from 'node:child_process';

/**
 * Runs a program.
 * @param {string} program
 * @param {...string} words
 * @returns {string} its standard output
 * @throws with its output, if it fails
 */
export function run(program, ...words) {
  return runIn({}, program, ...words);
}

/**
 * Runs a program with options of spawn.
 * @param {import('node:child_process').SpawnSyncOptions} options
 * @param {string} program
 * @param {...string} words
 */
export function runIn(options, program, ...words) {
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  throw new Error(
    `${program} ${words[0] ?? ''} failed:\n${error?.message ?? `${stdout}${stderr}`.slice(-4_000)}`,
  );
}
