import { codec, encoderFamily } from '@footlight/protocol';
import { z } from 'zod';

/**
 * What the agent asks one encoder probe process; it answers once and exits. prove and measure encode, inspect only
 * looks at what is installed.
 */
export const probeRequest = z.object({
  kind: z.enum(['prove', 'measure', 'inspect']),
  family: encoderFamily,
  codec: codec,
  render_node: z.string().nullable(),
  /** Host settings, as a media worker gets them. */
  settings: z.record(z.string(), z.unknown()),
});

const names = z.array(z.string().max(256)).max(64);

/** What of a table row this host's GStreamer has. */
export const encoderInspection = z.object({
  /** Release, such as "1.22.0". */
  gstreamer: z.string().max(32),
  /** The family's plugin is installed. */
  plugin: z.boolean(),
  /** Name of the element that would be used; null = there is none. */
  element: z.string().max(256).nullable(),
  /** Properties of the row that the element lacks, and values that it does not take. */
  missing: names,
  refused: names,
  /** Elements around it that are missing: upload, parser, payloader. */
  lacking: names,
  /** Why the element cannot be looked at; null = it could. */
  problem: z.string().max(512).nullable(),
});

export const probeAnswer = z.object({
  ok: z.boolean(),
  /** Why not; "" when ok. */
  why: z.string(),
  /** Megapixels per second, with `measure` only. */
  mpix_s: z.number().positive().optional(),
  /** Largest picture that the encoder takes, with `prove` where it says so. */
  max_width: z.number().int().positive().optional(),
  max_height: z.number().int().positive().optional(),
  /** With `inspect` only. */
  inspection: encoderInspection.optional(),
});

export type ProbeRequest = z.infer<typeof probeRequest>;
export type EncoderInspection = z.infer<typeof encoderInspection>;
export type ProbeAnswer = z.infer<typeof probeAnswer>;
