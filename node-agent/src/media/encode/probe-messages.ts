import { codec, encoderFamily } from '@footlight/protocol';
import { z } from 'zod';

/**
 * Request to an encoder probe process, which answers once and exits. `prove` and `measure` encode frames; `inspect`
 * only looks up installed elements.
 */
export const probeRequest = z.object({
  kind: z.enum(['prove', 'measure', 'inspect']),
  family: encoderFamily,
  codec: codec,
  render_node: z.string().nullable(),
  /** Host settings, the same as for a media worker. */
  settings: z.record(z.string(), z.unknown()),
});

const names = z.array(z.string().max(256)).max(64);

/** Parts of a table row that this host's GStreamer has. */
export const encoderInspection = z.object({
  /** GStreamer release, for example "1.22.0". */
  gstreamer: z.string().max(32),
  /** Whether the family's plugin is installed. */
  plugin: z.boolean(),
  /** Element that would be used; null: none is installed. */
  element: z.string().max(256).nullable(),
  /** Names of properties that the element lacks, and values that it refuses. */
  missing: names,
  refused: names,
  /** Missing elements that the encoder needs: upload, parser, payloader. */
  lacking: names,
  /** Why the element cannot be inspected; null: no problem. */
  problem: z.string().max(512).nullable(),
});

export const probeAnswer = z.object({
  ok: z.boolean(),
  /** Reason of the failure; "": no failure. */
  why: z.string(),
  /** Megapixels per second, only with `measure`. */
  mpix_s: z.number().positive().optional(),
  /** Largest picture that the encoder accepts; only with `prove`, and only if the encoder reports it. */
  max_width: z.number().int().positive().optional(),
  max_height: z.number().int().positive().optional(),
  /** Only with `inspect`. */
  inspection: encoderInspection.optional(),
});

export type ProbeRequest = z.infer<typeof probeRequest>;
export type EncoderInspection = z.infer<typeof encoderInspection>;
export type ProbeAnswer = z.infer<typeof probeAnswer>;
