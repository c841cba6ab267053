import type { Executor } from '../../platform/database/index.ts';
import type { VerdictFacts } from '../verdict/evidence.ts';
import { JUDGED_EVENTS } from '../verdict/judged-events.ts';
import { mostUsedPath, seriesOf } from './series.ts';
import { loadClock, loadEvents, loadSamples, shiftOf } from './trace-store.ts';
import type { TraceWindow } from './window.ts';

/**
 * Longest payload of an event that is read, in bytes. An SDP answer with ten parts has 1 kB. A viewer may post events
 * of 32 KiB, and reading a thousand of them would delay all other requests. Chosen, not measured.
 */
const MAX_PAYLOAD_BYTES = 4 * 1024;

/** Fields of a session that a verdict needs. Times are epoch milliseconds; null: not yet. */
export interface JudgedSession {
  readonly id: string;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly stream_fps: number;
}

/**
 * The stored samples and events of a window, with times of viewers converted to the host's clock, if the clock was
 * measured.
 */
export async function loadFacts(
  db: Executor,
  session: JudgedSession,
  window: TraceWindow,
): Promise<VerdictFacts> {
  const clock = await loadClock(db, session.id);
  const shiftMs = shiftOf(clock);
  const [samples, events] = await Promise.all([
    loadSamples(db, session.id, window, shiftMs),
    loadEvents(db, session.id, window, shiftMs, {
      types: JUDGED_EVENTS,
      maxPayloadBytes: MAX_PAYLOAD_BYTES,
    }),
  ]);
  return {
    window,
    startedAtMs: session.started_at,
    endedAtMs: session.ended_at,
    fps: session.stream_fps,
    clock:
      clock === null
        ? null
        : {
            offsetMs: clock.client_offset_ms,
            uncertaintyMs: clock.uncertainty_ms,
            measuredAtMs: clock.measured_at,
          },
    series: seriesOf(samples, shiftMs),
    path: mostUsedPath(samples),
    events,
  };
}
