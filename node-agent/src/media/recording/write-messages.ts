import { codec } from '@footlight/protocol';
import { z } from 'zod';

/** File descriptors of the process that writes a recording: the records of the ring, and the file. */
export const RECORDS_FD = 4;
export const FILE_FD = 5;

/** Request to a process that writes one recording, answers once and exits. */
export const writeRequest = z.object({
  codec,
  /** User and group to which the process changes; null: it runs as the agent's user. */
  uid: z.number().int().min(1).nullable(),
});

export const writeAnswer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), duration_ms: z.number().int().nonnegative() }),
  z.object({ ok: z.literal(false), why: z.string().max(512) }),
]);
export type WriteAnswer = z.infer<typeof writeAnswer>;
