import type { Logger, Random } from '@footlight/platform';
import { type Clock, MINUTE_MS, SECOND_MS, type Timer } from '@footlight/platform';
import type { Bus } from './bus/bus.ts';
import { type Database, type Executor, isUniqueViolation, type Tx } from './database/index.ts';

/** Another replica has the lease now. The current transaction of the former holder is rolled back. */
export class LeaseLost extends Error {
  constructor(lease: string) {
    super(`the lease ${lease} is held by another replica`);
    this.name = 'LeaseLost';
  }
}

/**
 * Proof that this process has the lease while a leader task runs. Every write checks the fencing number, so that a
 * former holder that was paused cannot change anything.
 */
export interface Fence {
  readonly lease: string;
  readonly number: number;
  /**
   * Call this first in every transaction of the task.
   * @throws LeaseLost when another replica has the lease; the transaction is then rolled back
   */
  check(tx: Tx): Promise<void>;
}

export interface LeaderTask {
  /** Id of the task and name of its lease. */
  id: string;
  everyMs: number;
  /** Time from `start()` to the first run. Missing: everyMs is used. */
  firstAfterMs?: number;
  /**
   * The task asks other replicas about their hosts. While this replica cannot reach them, it lets the lease expire, so
   * that another replica does the work.
   */
  needsBus?: true;
  /** The task also works between its runs, so its lease is renewed until another replica takes it. */
  keepsLease?: {
    /** Called when another replica has taken the lease. */
    lost(): void;
  };
  run(fence: Fence): Promise<void>;
}

/** Background work that runs on one replica only. */
export interface Leader {
  /** Runs the task on its interval after `start()`; runs do not overlap. */
  register(task: LeaderTask): void;
  start(): void;
  /**
   * Runs one task now, for tests and for work that just became due. Does nothing if another replica has the lease.
   * @param instead runs instead of the task, with the task's lease and never at the same time as the task
   */
  runNow(id: string, instead?: (fence: Fence) => Promise<void>): Promise<void>;
  /** Names of the leases that this process currently has. */
  held(): string[];
  /** Waits for running tasks and releases the leases. */
  close(): Promise<void>;
}

const LEASE_MS = 30 * SECOND_MS;
/**
 * If a lease ends later than this, it was stored while a clock was ahead, and is ignored. Otherwise no replica could do
 * the work until that time. Clocks of replicas normally differ by far less.
 */
const LONGEST_LEASE_MS = LEASE_MS + MINUTE_MS;
/** A lease with less remaining time than this is renewed before a run. */
const RENEW_BELOW_MS = 20 * SECOND_MS;
/** Interval of renewals of a lease that is kept between runs: two renewals may fail before the lease ends. */
const RENEW_EVERY_MS = LEASE_MS / 3;

interface Held {
  number: number;
  expiresAtMs: number;
}

interface Entry {
  task: LeaderTask;
  timers: Timer[];
  running: Promise<void> | null;
  held: Held | null;
}

