import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { runCommand } from './testing/test-terminal.ts';

/** What bash offers for the last word. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await runCommand(['completion', 'bash']);
  const call = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_footlight; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', `${out}\n${call}`], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

test.each([
  [['footlight', 'ho'], ['hosts']],
  [['footlight', 're'], ['restore']],
  [['footlight', 'hosts', 'un'], ['uncordon']],
  [['footlight', 'hosts', 'drain', '--fo'], ['--force']],
  [['footlight', 'hosts', 'drain', 'node-1', '--fo'], ['--force']],
  [['footlight', 'config', 'set', '--registration-mode', 'in'], ['invite_only']],
  [['footlight', 'api', 'hosts.dr'], ['hosts.drain']],
  [['footlight', 'certify', 'node-1', '--gpu'], ['--gpu-index']],
  [['footlight', 'login', '--pass'], ['--password-file']],
])('%j is completed', async (words, expected) => {
  expect(await offered(...words)).toEqual(expected);
});
