/**
 * Keeps the live sessions of this process up to date with the other replicas: it applies changed rows and observations,
 * and the reports of viewers that arrive at another replica than the host's. With one replica it does nothing.
 */
import { errorText, SECOND_MS, type Timer } from '@footlight/platform';
import { isTerminal } from '@footlight/protocol';
import type { Links } from '../../fleet/index.ts';
import { readAfterGaps } from '../../platform/bus/after-gaps.ts';
import type { Subscription } from '../../platform/bus/bus.ts';
import type { Platform } from '../../platform/platform.ts';
import { type SessionChange, sessionSubjects } from '../../signaling/index.ts';
import { stateRank } from '../changes.ts';
import type { ViewerWatch } from '../health/viewer-watch.ts';
import type { LaunchWatch } from '../launch/launch-watch.ts';
import type { Driver } from '../life/driver.ts';
import type { LiveSessions } from '../life/live.ts';
import { type FollowedRow, loadFollowed, loadLiveSessions, loadSession } from '../store.ts';
import { replicaSubjects } from './subjects.ts';

/** Maximum rows per read. */
const MAX_ROWS = 512;
const RETRY_MS = SECOND_MS;

/** Starts applying the changes of the other replicas. Close the result before the database. */
export function followReplicas(
  platform: Platform,
  deps: {
    driver: Pick<Driver, 'stopOnce'>;
    launches: LaunchWatch;
    links: Links;
    live: LiveSessions;
    watchViewer: ViewerWatch;
  },
): Subscription {
  const { bus, clock, database, logger } = platform;
  const { driver, launches, links, live, watchViewer } = deps;
  /**
   * Sessions that changed on another replica and were not read since. The number of existing sessions bounds the set.
   */
  const due = new Set<string>();
  let isReading = false;
  let retry: Timer | null = null;
  let closed = false;

  const notFollowed = (error: unknown): void =>
    logger.warn({ reason: errorText(error) }, 'session.not_followed');

  /**
   * A message may be late, or a row may be older than a message that was already applied: the state of a session never
   * goes back.
   */
  function move(row: Pick<FollowedRow, 'id' | 'host_id' | 'state'>): void {
    const known = live.get(row.id);
    if (known !== undefined && stateRank(row.state) < stateRank(known.state)) return;
    const now = clock.monotonicMs();
    const session = live.track(row, now);
    if (session !== undefined) session.reportedAtMs = now;
  }

  function adopt(row: FollowedRow): void {
    move(row);
    const failure = row.state === 'failed' ? { ending: { failure_code: row.failure_code } } : null;
    launches.changed({ ...row, shows: {}, failure });
  }

  async function readDue(): Promise<void> {
    if (isReading || closed) return;
    isReading = true;
    try {
      while (due.size > 0 && !closed) {
        const ids = [...due].slice(0, MAX_ROWS);
        for (const id of ids) due.delete(id);
        try {
          const rows = await loadFollowed(database.db, ids);
          const found = new Set(rows.map(({ id }) => id));
          for (const row of rows) adopt(row);
          for (const id of ids) if (!found.has(id)) live.forget(id);
        } catch (error) {
          for (const id of ids) due.add(id);
          throw error;
        }
      }
    } catch (error) {
      notFollowed(error);
      retry?.cancel();
      retry = closed ? null : clock.setTimeout(() => void readDue(), RETRY_MS);
    } finally {
      isReading = false;
    }
  }

  function follow(id: string): void {
    due.add(id);
    void readDue();
  }

  /** Reads all live sessions again, because messages may have been lost. */
  async function readAll(): Promise<void> {
    const rows = await loadLiveSessions(database.db);
    const alive = new Set(rows.map(({ id }) => id));
    for (const { id } of [...live.values()]) if (!alive.has(id)) follow(id);
    for (const row of rows) {
      adopt(row);
      // Send the stop again, because the first command may have been lost; a host accepts a second one.
      if (row.state === 'stopping' && row.host_id !== null)
        void driver.stopOnce(row.host_id, row.id, row.stop_reason ?? 'user_requested');
    }
  }

  /**
   * Applies a change directly from its message if the message is sufficient, because a database read per change would
   * cost more than the launch itself.
   */
  function changed({ state, state_detail, app_id, observed }: SessionChange, id: string): void {
    const known = live.get(id);
    const endsHere = state !== undefined && isTerminal(state);
    const isRecord = state !== undefined || state_detail !== undefined || app_id !== undefined;
    // Read the row after an end, because only the row contains the reason. Observations have their own message.
    if (known === undefined || endsHere || (!isRecord && observed === undefined)) follow(id);
    else if (isRecord) move({ id, host_id: known.hostId, state: state ?? known.state });
    if (state_detail !== undefined && !endsHere)
      launches.changed({ id, state: state ?? '', shows: { state_detail }, failure: null });
  }

  async function watchElsewhere(
    id: string,
    userId: string,
    deviceId: string | null,
    seconds: Parameters<ViewerWatch>[2],
  ): Promise<void> {
    const hostId = live.get(id)?.hostId ?? null;
    if (hostId === null || !links.holds(hostId)) return;
    const row = await loadSession(database.db, id);
    if (row !== undefined && !isTerminal(row.state)) await watchViewer({ userId, deviceId }, row, seconds);
  }

  const subscriptions = [
    bus.subscribeOthers(sessionSubjects.changed, changed),
    bus.subscribeOthers(replicaSubjects.observed, (observed, id) => {
      const session = live.get(id);
      if (session !== undefined) live.observedElsewhere(session, observed, clock.monotonicMs());
    }),
    bus.subscribeOthers(replicaSubjects.watched, ({ user_id, device_id, seconds }, id) => {
      watchElsewhere(id, user_id, device_id, seconds).catch((error: unknown) =>
        logger.error({ session_id: id, err: error }, 'session.decode_history_failed'),
      );
    }),
    bus.subscribeOthers(replicaSubjects.seen, ({ sinceLaunchMs }, id) => launches.seen(id, sinceLaunchMs)),
    readAfterGaps(platform, readAll, notFollowed),
  ];
  return {
    close() {
      closed = true;
      retry?.cancel();
      for (const subscription of subscriptions) subscription.close();
    },
  };
}
