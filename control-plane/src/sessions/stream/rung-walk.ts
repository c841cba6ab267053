/**
 * Selects the rung that the placed host and the viewer support, with the reason for each skipped rung. Pure.
 * Source: docs/quality.md, "Which rung a launch takes".
 */
import type { Codec } from '@footlight/protocol';
import type { CodecDecision, StreamProfile } from '@footlight/protocol/rest';
import { type ClientFacts, chooseRung, toSessionCodec } from '../../profiles/index.ts';

/** Encoding abilities of the placed host. */
export interface HostAbilities {
  /** null: the host never reported them, so only H.264 is assumed. */
  codecs: readonly string[] | null;
  /** Encoder family that the host uses; null: unknown. */
  encoder: string | null;
  /** Keyed by session codec name; null, missing, or not above 0: unknown. */
  throughput: Readonly<Record<string, { max_pixel_rate_mpix_s: number }>> | null;
}

/** Names of the checks, in the order in which they run. */
const CLAMPS = [
  'host_encoder',
  'client_decode',
  'decode_height',
  'decode_history',
  'hardware_encoder',
  'encoder_throughput',
] as const;
type Clamp = (typeof CLAMPS)[number];

export interface ServedRung {
  rung: StreamProfile;
  decision: CodecDecision;
}

/** Whether a host can encode a codec. */
export const encodes = (host: Pick<HostAbilities, 'codecs'>, codec: Codec): boolean =>
  host.codecs === null ? codec === 'h264' : host.codecs.includes(codec);

/**
 * Returns the first rung that passes every check, otherwise the floor without checks.
 * @returns null for a chain without rungs
 */
export function walkRungs(
  chain: readonly StreamProfile[],
  host: HostAbilities,
  client: ClientFacts,
): ServedRung | null {
  const clampOf = (rung: StreamProfile): Clamp | null =>
    CLAMPS.find((clamp) => !PASSES[clamp](rung, host, client)) ?? null;
  const chosen = chooseRung(chain, (rung) => clampOf(rung) === null);
  if (chosen === null) return null;
  const { rung, floor } = chosen;
  const considered = floor ? chain : chain.slice(0, chain.indexOf(rung) + 1);
  return {
    rung,
    decision: {
      result_rung: rung.id,
      result_codec: toSessionCodec(rung.codec),
      override: null,
      floor,
      considered: considered.map((step) => ({
        rung_id: step.id,
        codec: toSessionCodec(step.codec),
        rejected_by: clampOf(step),
        selected: step === rung,
        clamps_bypassed: floor && step === rung ? [...CLAMPS] : [],
      })),
    },
  };
}

/**
 * The first rung with the requested codec. A person who names a codec accepts its effect on the picture, so the client
 * is not checked.
 * @returns null when no rung has the codec
 */
export function rungOfCodec(chain: readonly StreamProfile[], codec: Codec): ServedRung | null {
  const rung = chain.find((candidate) => toSessionCodec(candidate.codec) === codec);
  if (rung === undefined) return null;
  return {
    rung,
    decision: {
      result_rung: rung.id,
      result_codec: codec,
      override: codec,
      floor: false,
      considered: [
        {
          rung_id: rung.id,
          codec,
          rejected_by: null,
          selected: true,
          clamps_bypassed: CLAMPS.filter((clamp) => clamp !== 'host_encoder'),
        },
      ],
    },
  };
}

/**
 * Values that were not measured or reported pass the check. The exception is a codec other than H.264 that the host
 * never reported.
 */
const PASSES: Readonly<
  Record<Clamp, (rung: StreamProfile, host: HostAbilities, client: ClientFacts) => boolean>
> = {
  host_encoder: (rung, host) => encodes(host, toSessionCodec(rung.codec)),
  client_decode: (rung, _host, { probe }) => rung.codec === 'h264' || probe?.codecs[rung.codec] === true,
  decode_height: (rung, _host, { probe }) =>
    probe === null || probe.max_decode_height === null || rung.min_decode_height <= probe.max_decode_height,
  decode_history: (rung, _host, { failures }) =>
    !failures.some((failure) => failure.stream_profile_id === rung.id && failure.codec === rung.codec),
  hardware_encoder: (rung, { encoder }) => !rung.hardware_encoder_required || encoder !== 'openh264',
  encoder_throughput(rung, { throughput }) {
    const limit = throughput?.[toSessionCodec(rung.codec)]?.max_pixel_rate_mpix_s ?? 0;
    return limit <= 0 || (rung.width * rung.height * rung.fps) / 1e6 <= limit;
  },
};
