import { ackSchema, preflightAnswer, preflightSchema } from '@footlight/protocol/agent';
import { z } from 'zod';
import { fallbackOrder } from '../media/fallback/fallback-messages.ts';

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

/** A connection in the bounds of the process of the fallback port, which ends at a message that it cannot read. */
const connection = fallbackOrder.options[1].pick({ ufrag: true, pwd: true, port: true });

/**
 * The only message of a test process. refused: the offer cannot be used; `why` is for people. A browser may have
 * exploited this process, so its texts have the bounds of the ack that carries them.
 */
export const preflightOutcome = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('answer'),
    sdp: preflightAnswer.shape.answer.unwrap(),
    /** The connection, as the fallback port forwards to it; null: it has no host candidate. `pwd` is secret. */
    connection: connection.nullable(),
  }),
  z.object({ type: z.literal('refused'), why: ackSchema.shape.error.unwrap() }),
]);
export type PreflightOutcome = z.infer<typeof preflightOutcome>;
