/**
 * What this process remembers about sessions that are not final: instants on the monotonic clock, and what was
 * observed of the app. Bounded by the sessions that exist; an entry goes when its session ends.
 */
import type { AppLaunchState } from '@footlight/protocol';
import type { SessionMetrics } from '@footlight/protocol/agent';
import type { Timer } from '../../platform/clock.ts';
import type { Observed, SessionRow } from '../record.ts';
import { displayOf } from './display.ts';
import { isTerminal } from './state.ts';
import { isStarting, type SessionTimes } from './timeouts.ts';

export interface LiveSession extends SessionTimes {
  readonly id: string;
  readonly hostId: string | null;
  /** Heartbeats in a row that did not list it. */
  misses: number;
  /** The look at whether it runs by its deadline. Cancelled here once it no longer starts. */
  startWatch: Timer | null;
  observed: Observed;
}

export class LiveSessions {
  readonly #byId = new Map<string, LiveSession>();
  readonly #byHost = new Map<string, Set<string>>();

  get(id: string): LiveSession | undefined {
    return this.#byId.get(id);
  }

  values(): Iterable<LiveSession> {
    return this.#byId.values();
  }

  *ofHost(hostId: string): Iterable<LiveSession> {
    for (const id of this.#byHost.get(hostId) ?? []) {
      const session = this.#byId.get(id);
      if (session !== undefined) yield session;
    }
  }

  /**
   * Takes over what a row says now.
   * @param changedAt monotonic ms when the state changed; null when that is not known to be in this process's time
   */
  track(
    row: Pick<SessionRow, 'id' | 'host_id' | 'state'>,
    changedAt: number | null,
  ): LiveSession | undefined {
    if (isTerminal(row.state)) {
      this.#remove(row.id);
      return undefined;
    }
    const known = this.#byId.get(row.id);
    if (known !== undefined && known.hostId === row.host_id) {
      if (known.state !== row.state) {
        known.state = row.state;
        known.changedAt = changedAt;
        if (!isStarting(row.state)) this.#endStartWatch(known);
      }
      return known;
    }
    const session: LiveSession = {
      id: row.id,
      hostId: row.host_id,
      state: row.state,
      changedAt,
      reportedAt: null,
      startAckedAt: null,
      misses: 0,
      startWatch: null,
      observed: known?.observed ?? {},
    };
    this.#remove(row.id);
    this.#byId.set(row.id, session);
    if (row.host_id !== null) {
      const ids = this.#byHost.get(row.host_id) ?? new Set();
      ids.add(row.id);
      this.#byHost.set(row.host_id, ids);
    }
    return session;
  }

  /** @returns whether app_launch_state changed */
  observe(session: LiveSession, sample: SessionMetrics): boolean {
    const before: AppLaunchState | undefined = session.observed.app_launch_state;
    const now = sample.app_launch_state ?? before;
    session.observed = {
      display: displayOf(sample.metrics),
      metrics: { ts: sample.ts, metrics: sample.metrics },
      ...(now !== undefined && { app_launch_state: now }),
    };
    return now !== before;
  }

  #endStartWatch(session: LiveSession): void {
    session.startWatch?.cancel();
    session.startWatch = null;
  }

  #remove(id: string): void {
    const known = this.#byId.get(id);
    if (known === undefined) return;
    this.#byId.delete(id);
    this.#endStartWatch(known);
    if (known.hostId === null) return;
    const ids = this.#byHost.get(known.hostId);
    ids?.delete(id);
    if (ids?.size === 0) this.#byHost.delete(known.hostId);
  }
}
