/**
 * In-memory state of sessions that have not ended: times on the monotonic clock, and observations of the agent. An
 * entry is deleted when its session ends, so the number of live sessions bounds the memory.
 */

import { SECOND_MS, type Timer } from '@footlight/platform';
import type { AppLaunchState, JsonObject } from '@footlight/protocol';
import { isTerminal } from '@footlight/protocol';
import type { SessionMetrics } from '@footlight/protocol/agent';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import type { ViewerSecond } from '../../telemetry/index.ts';
import { displayOf } from '../display/display.ts';
import {
  countSecond,
  type DecodeCount,
  type DecodeOutcome,
  NOTHING_COUNTED,
} from '../health/decode-history.ts';
import { judgeSample, type NetworkHealth, NOTHING_KNOWN, type RateSample } from '../health/network-health.ts';
import { overridesViewer, shownHealth } from '../health/shown-health.ts';
import { judgeSecond, MAX_VIEWER_GAP_MS, UNWATCHED, withoutViewer } from '../health/viewer-health.ts';
import type { Observed, SessionRow } from '../record.ts';
import type { ObservedElsewhere } from '../replicas/subjects.ts';
import { isStarting, type SessionTimes } from '../sweeps/timeouts.ts';

export interface LiveSession extends SessionTimes {
  readonly id: string;
  readonly hostId: string | null;
  /** Consecutive heartbeats that did not list the session. */
  misses: number;
  /** Timer of the start deadline. It is cancelled here when the session is no longer starting. */
  startWatch: Timer | null;
  /** Rates of the launch, kbit/s; null: this process does not know them. */
  rates: { launchKbps: number; floorKbps: number | null } | null;
  /** The viewer's peer connection; null: no viewer is connected. */
  viewer: Viewer | null;
  decode: DecodeRecord;
  observed: Observed;
}

/** Decode history of the session's own device since this process started. */
interface DecodeRecord {
  count: DecodeCount;
  /** The outcome that was stored; null: none was stored. */
  stored: DecodeOutcome | null;
  /** Time of the last report with a viewer's second, monotonic ms; null: no report arrived. */
  heardAtMs: number | null;
  /** Key of the device with this id; key null: the device was deleted. null: the key was not read yet. */
  device: { id: string; key: string | null } | null;
}

interface Viewer {
  /** Id of the peer connection; null: the host reported a viewer without an id. */
  pc: string | null;
  /** Start of the unbroken time with a connected viewer, monotonic ms. */
  sinceMs: number;
}

/** Fields of the row that a tracked session needs. */
type TrackedRow = Pick<SessionRow, 'id' | 'host_id' | 'state'> &
  Partial<Pick<SessionRow, 'stream_bitrate_kbps' | 'stream_launch_floor_kbps'>>;

/** Bound of an agent's idle time in seconds; larger values overflow a date. */
const MAX_IDLE_SECS = 2 ** 31;

/** Longest id of a peer connection. The agent chooses the id, so its length is bounded. */
const MAX_PC_CHARS = 64;

export class LiveSessions {
  readonly #byId = new Map<string, LiveSession>();
  readonly #byHost = new Map<string, Set<string>>();

  get(id: string): LiveSession | undefined {
    return this.#byId.get(id);
  }

  values(): Iterable<LiveSession> {
    return this.#byId.values();
  }

  anyOfHost(hostId: string): boolean {
    return this.#byHost.has(hostId);
  }

  *ofHost(hostId: string): Iterable<LiveSession> {
    for (const id of this.#byHost.get(hostId) ?? []) {
      const session = this.#byId.get(id);
      if (session !== undefined) yield session;
    }
  }

