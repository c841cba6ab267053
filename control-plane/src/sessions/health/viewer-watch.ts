/**
 * Processes the samples that viewers report about their devices: the verdict that a session shows, and the decode
 * history of its own device.
 *
 * Kept in memory until the session ends, so after a restart of the control plane the counts start again at zero. The
 * sessions service owns this state.
 */
import { findDeviceKey } from '../../accounts/index.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  type DecodeKey,
  forgetClientFailure,
  storeClientFailure,
  toCatalogCodec,
} from '../../profiles/index.ts';
import { sessionSubjects } from '../../signaling/index.ts';
import type { ViewerSecond } from '../../telemetry/index.ts';
import type { LiveSession, LiveSessions } from '../life/live.ts';
import { observedRecord, type SessionRow } from '../record.ts';
import { observedFor, replicaSubjects } from '../replicas/subjects.ts';
import { decideOutcome } from './decode-history.ts';

type Reporter = Pick<Caller, 'userId' | 'deviceId'>;

/**
 * Adds seconds of a viewer to a running session, and stores the resulting decode outcome. Only its owner can watch a
 * session, so samples from administrators are ignored.
 * @throws when the database fails; the next report retries
 */
export type ViewerWatch = (
  caller: Reporter,
  session: SessionRow,
  seconds: readonly ViewerSecond[],
) => Promise<void>;

export function createViewerWatch(platform: Platform, live: LiveSessions): ViewerWatch {
  const { bus, clock, database } = platform;

  return async (caller, session, seconds) => {
    if (seconds.length === 0 || caller.userId !== session.user_id) return;
    const isOwn = await ownSeconds(caller, session, seconds);
    // Look up the session after the read, because it may have ended during the read.
    const known = live.get(session.id);
    if (known?.state !== 'running') return;
    const isShown = live.viewed(known, seconds, isOwn, clock.monotonicMs());
    if (isShown) {
      bus.publish(replicaSubjects.observed, session.id, observedFor(known.observed, clock.monotonicMs()));
      bus.publish(sessionSubjects.changed, session.id, { observed: observedRecord(known.observed) });
    }
    const key = decodeKeyOf(session);
    if (key !== null) await storeOutcome(known, key, session.created_at);
  };

  /**
   * Returns which seconds the session's own device measured. The report's token names a device, and the device key in a
   * second must match it. If the token names no device, the key alone decides.
   */
  async function ownSeconds(
    { deviceId }: Reporter,
    { id, device_id }: SessionRow,
    seconds: readonly ViewerSecond[],
  ): Promise<(second: ViewerSecond) => boolean> {
    if (device_id === null || (deviceId !== null && deviceId !== device_id)) return () => false;
    if (seconds.every(({ deviceKey }) => deviceKey === null)) return () => deviceId !== null;
    const known = live.get(id);
    if (known === undefined) return () => false;
    if (known.decode.device?.id !== device_id)
      known.decode.device = { id: device_id, key: await findDeviceKey(database.db, device_id) };
    const { key } = known.decode.device;
    return ({ deviceKey }) => (deviceKey === null ? deviceId !== null : deviceKey === key);
  }

  /** Stores the outcome, if it has changed. */
  async function storeOutcome(known: LiveSession, key: DecodeKey, createdAtMs: number): Promise<void> {
    const { decode } = known;
    const before = decode.stored;
    const outcome = decideOutcome(decode.count, before);
    if (outcome === null) return;
    // Set the outcome before the write, so that a concurrent report does not write the same outcome.
    decode.stored = outcome;
    try {
      if (outcome === 'fail') await storeClientFailure(database.db, key, clock.nowMs());
      else await forgetClientFailure(database.db, key, createdAtMs);
    } catch (error) {
      decode.stored = before;
      throw error;
    }
  }
}

/**
 * The key of a session's decode history; null: the session was launched without a device or a rung, so no later launch
 * would read the history.
 */
function decodeKeyOf(session: SessionRow): DecodeKey | null {
  const { device_id, profile_id, stream_profile_id, stream_codec } = session;
  if (device_id === null || profile_id === null || stream_profile_id === null) return null;
  return { device_id, launch_profile_id: profile_id, stream_profile_id, codec: toCatalogCodec(stream_codec) };
}
