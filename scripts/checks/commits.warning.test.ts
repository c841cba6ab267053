import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commitFaults } from './commit-form.ts';

/** Number of checked commits, enough for one submission. A clone may contain fewer commits, or no history. */
const NEWEST = 40;

test(`the newest ${NEWEST} commits since this check came have the form of CONTRIBUTING.md`, () => {
  const log = (...words: string[]) =>
    spawnSync('git', ['log', '--no-merges', ...words], { cwd: import.meta.dirname, encoding: 'utf8' }).stdout;
  // Only commits after this one are checked, because older commits were made before this format was agreed.
  const agreed = log('-1', '--diff-filter=A', '--format=%H', '--', 'commit-form.ts').trim();
  const stdout = agreed === '' ? '' : log(`-${NEWEST}`, '--format=%h %B%x00', `${agreed}..HEAD`);
  const wrong = stdout.split('\0').flatMap((entry) => {
    const [hash = '', ...words] = entry.trim().split(' ');
    return hash === '' ? [] : commitFaults(words.join(' ')).map((fault) => `${hash}: ${fault}`);
  });
  expect(wrong).toEqual([]);
});
