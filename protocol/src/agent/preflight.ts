/** The command with which a host answers the offer of a connection test, and the answer in its ack. */
import { z } from 'zod';
import { text, wireUuid } from '../common.ts';
import { MAX_PREFLIGHT_SDP } from '../preflight.ts';
import { iceServer } from '../signal/messages.ts';
import { NETWORK_PATHS } from '../telemetry/index.ts';

const sdp = text(MAX_PREFLIGHT_SDP);

/** Only for agents with the feature `preflight`. */
export const preflightSchema = z.object({
  type: z.literal('preflight'),
  id: wireUuid,
  path: z.enum(NETWORK_PATHS),
  /** the browser's offer of one data channel, with all its candidates */
  offer: sdp,
  ice_servers: z.array(iceServer).max(32),
});
export type Preflight = z.infer<typeof preflightSchema>;

export const preflightAnswer = z.object({
  /** The host's answer with all its candidates for this path; null: it needs a fallback port, and there is none. */
  answer: sdp.nullable(),
  /** UDP ports that the host uses for media: SERVICE_MEDIA_PORTS, or its ephemeral ports */
  media_ports: z.object({
    first: z.int().min(1).max(65_535),
    last: z.int().min(1).max(65_535),
    configured: z.boolean(),
  }),
  /** SERVICE_MEDIA_FALLBACK_PORT; null: none */
  fallback_port: z.int().min(1).max(65_535).nullable(),
});
export type PreflightAnswer = z.infer<typeof preflightAnswer>;
