import { codec, encoderFamily } from '@footlight/protocol';
import { z } from 'zod';

/** What the agent asks one encoder probe process; it answers once and exits. */
export const probeRequest = z.object({
  kind: z.enum(['prove', 'measure']),
  family: encoderFamily,
  codec: codec,
  render_node: z.string().nullable(),
});

export const probeAnswer = z.object({
  ok: z.boolean(),
  /** Why not; "" when ok. */
  why: z.string(),
  /** Megapixels per second, with `measure` only. */
  mpix_s: z.number().positive().optional(),
});

export type ProbeRequest = z.infer<typeof probeRequest>;
export type ProbeAnswer = z.infer<typeof probeAnswer>;
