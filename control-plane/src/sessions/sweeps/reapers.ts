/** Leader tasks of the sessions feature. They end stuck and lost sessions, and correct the slot counts. */

import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import pLimit from 'p-limit';
import type { HostPresence } from '../../fleet/index.ts';
import type { Tx } from '../../platform/database/index.ts';
import type { Fence } from '../../platform/leader.ts';
import type { Platform } from '../../platform/platform.ts';
import type { SignalingTokens } from '../../signaling/index.ts';
import type { Driver } from '../life/driver.ts';
import type { LiveSessions } from '../life/live.ts';
import type { Transitions } from '../life/transitions.ts';
import { lockGpus, rebuildSlots } from '../placement/slots-store.ts';
import type { SessionRow } from '../record.ts';
import { loadLiveSessions } from '../store.ts';
import {
  decideGrace,
  decideStuck,
  graceSweepEveryMs,
  type HostTimes,
  isSweepPaused,
  NO_HOST,
  STUCK_SWEEP_MS,
} from './timeouts.ts';

const SLOTS_EVERY_MS = 5 * MINUTE_MS;

/** Maximum questions about hosts at the same time. */
const HOSTS_AT_ONCE = 256;

const TASKS = { stuck: 'sessions.stuck', grace: 'sessions.grace', slots: 'sessions.slots' } as const;

/** Registers the tasks; the leader runs them. */
export function registerReapers(
  platform: Platform,
  deps: {
    live: LiveSessions;
    presence: HostPresence;
    transitions: Transitions;
    driver: Driver;
    tokens: SignalingTokens;
    bootAtMs: number;
  },
): void {
  const { clock, config, database, leader, logger } = platform;
  const { live, presence, transitions, driver, tokens, bootAtMs } = deps;
  const graceMs = config.sessions.graceSecs * SECOND_MS;

  /**
   * Passes each session on with its host's times. The hosts are asked in parallel, because a replica that hangs answers
   * for none of its hosts. The sessions of these hosts are left to the next run.
   */
  async function forEachReachable(
    rows: readonly SessionRow[],
    decide: (row: SessionRow, host: HostTimes) => Promise<void>,
  ): Promise<void> {
    const byHost = new Map<string | null, SessionRow[]>();
    for (const row of rows) {
      const ofHost = byHost.get(row.host_id);
      if (ofHost === undefined) byHost.set(row.host_id, [row]);
      else ofHost.push(row);
    }
    const limit = pLimit(HOSTS_AT_ONCE);
    const asked = [...byHost].map(async ([hostId, ofHost]) => ({
      ofHost,
      host: hostId === null ? NO_HOST : await limit(() => driver.hostTimes(hostId).catch(() => null)),
    }));
    let skipped = 0;
    for (const answer of asked) {
      const { ofHost, host } = await answer;
      if (host === null) skipped += 1;
      else for (const row of ofHost) await decide(row, host);
    }
    if (skipped > 0) logger.warn({ hosts: skipped }, 'session.hosts_skipped');
  }

  /**
   * Another process may have taken the lease while this one was paused; then the transactions of this process must
   * fail.
   */
  const held = (fence: Fence) => (tx: Tx) => fence.check(tx);

  /**
   * Number of hosts that were connected when the last connection was lost. A host that has sessions and was never seen
   * counts as connected at the start of this process, because this process may have been down.
   */
  function lastConnected(rows: readonly SessionRow[], now: number): number {
    const seen = new Map<string, number>();
    for (const { host_id } of rows)
      if (host_id !== null)
        seen.set(host_id, Math.max(bootAtMs, presence.lastSeenMonotonicMs(host_id) ?? bootAtMs));
    const since = Math.max(bootAtMs, ...seen.values()) - graceMs;
    const holding = [...seen.values()].filter((at) => at >= since).length;
    return Math.max(holding, presence.seenWithin(now - since));
  }

  leader.register({
    id: TASKS.stuck,
    everyMs: STUCK_SWEEP_MS,
    needsBus: true,
    async run(fence) {
      await database.transaction(async (tx) => {
        await fence.check(tx);
        await tokens.sweep(tx);
      });
      await forEachReachable(await loadLiveSessions(database.db), async (row, host) => {
        const session = live.get(row.id) ?? live.track(row, null);
        if (session === undefined) return;
        const end = decideStuck({ ...session, state: row.state }, host, bootAtMs, clock.monotonicMs());
        if (end === null) return;
        const ended = await transitions.end(row.id, end, [row.state], held(fence));
        if (ended)
          logger.warn({ session_id: row.id, host_id: row.host_id, cause: end.cause }, 'session.stuck');
        if (ended && row.host_id !== null && end.cause !== 'stop_timed_out')
          void driver.stop(row.host_id, row.id, 'start_timed_out');
      });
    },
  });

  leader.register({
    id: TASKS.grace,
    everyMs: graceSweepEveryMs(graceMs),
    needsBus: true,
    async run(fence) {
      await presence.look();
      const rows = await loadLiveSessions(database.db);
      const now = clock.monotonicMs();
      const { connected, firstConnectedMonotonicMs } = presence.presence();
      const rests = isSweepPaused(
        {
          connected,
          lastConnected: lastConnected(rows, now),
          firstConnectedAtMs: firstConnectedMonotonicMs,
        },
        now,
      );
      const placed = rows.filter((row) => row.host_id !== null);
      await forEachReachable(placed, async (row, host) => {
        const end = decideGrace(row.state, host, bootAtMs, graceMs, rests, now);
        if (end === null) return;
        if (await transitions.end(row.id, end, [row.state], held(fence)))
          logger.warn({ session_id: row.id, host_id: row.host_id }, 'session.host_lost');
      });
    },
  });

  leader.register({
    id: TASKS.slots,
    everyMs: SLOTS_EVERY_MS,
    async run(fence) {
      const corrected = await database.transaction(async (tx) => {
        await fence.check(tx);
        // Launches and ends lock their GPU's row, so the next statement sums up every session.
        await lockGpus(tx);
        return rebuildSlots(tx);
      });
      if (corrected > 0) logger.warn({ gpus: corrected }, 'gpus.slots_corrected');
    },
  });
}
