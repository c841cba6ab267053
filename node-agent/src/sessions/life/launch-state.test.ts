import { spawn } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { SESSION_VARIABLE } from '../../runtime/proc-table.ts';
import { nextLaunchState, runsTitle } from './launch-state.ts';

describe('how far an app is', () => {
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

  test('where a process of the session has it as SteamAppId', async () => {
    await run({ [SESSION_VARIABLE]: SESSION, SteamAppId: '441' });
    await run({ [SESSION_VARIABLE]: 'another', SteamAppId: '440' });
    expect(runs('steam')).toBe(false);
    await run({ [SESSION_VARIABLE]: SESSION, SteamAppId: '440' });
    await expect.poll(() => runs('steam')).toBe(true);
    expect(runs('elsewhere')).toBe(false);
  });
});
