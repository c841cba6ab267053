/**
 * Which rung of a launch profile the placed host and the viewer do together, and why not a better one. Pure.
 * Source: docs/profiles.md, "Which rung a launch takes".
 */
import type { Codec } from '@footlight/protocol';
import type { CodecDecision, StreamProfile } from '@footlight/protocol/rest';
import { type ClientFacts, chooseRung, toSessionCodec } from '../../profiles/index.ts';

/** What the placed host encodes. */
export interface HostAbilities {
  /** null = never reported, which means H.264 alone. */
  codecs: readonly string[] | null;
  /** Family in effect; null = not known. */
  encoder: string | null;
  /** By codec as sessions spell it; null, missing or not above 0 = not known. */
  throughput: Readonly<Record<string, { max_pixel_rate_mpix_s: number }>> | null;
}

/** In the order in which they are applied. */
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
 * The first rung that passes every clamp; when none does the floor of the chain, with every clamp passed over.
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
  const lookedAt = floor ? chain : chain.slice(0, chain.indexOf(rung) + 1);
  return {
    rung,
    decision: {
      result_rung: rung.id,
      result_codec: toSessionCodec(rung.codec),
      override: null,
      floor,
      considered: lookedAt.map((one) => ({
        rung_id: one.id,
        codec: toSessionCodec(one.codec),
        rejected_by: clampOf(one),
        selected: one === rung,
        clamps_bypassed: floor && one === rung ? [...CLAMPS] : [],
      })),
    },
  };
}

/**
 * The first rung with the codec that the launch names: a person who names one accepts its effect on the picture, so only
 * the host can still refuse it.
 * @returns null when no rung has that codec
 */
export function takeRungOf(chain: readonly StreamProfile[], codec: Codec): ServedRung | null {
  const rung = chain.find((one) => toSessionCodec(one.codec) === codec);
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

/** What was not measured, and what a host does not report, passes, but for a codec that nobody spoke of. */
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
