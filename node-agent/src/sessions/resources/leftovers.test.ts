import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { expect, onTestFinished, test } from 'vitest';
import { LEFTOVERS_WAIT_MS, removeLeftovers } from './leftovers.ts';
import { Quarantine, type SessionOwnership } from './quarantine.ts';
import { makeSessionDirs, sessionDirs } from './record.ts';
import { UidPool } from './uid-pool.ts';
import { UidSweep } from './uid-sweep.ts';

const SESSIONS = ['00000000-0000-4000-8000-0000000000a1', '00000000-0000-4000-8000-0000000000a2'];

test('an agent starts while leftovers take long to remove, and has reserved their resources', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'footlight-leftovers-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  for (const session of SESSIONS) await makeSessionDirs(sessionDirs(stateDir, session), null);
  const clock = new ManualClock();
  const deps = { clock, logger: silentLogger() };
  const quarantine = new Quarantine(deps);
  quarantine.release = () => new Promise(() => undefined);
  const taken: SessionOwnership[] = [];
  const removed = removeLeftovers(stateDir, {
    ...deps,
    quarantine,
    sweep: new UidSweep({ ...deps, openToAll: [] }),
    uids: new UidPool([1, 1]),
    take: (ownership) => {
      taken.push(ownership);
      return () => undefined;
    },
    reclaimConsole: () => undefined,
  });
  await expect.poll(() => clock.pendingTimers).toBe(1);
  clock.advance(LEFTOVERS_WAIT_MS);
  await removed;
  expect(taken.map(({ sessionId }) => sessionId).sort()).toEqual(SESSIONS);
});