export function createLeader(deps: {
  database: Database;
  clock: Clock;
  random: Random;
  logger: Logger;
  bus: Pick<Bus, 'isConnected'>;
}): Leader {
  const { bus, database, clock, logger } = deps;
  const holder = deps.random.uuid();
  /**
   * Whether replicas compete for leases. Only one process uses a SQLite file, so a stored lease of another process is
   * stale there, and the expiry of the own lease has no reader. Renewals are not stored, because they would write to
   * the disk of an idle instance every few seconds.
   */
  const isShared = database.dialect !== 'sqlite';
  const entries = new Map<string, Entry>();
  let started = false;
  let closed = false;

  /** Takes or renews the lease; null if another replica has it. */
  async function acquire(name: string): Promise<Held | null> {
    try {
      return await database.transaction(async (tx) => {
        const now = clock.nowMs();
        const expiresAtMs = now + LEASE_MS;
        const row = await tx
          .selectFrom('leases')
          .selectAll()
          .where('name', '=', name)
          .forNoKeyUpdate()
          .executeTakeFirst();
        if (!row) {
          await tx.insertInto('leases').values({ name, holder, fence: 1, expires_at: expiresAtMs }).execute();
          return { number: 1, expiresAtMs };
        }
        const isOwn = row.holder === holder;
        const held = row.expires_at > now && row.expires_at <= now + LONGEST_LEASE_MS;
        if (!isOwn && held && isShared) return null;
        if (isOwn && !isShared) return { number: row.fence, expiresAtMs };
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

  /** Whether this process still has the lease. */
  async function holds(db: Executor, name: string, number: number): Promise<boolean> {
    const row = await db
      .selectFrom('leases')
      .select(['holder', 'fence'])
      .where('name', '=', name)
      .forNoKeyUpdate()
      .executeTakeFirst();
    return row?.holder === holder && row.fence === number;
  }

  /** @returns false: another process has taken the lease */
  async function extend(name: string, number: number, expiresAtMs: number): Promise<boolean> {
    if (!isShared) return holds(database.db, name, number);
    const { numUpdatedRows } = await database.db
      .updateTable('leases')
      .set({ expires_at: expiresAtMs })
      .where('name', '=', name)
      .where('holder', '=', holder)
      .where('fence', '=', number)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  const mayHoldLease = ({ needsBus }: LeaderTask): boolean => needsBus !== true || bus.isConnected();

  /** Renews the lease of a task with keepsLease. Never rejects, because the next renewal follows soon. */
  async function renew(entry: Entry): Promise<void> {
    const { held, task } = entry;
    if (held === null || entry.running !== null || !mayHoldLease(task)) return;
    try {
      const expiresAtMs = clock.nowMs() + LEASE_MS;
      if (await extend(task.id, held.number, expiresAtMs)) held.expiresAtMs = expiresAtMs;
      else lose(entry);
    } catch (error) {
      logger.warn({ task: task.id, err: error }, 'leader.not_renewed');
    }
  }

  function lose(entry: Entry): void {
    if (entry.held === null) return;
    entry.held = null;
    entry.task.keepsLease?.lost();
  }

  async function runOnce(entry: Entry, instead?: (fence: Fence) => Promise<void>): Promise<void> {
    const { task } = entry;
    if (!mayHoldLease(task)) return;
    try {
      if (!entry.held || entry.held.expiresAtMs - clock.nowMs() < RENEW_BELOW_MS) {
        const held = await acquire(task.id);
        if (held?.number !== entry.held?.number) lose(entry);
        entry.held = held;
      }
      if (!entry.held) return;
      await (instead ?? task.run)(fenceOf(task.id, entry.held.number));
    } catch (error) {
      if (error instanceof LeaseLost) lose(entry);
      else logger.error({ task: task.id, err: error }, 'leader.task_failed');
    }
  }

  const fenceOf = (lease: string, number: number): Fence => ({
    lease,
    number,
    async check(tx) {
      if (!(await holds(tx, lease, number))) throw new LeaseLost(lease);
    },
  });

  function trigger(entry: Entry, instead?: (fence: Fence) => Promise<void>): Promise<void> {
    if (closed) return Promise.resolve();
    entry.running ??= runOnce(entry, instead).finally(() => {
      entry.running = null;
    });
    return entry.running;
  }

  function schedule(entry: Entry): void {
    const { everyMs, firstAfterMs = everyMs, keepsLease } = entry.task;
    const repeat = () => entry.timers.push(clock.setInterval(() => void trigger(entry), everyMs));
    if (firstAfterMs === everyMs) repeat();
    else {
      const first = () => {
        void trigger(entry);
        repeat();
      };
      entry.timers.push(clock.setTimeout(first, firstAfterMs));
    }
    if (keepsLease !== undefined)
      entry.timers.push(clock.setInterval(() => void renew(entry), RENEW_EVERY_MS));
  }

  return {
    register(task) {
      if (entries.has(task.id)) throw new Error(`leader task ${task.id} is already registered`);
      const entry: Entry = { task, timers: [], running: null, held: null };
      entries.set(task.id, entry);
      if (started) schedule(entry);
    },
    start() {
      started = true;
      for (const entry of entries.values()) schedule(entry);
    },
    async runNow(id, instead) {
      const entry = entries.get(id);
      if (!entry) throw new Error(`there is no leader task ${id}`);
      // Wait for the current run and start another, because the current one may miss work that just became due.
      while (entry.running !== null) await entry.running;
      await trigger(entry, instead);
    },
    held() {
      const now = clock.nowMs();
      return [...entries.values()]
        .filter(({ held }) => held !== null && held.expiresAtMs > now)
        .map(({ task }) => task.id);
    },
    async close() {
      closed = true;
      for (const { timers } of entries.values()) for (const timer of timers) timer.cancel();
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
