/** Bus subjects between replicas that serve the same session; the key is the session's id. */
import { appLaunchState } from '@footlight/protocol';
import { sessionMetricsSchema } from '@footlight/protocol/agent';
import { CLIENT_HEALTH } from '@footlight/protocol/telemetry';
import { z } from 'zod';
import type { NetworkHealth } from '../health/network-health.ts';
import type { Observed } from '../record.ts';

const figures = z.record(z.string(), z.union([z.number(), z.boolean()]));

/**
 * Observed fields; a missing field has not changed, except `idle_ends_at` next to `metrics`. The viewer's verdict is sent
 * without the counters of the replica that computes it.
 */
const observedElsewhere = z.object({
  app_launch_state: appLaunchState.exactOptional(),
  display: z
    .object({
      width: z.number().exactOptional(),
      height: z.number().exactOptional(),
      owner: z.enum(['auto', 'pinned']).exactOptional(),
      external_resize_supported: z.boolean().exactOptional(),
    })
    .exactOptional(),
  idle_ends_at: z.number().nullable().exactOptional(),
  metrics: z.object({ ts: z.number(), metrics: sessionMetricsSchema.shape.metrics }).exactOptional(),
  network: z
    .object({
      state: z.enum(['healthy', 'network_degrading', 'abr_at_floor', 'unsustainable']).nullable(),
      reason: z.string().nullable(),
      /** Missing: the rate is above the floor. */
      atFloor: z.object({ ageMs: z.number(), forMs: z.number(), watchedMs: z.number() }).exactOptional(),
    })
    .exactOptional(),
  viewer: z
    .object({ source: z.enum(['browser', 'native']), ts_unix_ms: z.number(), metrics: figures })
    .exactOptional(),
  viewing: z
    .object({
      state: z.enum(['client_decode_degrading', 'client_presentation_degrading']).nullable(),
      reason: z.string().nullable(),
    })
    .exactOptional(),
});
export type ObservedElsewhere = z.infer<typeof observedElsewhere>;

/** Seconds that a viewer reported, for the replica with the link of the session's host. */
const watched = z.object({
  user_id: z.string(),
  device_id: z.string().nullable(),
  seconds: z.array(
    z.object({
      tsMs: z.number(),
      health: z.enum(CLIENT_HEALTH),
      reason: z.string().nullable(),
      deviceKey: z.string().nullable(),
    }),
  ),
});

export const replicaSubjects = {
  observed: { name: 'session.observed', payload: observedElsewhere },
  watched: { name: 'session.watched', payload: watched },
  /** A viewer saw the first picture. Sent only while launches are traced or measured. */
  seen: { name: 'session.seen', payload: z.object({ sinceLaunchMs: z.number().nullable() }) },
} as const;

/**
 * The part of an observation that other replicas receive.
 * @param monotonicMs the present time
 */
export function observedFor(
  { network, viewing, ...plain }: Observed,
  monotonicMs: number,
): ObservedElsewhere {
  return {
    ...plain,
    ...(network !== undefined && { network: networkFor(network, monotonicMs) }),
    ...(viewing !== undefined && { viewing: { state: viewing.state, reason: viewing.reason } }),
  };
}

function networkFor(
  { state, reason, atFloor }: NetworkHealth,
  monotonicMs: number,
): NonNullable<ObservedElsewhere['network']> {
  if (atFloor === null) return { state, reason };
  const { sampledAt, forMs, watchedMs } = atFloor;
  return { state, reason, atFloor: { ageMs: monotonicMs - sampledAt, forMs, watchedMs } };
}
