/** Messages between the agent and the process that serves the fallback port. */
import { z } from 'zod';

const port = z.int().min(1).max(65_535);

export const fallbackOrder = z.discriminatedUnion('type', [
  /** The first message. */
  z.object({ type: z.literal('listen'), port, addresses: z.array(z.string().max(64)).max(64).nullable() }),
  z.object({
    type: z.literal('register'),
    ufrag: z.string().max(256),
    /** Secret. */
    pwd: z.string().max(256),
    address: z.string().max(64),
    port,
  }),
  z.object({ type: z.literal('unregister'), ufrag: z.string().max(256) }),
]);
export type FallbackOrder = z.infer<typeof fallbackOrder>;

export const fallbackReport = z.discriminatedUnion('type', [
  z.object({ type: z.literal('listening') }),
  /** The port cannot be used; the process tries again every RETRY_MS. */
  z.object({ type: z.literal('unusable'), why: z.string().max(512) }),
]);
export type FallbackReport = z.infer<typeof fallbackReport>;

/** Interval of attempts to listen on a port that is taken. Chosen, not measured. */
export const RETRY_MS = 5_000;
