import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MIGRATIONS = 'control-plane/src/platform/database/migrations';

/**
 * Writes the newest commit that has every migration step of this checkout except the last one into the folder, with
 * the packages of its lockfile. Needs the history of the checkout, so it fails in a shallow clone.
 * @returns the commit's hash
 */
export function checkOutEarlierRelease(folder: string): string {
  const newest = readdirSync(`${ROOT}/${MIGRATIONS}`)
    .filter((name) => /^\d{4}-.*\.ts$/.test(name))
    .toSorted()
    .at(-1);
  const last = `${MIGRATIONS}/${newest}`;
  const git = (...words: string[]) => execFileSync('git', words, { cwd: ROOT, maxBuffer: 2 ** 30 });
  const succeeds = (...words: string[]) =>
    spawnSync('git', words, { cwd: ROOT, stdio: 'ignore' }).status === 0;
  const changes = git('log', '--format=%H', '--', MIGRATIONS).toString().trim().split('\n');
  // A step may have been changed before its release, so a commit without the last step can have a step that no
  // release had.
  const commit = changes
    .map((change) => `${change}^`)
    .find(
      (before) =>
        !succeeds('cat-file', '-e', `${before}:${last}`) &&
        succeeds('diff', '--quiet', before, 'HEAD', '--', MIGRATIONS, `:(exclude)${last}`),
    );
  if (commit === undefined)
    throw new Error(`no commit has the migration steps of this checkout without ${last}`);
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  execFileSync(join(folder, 'scripts/pnpm'), ['install', '--frozen-lockfile', '--prefer-offline'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return git('rev-parse', commit).toString().trim();
}