  /**
   * Creates or updates the entry of a session from its row.
   * @param changedAtMs time of the state change, monotonic ms; null: unknown, or before this process started
   */
  track(row: TrackedRow, changedAtMs: number | null): LiveSession | undefined {
    if (isTerminal(row.state)) {
      this.#remove(row.id);
      return undefined;
    }
    const known = this.#byId.get(row.id);
    if (known !== undefined && known.hostId === row.host_id) {
      if (known.state !== row.state) {
        known.state = row.state;
        known.changedAtMs = changedAtMs;
        if (!isStarting(row.state)) this.#endStartWatch(known);
      }
      known.rates ??= ratesOf(row);
      return known;
    }
    const session: LiveSession = {
      id: row.id,
      hostId: row.host_id,
      state: row.state,
      changedAtMs,
      reportedAtMs: null,
      refusedAtMs: null,
      startAckedAtMs: null,
      misses: 0,
      startWatch: null,
      rates: ratesOf(row),
      viewer: null,
      decode: known?.decode ?? { count: NOTHING_COUNTED, stored: null, heardAtMs: null, device: null },
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

  /** Removes the entry, because another replica or a read of the database found that the session has ended. */
  forget(id: string): void {
    this.#remove(id);
  }

  /**
   * Stores the observations of another replica, so that this replica continues the count at the floor if the host
   * connects to it. The counters of the viewer's seconds start again.
   * @param monotonicMs time when the message arrived
   */
  observedElsewhere(
    session: LiveSession,
    { network, viewing, ...plain }: ObservedElsewhere,
    monotonicMs: number,
  ): void {
    const { idle_ends_at, ...known } = session.observed;
    session.observed = {
      ...known,
      // A message with a sample contains all that the host reported. So a missing idle time is unknown, not unchanged.
      ...(plain.metrics === undefined && idle_ends_at !== undefined && { idle_ends_at }),
      ...plain,
      ...(network !== undefined && { network: networkElsewhere(network, monotonicMs) }),
      ...(viewing !== undefined && { viewing: { ...UNWATCHED, ...viewing } }),
    };
  }

  /**
   * @param monotonicMs time of the observation
   * @param nowMs the same time, epoch ms
   * @returns whether a value changed that the session's event streams show
   */
  observe(session: LiveSession, sample: SessionMetrics, monotonicMs: number, nowMs: number): boolean {
    const before = session.observed;
    const launchState: AppLaunchState | undefined = sample.app_launch_state ?? before.app_launch_state;
    const network = judgeSample(
      before.network ?? NOTHING_KNOWN,
      rateSample(session, sample.metrics),
      monotonicMs,
    );
    const { viewing } = before;
    session.observed = {
      display: displayOf(sample.metrics),
      metrics: { ts: sample.ts, metrics: sample.metrics },
      network,
      ...(viewing !== undefined && {
        viewing: isSilent(session, monotonicMs) ? withoutViewer(viewing) : viewing,
      }),
      ...(sample.idle_ends_in_s !== undefined && { idle_ends_at: idleEndsAt(sample.idle_ends_in_s, nowMs) }),
      ...(launchState !== undefined && { app_launch_state: launchState }),
      ...(before.viewer !== undefined && { viewer: before.viewer }),
    };
    return launchState !== before.app_launch_state || !showsAs(before, session.observed);
  }

  /**
   * Adds seconds of the session's viewer.
   * @param seconds seconds of one post, the oldest first
   * @param isOwn whether the session's own device measured a second
   * @returns whether a value changed that the session's event streams show
   */
  viewed(
    session: LiveSession,
    seconds: readonly ViewerSecond[],
    isOwn: (second: ViewerSecond) => boolean,
    monotonicMs: number,
  ): boolean {
    const before = session.observed;
    let viewing = before.viewing ?? UNWATCHED;
    session.decode.heardAtMs = monotonicMs;
    for (const second of seconds) {
      const judged = judgeSecond(viewing, second);
      viewing = judged.health;
      if (isOwn(second))
        session.decode.count = countSecond(session.decode.count, second, judged, overridesViewer(before));
    }
    session.observed = { ...before, viewing };
    return !showsAs(before, session.observed);
  }

  /** A registration reports whether a viewer is connected, but not since when, so the time starts now. */
  viewerHeld(session: LiveSession, isConnected: boolean, monotonicMs: number): void {
    session.viewer = isConnected ? { pc: session.viewer?.pc ?? null, sinceMs: monotonicMs } : null;
    if (!isConnected) this.#viewerGone(session);
  }

  /**
   * Applies a state change of a peer connection. The connection that was connected last counts as the viewer's.
   * @param payload payload of the agent's event webrtc.state_changed
   * @returns whether a value changed that the session's event streams show
   */
  viewerChanged(session: LiveSession, payload: JsonObject, monotonicMs: number): boolean {
    const before = session.observed;
    this.#applyConnection(session, payload, monotonicMs);
    return !showsAs(before, session.observed);
  }

  #applyConnection(session: LiveSession, payload: JsonObject, monotonicMs: number): void {
    const { kind, to, pc } = payload;
    if (kind !== 'connection' || typeof to !== 'string') return;
    const pcName = typeof pc === 'string' && pc.length <= MAX_PC_CHARS ? pc : null;
    const { viewer } = session;
    if (to === 'connected' || to === 'completed') {
      session.viewer = { pc: pcName, sinceMs: viewer?.sinceMs ?? monotonicMs };
      // A connected viewer stops the host's idle timer. Clear the time now; the next sample would report this only
      // seconds later.
      if (session.observed.idle_ends_at !== undefined)
        session.observed = { ...session.observed, idle_ends_at: null };
    }
    // The late close of an older connection does not remove a newer one.
    else if (viewer !== null && (viewer.pc === null || pcName === null || viewer.pc === pcName)) {
      session.viewer = null;
      this.#viewerGone(session);
    }
  }

  /** Resets the state of the viewer, because the next viewer has another page and perhaps another device. */
  #viewerGone(session: LiveSession): void {
    const { viewing } = session.observed;
    if (viewing !== undefined) session.observed = { ...session.observed, viewing: withoutViewer(viewing) };
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

function networkElsewhere(
  { state, reason, atFloor }: NonNullable<ObservedElsewhere['network']>,
  monotonicMs: number,
): NetworkHealth {
  if (atFloor === undefined) return { state, reason, atFloor: null };
  const { ageMs, forMs, watchedMs } = atFloor;
  return { state, reason, atFloor: { sampledAt: monotonicMs - ageMs, forMs, watchedMs } };
}

/** Whether two observations result in the same shown health. */
const showsAs = (a: Observed, b: Observed): boolean =>
  shownHealth(a).health_state === shownHealth(b).health_state;

/** Whether a visible viewer has reported nothing for longer than a gap. A hidden page is allowed to report nothing. */
const isSilent = ({ decode: { heardAtMs }, observed }: LiveSession, monotonicMs: number): boolean =>
  heardAtMs !== null && observed.viewing?.isHidden !== true && monotonicMs - heardAtMs > MAX_VIEWER_GAP_MS;

/** Time when the idle timer ends, epoch ms; null: the host runs no idle timer. */
function idleEndsAt(inSecs: number | null, nowMs: number): number | null {
  return inSecs === null ? null : nowMs + Math.min(inSecs, MAX_IDLE_SECS) * SECOND_MS;
}

function ratesOf(row: TrackedRow): LiveSession['rates'] {
  if (row.stream_bitrate_kbps === undefined) return null;
  return { launchKbps: row.stream_bitrate_kbps, floorKbps: row.stream_launch_floor_kbps ?? null };
}

/** A negative rate of an agent counts as not measured. */
const rateOf = (value: AgentMetrics[keyof AgentMetrics]): number | null =>
  typeof value === 'number' && value >= 0 ? value : null;

function rateSample({ rates, viewer }: LiveSession, metrics: AgentMetrics): RateSample {
  const { abr_setpoint_kbps, abr_floor_kbps } = metrics;
  return {
    setpointKbps: rates === null ? null : rateOf(abr_setpoint_kbps),
    // The sample omits a floor that equals the launch's floor.
    floorKbps: abr_floor_kbps === undefined ? (rates?.floorKbps ?? null) : rateOf(abr_floor_kbps),
    launchKbps: rates?.launchKbps ?? 0,
    watchedSinceMs: viewer?.sinceMs ?? null,
  };
}
