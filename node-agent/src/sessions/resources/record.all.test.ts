import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeScratchHome } from './record.ts';

const USER = { uid: 71_210, gid: 71_210, groups: [] };
const RACES = 500;

/** Replaces each new directory by a link. */
const SWAP = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
scratch, target = sys.argv[1:3]
os.setgid(${USER.gid}); os.setuid(${USER.uid})
links = []
for race in range(${RACES}):
  os.symlink(target, f"{scratch}/link-{race}")
  links.append((f"{scratch}/link-{race}".encode(), f"{scratch}/home-{race}".encode()))
print("swapping", flush=True)
for link, home in links:
  # RENAME_EXCHANGE
  while libc.renameat2(-100, link, -100, home, 2) != 0: pass
`;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'footlight-scratch-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

test.runIf(process.getuid?.() === 0)(
  `an app that puts links in the place of new homes, ${RACES} times, gets nothing`,
  { timeout: 120_000 },
  async () => {
    const target = join(directory, 'target');
    const scratch = join(directory, 'scratch');
    for (const path of [target, scratch]) mkdirSync(path, { mode: 0o700 });
    chownSync(directory, USER.uid, USER.gid);
    chownSync(scratch, USER.uid, USER.gid);
    const swapper = spawn('python3', ['-c', SWAP, scratch, target], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(swapper.stdout, 'data');
    try {
      for (let race = 0; race < RACES; race++) {
        await makeScratchHome(join(scratch, `home-${race}`), USER).catch(() => undefined);
        expect(lstatSync(target).uid, `race ${race}`).toBe(0);
      }
    } finally {
      swapper.kill('SIGKILL');
    }
  },
);
