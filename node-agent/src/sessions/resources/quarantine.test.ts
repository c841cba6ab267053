import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { HomeLocks } from '../home/home-locks.ts';
import { takeUserAndHomes } from '../home/user-and-homes.ts';
import { Quarantine, type SessionOwnership } from './quarantine.ts';
import { UidPool } from './uid-pool.ts';

const UID = 70_000;
const HOME = '/homes/alice';
const OWNERSHIP: SessionOwnership = { sessionId: 'the-session', uid: UID, homes: [HOME] };

/** Creates an ended session with this number of processes that SIGKILL does not end. */
function ended(stuck: number) {
  const clock = new ManualClock();
  const uids = new UidPool([UID, UID]);
  const homes = new HomeLocks(clock);
  const host = { left: stuck, looks: 0 };
  const quarantine = new Quarantine({
    clock,
    logger: silentLogger(),
    kill: () => {
      host.looks += 1;
      return host.left;
    },
  });
  const giveBack = takeUserAndHomes(OWNERSHIP, uids, homes);
  const released = quarantine.release(OWNERSHIP, async () => giveBack());
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      await new Promise(setImmediate);
      clock.advance(10);
    }
    await new Promise(setImmediate);
  };
  const isTaken = () => homes.isHeld(HOME);
  return { clock, uids, quarantine, host, released, pass, isTaken };
}

describe('resources of an ended session', () => {
  test('are free as soon as its last process is gone', async () => {
    const { released, isTaken, uids, clock } = ended(0);
    await released;
    expect(isTaken()).toBe(false);
    expect(uids.take(null)).toBe(UID);
    expect(clock.pendingTimers).toBe(0);
  });

  test('stay taken while a process cannot be killed, and it is checked until it is gone', async () => {
    const { released, pass, isTaken, uids, host, clock } = ended(1);
    await pass(1_000);
    await released;
    expect(isTaken()).toBe(true);
    expect(uids.take(null)).toBeNull();
    const looks = host.looks;
    await pass(60_000);
    expect(host.looks - looks).toBe(60);
    expect(isTaken()).toBe(true);
    host.left = 0;
    await pass(1_000);
    expect(isTaken()).toBe(false);
    expect(uids.take(null)).toBe(UID);
    expect(clock.pendingTimers).toBe(0);
  });

  test('are left to the next agent process when this one ends', async () => {
    const { pass, isTaken, quarantine, clock } = ended(1);
    await pass(2_000);
    quarantine.close();
    expect(clock.pendingTimers).toBe(0);
    expect(isTaken()).toBe(true);
  });
});
