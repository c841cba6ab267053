import type { Logger, Random } from '@footlight/platform';
import { type Clock, MINUTE_MS, SECOND_MS, type Timer } from '@footlight/platform';
import { type Database, isUniqueViolation, type Tx } from './database/index.ts';

/** Another replica holds the lease; the pending write of the former holder is rolled back. */
export class LeaseLost extends Error {
  constructor(lease: string) {
    super(`the lease ${lease} is held by another replica`);
    this.name = 'LeaseLost';
  }
}

/** Held while a leader task runs. Every write checks its number, so that a paused former holder changes nothing. */
export interface Fence {
  readonly lease: string;
  readonly number: number;
  /**
   * Call first in every transaction of the task.
   * @throws LeaseLost when another replica holds the lease; the transaction rolls back
   */
  check(tx: Tx): Promise<void>;
}

export interface LeaderTask {
  /** Also the name of the lease. */
  id: string;
  everyMs: number;
  run(fence: Fence): Promise<void>;
}

/** Background work that runs on one replica only. */
export interface Leader {
  /** Runs the task on its interval after `start()`; runs do not overlap. */
  register(task: LeaderTask): void;
  start(): void;
  /**
   * Runs one task now, for tests and for work that just became due. Does nothing if another replica holds the lease.
   */
  runNow(id: string): Promise<void>;
  /** Waits for running tasks and releases the leases. */
  close(): Promise<void>;
}

const LEASE_MS = 30 * SECOND_MS;
/**
 * A lease that lasts longer was written by a clock that was ahead, such as that of a process that is gone: it would keep
 * every replica from the work until that time comes. Replicas' own clocks differ by far less.
 */
const LONGEST_LEASE_MS = LEASE_MS + MINUTE_MS;
/** Below this much time left the lease is renewed before a run. */
const RENEW_BELOW_MS = 20 * SECOND_MS;

interface Held {
  number: number;
  expiresAtMs: number;
}

interface Entry {
  task: LeaderTask;
  timer: Timer | null;
  running: Promise<void> | null;
  held: Held | null;
}

export function createLeader(deps: {
  database: Database;
  clock: Clock;
  random: Random;
  logger: Logger;
}): Leader {
  const { database, clock, logger } = deps;
  const holder = deps.random.uuid();
  const entries = new Map<string, Entry>();
  let started = false;
  let closed = false;

  /** Null if another replica holds it. A SQLite file has one service, so a lease found in it is stale. */
  async function acquire(name: string): Promise<Held | null> {
    try {
      return await database.transaction(async (tx) => {
        const now = clock.nowMs();
        const expiresAtMs = now + LEASE_MS;
        const row = await database
          .forNoKeyUpdate(tx.selectFrom('leases').selectAll().where('name', '=', name))
          .executeTakeFirst();
        if (!row) {
          await tx.insertInto('leases').values({ name, holder, fence: 1, expires_at: expiresAtMs }).execute();
          return { number: 1, expiresAtMs };
        }
        const isOwn = row.holder === holder;
        const held = row.expires_at > now && row.expires_at <= now + LONGEST_LEASE_MS;
        if (!isOwn && held && database.dialect !== 'sqlite') return null;
        const number = isOwn ? row.fence : row.fence + 1;
        await tx
          .updateTable('leases')
          .set({ holder, fence: number, expires_at: expiresAtMs })
          .where('name', '=', name)
          .execute();
        return { number, expiresAtMs };
      });
    } catch (error) {
      if (isUniqueViolation(error)) return null;
      throw error;
    }
  }

  async function runOnce(entry: Entry): Promise<void> {
    const { task } = entry;
    try {
      if (!entry.held || entry.held.expiresAtMs - clock.nowMs() < RENEW_BELOW_MS)
        entry.held = await acquire(task.id);
      if (!entry.held) return;
      await task.run(fenceOf(task.id, entry.held.number));
    } catch (error) {
      if (error instanceof LeaseLost) entry.held = null;
      else logger.error({ task: task.id, err: error }, 'leader.task_failed');
    }
  }

  const fenceOf = (lease: string, number: number): Fence => ({
    lease,
    number,
    async check(tx) {
      const row = await database
        .forNoKeyUpdate(tx.selectFrom('leases').select(['holder', 'fence']).where('name', '=', lease))
        .executeTakeFirst();
      if (row?.holder !== holder || row.fence !== number) throw new LeaseLost(lease);
    },
  });

  function trigger(entry: Entry): Promise<void> {
    if (closed) return Promise.resolve();
    entry.running ??= runOnce(entry).finally(() => {
      entry.running = null;
    });
    return entry.running;
  }

  function schedule(entry: Entry): void {
    entry.timer = clock.setInterval(() => void trigger(entry), entry.task.everyMs);
  }

  return {
    register(task) {
      if (entries.has(task.id)) throw new Error(`leader task ${task.id} is already registered`);
      const entry: Entry = { task, timer: null, running: null, held: null };
      entries.set(task.id, entry);
      if (started) schedule(entry);
    },
    start() {
      started = true;
      for (const entry of entries.values()) schedule(entry);
    },
    async runNow(id) {
      const entry = entries.get(id);
      if (!entry) throw new Error(`there is no leader task ${id}`);
      // The current run may have missed work that just became due.
      await entry.running;
      await trigger(entry);
    },
    async close() {
      closed = true;
      for (const entry of entries.values()) entry.timer?.cancel();
      await Promise.all([...entries.values()].map((entry) => entry.running));
      await database.db
        .updateTable('leases')
        .set({ expires_at: 0 })
        .where('holder', '=', holder)
        .execute()
        .catch((error: unknown) => logger.warn({ err: error }, 'leader.release_failed'));
    },
  };
}
