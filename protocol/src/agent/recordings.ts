import { z } from 'zod';
import { count, humanText, wireUuid } from '../common.ts';

/** Largest recording: a ring of 64 MiB plus the overhead of the container format. */
export const MAX_RECORDING_BYTES = 72 * 1024 * 1024;
/** Time for which a host keeps a recording. */
export const RECORDING_KEPT_MS = 24 * 60 * 60 * 1000;
/** Time for which a host keeps the flight-recorder ring of a failed session. */
export const FAILED_RING_KEPT_MS = 10 * 60 * 1000;

/** Payload of the session.recording event. Each accepted freeze ends with one such event. */
export const recordingEventSchema = z.object({
  recording_id: wireUuid,
  state: z.enum(['ready', 'failed']),
  /** bytes and duration_ms: only in state `ready`. */
  bytes: count.max(MAX_RECORDING_BYTES).optional(),
  duration_ms: count.optional(),
  /** Only in state `failed`: the reason why there is no recording. */
  error: humanText(256).optional(),
});
export type RecordingEvent = z.infer<typeof recordingEventSchema>;
