import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { assignment } from '@footlight/test-harness/fake-control';
import { expect, onTestFinished, test } from 'vitest';
import { HomeLocks } from '../home/home-locks.ts';
import type { SessionDeps, SessionPlan } from '../life/session-plan.ts';
import { removeLeftovers } from './leftovers.ts';
import { Quarantine } from './quarantine.ts';
import { leftSessions, makeSessionDirs } from './record.ts';
import { SessionResources } from './session-resources.ts';
import { UidPool } from './uid-pool.ts';
import { UidSweep } from './uid-sweep.ts';

const UID = 70_000;

/** A fake agent whose searches for users' files have the given result. */
function agent(stateDir: string, remove: (uid: number) => Promise<boolean>) {
  const deps = { clock: new ManualClock(), logger: silentLogger() };
  return {
    ...{ ...deps, stateDir, homes: new HomeLocks(deps.clock), uids: new UidPool([UID, UID]) },
    quarantine: new Quarantine({ ...deps, kill: () => 0 }),
    sweep: new UidSweep({ ...deps, openToAll: [], remove }),
  };
}

test('a user with an incomplete search is still known to the next agent', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'footlight-kept-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const former = agent(stateDir, async () => false);
  const resources = new SessionResources(
    { assign: assignment(['xterm']), uid: former.uids.take(null), groups: [] } as unknown as SessionPlan,
    former as unknown as SessionDeps,
  );
  await makeSessionDirs(resources.dirs, null);
  await resources.writeRecord();
  await resources.release();
  expect((await leftSessions(stateDir)).map(({ record }) => record?.uid)).toEqual([UID]);
  expect(existsSync(resources.dirs.scratch)).toBe(false);

  const searched: number[] = [];
  const next = agent(stateDir, async (uid) => searched.push(uid) > 0);
  const removed = removeLeftovers(stateDir, {
    ...next,
    take: ({ uid }) => {
      expect(next.uids.take(uid)).toBe(UID);
      return () => undefined;
    },
    reclaimConsole: () => undefined,
  });
  await removed;
  expect(searched).toEqual([UID]);
  expect(await leftSessions(stateDir)).toEqual([]);
});
