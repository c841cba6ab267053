import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { SESSION_VARIABLE, startVariable } from '../../runtime/proc-table.ts';
import { runsTitle } from './launch-progress.ts';
import { nextLaunchState } from './launch-state.ts';

describe('the state of an app’s start', () => {
  test.each([
    ['starting', { presented: false, titleRuns: null }, 'starting'],
    ['starting', { presented: false, titleRuns: true }, 'starting'],
    ['starting', { presented: true, titleRuns: null }, 'game_running'],
    ['starting', { presented: true, titleRuns: false }, 'client_only'],
    ['client_only', { presented: true, titleRuns: false }, 'client_only'],
    ['client_only', { presented: true, titleRuns: true }, 'game_running'],
    ['game_running', { presented: true, titleRuns: false }, 'game_exited'],
    ['game_exited', { presented: true, titleRuns: false }, 'game_exited'],
    ['game_exited', { presented: true, titleRuns: true }, 'game_running'],
  ] as const)('from %s with %o: %s', (before, facts, after) => {
    expect(nextLaunchState(before, facts)).toBe(after);
  });
});

/** Gives the process an environment of 300 MB, with the session at the beginning and the title at the end. */
const MOVES_ITS_ENVIRONMENT = `
import ctypes, os, struct, time
SIZE = 300 << 20
PR_SET_MM, PR_SET_MM_MAP = 35, 14
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
at = libc.mmap(None, SIZE, 3, 0x4022, -1, 0)
session = b"${SESSION_VARIABLE}=" + os.environb[b"${SESSION_VARIABLE}"]
title = b"SteamAppId=440"
ctypes.memmove(at, session, len(session))
ctypes.memmove(at + SIZE - len(title) - 1, title, len(title))
fields = [None, None, None, *open("/proc/self/stat").read().rpartition(")")[2].split()]
code, data, brk, stack, args = (26, 27), (45, 46), 47, 28, (48, 49)
heap = [line.split()[0].split("-")[1] for line in open("/proc/self/maps") if "[heap]" in line]
words = [int(fields[n]) for n in (*code, *data, brk)] + [int(heap[0], 16)]
words += [int(fields[n]) for n in (stack, *args)] + [at, at + SIZE, 0]
moved = struct.pack("<12QIi", *words, 0, -1)
if libc.prctl(PR_SET_MM, PR_SET_MM_MAP, moved, len(moved), 0) != 0: raise OSError("prctl")
print("moved", flush=True)
time.sleep(60)
`;

describe('the title of a tile runs', () => {
  const SESSION = '11111111-1111-4111-8111-111111111111';
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });
  const run = (env: Record<string, string>) => {
    const child = spawn('sleep', ['60'], { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
    ends.push(() => child.kill('SIGKILL'));
    return new Promise<void>((resolve) => child.once('spawn', resolve));
  };
  const runs = (source: string) =>
    runsTitle({ sessionId: SESSION, uid: null }, { source, external_id: '440' });

  test('if a process of the session has it as SteamAppId', async () => {
    await run({ [SESSION_VARIABLE]: SESSION, SteamAppId: '441' });
    await run({ [SESSION_VARIABLE]: 'another', SteamAppId: '440' });
    expect(runs('steam')).toBe(false);
    await run({ [SESSION_VARIABLE]: SESSION, SteamAppId: '440' });
    await expect.poll(() => runs('steam')).toBe(true);
    expect(runs('elsewhere')).toBe(false);
  });

  test('a process that moves its environment to a mapping of 300 MB: the mapping is not read completely', async () => {
    const child = spawn('/usr/bin/python3', ['-c', MOVES_ITS_ENVIRONMENT], {
      env: { [SESSION_VARIABLE]: SESSION },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    ends.push(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    expect(startVariable(child.pid ?? 0, SESSION_VARIABLE)).toBe(SESSION);
    expect(runs('steam')).toBe(false);
  });
});
