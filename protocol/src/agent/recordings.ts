import { z } from 'zod';
import { count, humanText, wireUuid } from '../common.ts';

/** Largest recording: a ring of 64 MiB plus the overhead of the container format. */
export const MAX_RECORDING_BYTES = 72 * 1024 * 1024;
/** How long a host keeps a recording. */
export const RECORDING_KEPT_MS = 24 * 60 * 60 * 1000;
/** How long a host keeps the flight-recorder ring of a failed session. */
export const FAILED_RING_KEPT_MS = 10 * 60 * 1000;

/** Payload of the session.recording event, which ends each accepted freeze. */
export const recordingEventSchema = z.object({
  recording_id: wireUuid,
  state: z.enum(['ready', 'failed']),
  /** bytes and duration_ms: in state `ready` only. */
  bytes: count.max(MAX_RECORDING_BYTES).optional(),
  duration_ms: count.optional(),
  /** In state `failed` only: why nothing was kept. */
  error: humanText(256).optional(),
});
export type RecordingEvent = z.infer<typeof recordingEventSchema>;
