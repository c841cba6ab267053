import type { Platform } from '../../platform/platform.ts';
import type { SessionRow } from '../record.ts';
import {
  assigned,
  beginLaunch,
  endLaunch,
  endUnseenLaunch,
  isPresented,
  type OpenLaunch,
  reported,
} from './launch-steps.ts';

/**
 * Maximum watched launches whose picture no viewer has seen yet. A further launch evicts the oldest, which then gets no
 * trace.
 */
const MAX_OPEN = 10_000;

interface Watched {
  row: Pick<SessionRow, 'id' | 'app_id' | 'host_id' | 'video_topology' | 'created_at'>;
  launch: OpenLaunch;
}

/** The fields of a session's change that concern its launch. */
interface LaunchChange {
  id: string;
  state: string;
  shows?: { state_detail?: string | null };
  failure: { ending: { failure_code: string | null } } | null;
}

/**
 * Watches each launch from its request until a viewer sees the app or the session ends, and then sends a trace. Without
 * a collector and metrics it stores nothing.
 */
export interface LaunchWatch {
  /** @param requestedAtMs epoch ms */
  booked(row: Watched['row'], requestedAtMs: number): void;
  /** The host accepted the session. */
  assigned(sessionId: string): void;
  changed(change: LaunchChange): void;
  /**
   * A viewer saw a picture. @param sinceLaunchMs time since the booking, as the viewer reports it; null: the viewer
   * reported none
   */
  seen(sessionId: string, sinceLaunchMs: number | null): void;
}

export function createLaunchWatch({ clock, traces }: Pick<Platform, 'clock' | 'traces'>): LaunchWatch {
  const open = new Map<string, Watched>();

  function move(id: string, step: (launch: OpenLaunch, nowMs: number) => OpenLaunch): Watched | undefined {
    const watched = open.get(id);
    if (watched !== undefined) watched.launch = step(watched.launch, clock.nowMs());
    return watched;
  }

  function send(
    { row, launch }: Watched,
    result: { outcome: 'shown' | 'failed' | 'ended'; failureCode?: string | null; endMs: number | null },
  ): void {
    open.delete(row.id);
    const steps = result.endMs === null ? endUnseenLaunch(launch) : endLaunch(launch, result.endMs);
    traces?.send({
      ...{ sessionId: row.id, hostId: row.host_id, appId: row.app_id, outcome: result.outcome, steps },
      failureCode: result.failureCode ?? null,
    });
  }

  return {
    booked(row, requestedAtMs) {
      if (traces === null) return;
      const [oldest] = open.keys();
      if (open.size >= MAX_OPEN && oldest !== undefined) open.delete(oldest);
      open.set(row.id, { row, launch: beginLaunch(requestedAtMs, row.created_at) });
    },

    assigned(sessionId) {
      move(sessionId, assigned);
    },

    changed({ id, state, shows, failure }) {
      const detail = shows?.state_detail ?? '';
      const watched = move(id, (launch, nowMs) => reported(launch, detail, nowMs));
      if (watched === undefined) return;
      const nowMs = clock.nowMs();
      if (failure !== null)
        send(watched, { outcome: 'failed', failureCode: failure.ending.failure_code, endMs: nowMs });
      else if (state === 'stopped' || state === 'failed')
        send(watched, { outcome: 'ended', endMs: isPresented(watched.launch) ? null : nowMs });
      else if (watched.row.video_topology === 'local_only' && isPresented(watched.launch))
        send(watched, { outcome: 'shown', endMs: null });
    },

    seen(sessionId, sinceLaunchMs) {
      const watched = open.get(sessionId);
      if (watched === undefined) return;
      const nowMs = clock.nowMs();
      // A viewer may report any number; but it cannot have seen the picture later than its report arrived.
      const seenMs = sinceLaunchMs === null ? nowMs : watched.row.created_at + sinceLaunchMs;
      send(watched, { outcome: 'shown', endMs: Math.min(seenMs, nowMs) });
    },
  };
}
