import { z } from 'zod';
import { count, humanText, wireUuid } from '../common.ts';

/** Longest recording: a ring of 64 MiB, and what the container adds. */
export const MAX_RECORDING_BYTES = 72 * 1024 * 1024;
/** How long a host keeps a recording. */
export const RECORDING_KEPT_MS = 24 * 60 * 60 * 1000;
/** How long a host keeps what it held of a session that failed. */
export const FAILED_RING_KEPT_MS = 10 * 60 * 1000;

/** Payload of the session.recording event, which ends each accepted freeze. */
export const recordingEventSchema = z.object({
  recording_id: wireUuid,
  state: z.enum(['ready', 'failed']),
  /** Both with ready only. */
  bytes: count.max(MAX_RECORDING_BYTES).optional(),
  duration_ms: count.optional(),
  /** With failed: why nothing was kept. */
  error: humanText(256).optional(),
});
export type RecordingEvent = z.infer<typeof recordingEventSchema>;
