import { preflightSchema } from '@footlight/protocol/agent';
import { z } from 'zod';

/** What a test process gets from the agent: the command without its id, and the host's media settings. */
export const preflightOrder = preflightSchema.omit({ type: true, id: true }).extend({
  /** Addresses to offer; null: all addresses. */
  addresses: z.array(z.string()).nullable(),
  /** Inclusive range of UDP ports; null: the ephemeral ports. */
  ports: z.tuple([z.int(), z.int()]).nullable(),
  /** The host's fallback port; null: none. */
  fallback_port: z.int().nullable(),
});
export type PreflightOrder = z.infer<typeof preflightOrder>;

/** The only message of a test process. refused: the offer cannot be used; `why` is for people. */
export const preflightOutcome = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('answer'),
    sdp: z.string(),
    /** The connection, as the fallback port forwards to it; null: it has no host candidate. `pwd` is secret. */
    connection: z.object({ ufrag: z.string(), pwd: z.string(), port: z.int() }).nullable(),
  }),
  z.object({ type: z.literal('refused'), why: z.string() }),
]);
export type PreflightOutcome = z.infer<typeof preflightOutcome>;
