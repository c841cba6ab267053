/** Decides which rungs and launch profiles a client can play. Pure. Source: docs/quality.md, "Who may use a rung". */
import { DAY_MS } from '@footlight/platform';
import type { Eligibility, Reason, RungCodec, StreamProfile } from '@footlight/protocol/rest';
import type { ProbeFacts } from '../../accounts/index.ts';
import { floorOf } from '../rungs/chain.ts';

/** A client's failure counts for this time. */
export const FAILURE_COUNTS_MS = 30 * DAY_MS;
/**
 * A display is fast enough if its refresh rate is at least this share of the rung's frame rate. For example, a 59.94 Hz
 * display can show 60 FPS.
 */
const REFRESH_TOLERANCE = 0.98;

/** Measurements of a client. A null field was not measured. */
export type ClientProbe = Pick<
  ProbeFacts,
  'bandwidth_kbps' | 'rtt_ms' | 'max_decode_height' | 'codecs' | 'display_refresh_hz'
>;

/** A device failed to play something. A null field was not specified. */
export interface ClientFailure {
  launch_profile_id: string | null;
  stream_profile_id: string | null;
  codec: RungCodec | null;
}

/** Facts for the verdict on a rung. */
export interface ClientFacts {
  /** null: the client was never measured, or the measurement is too old. */
  probe: ClientProbe | null;
  /** Failures that still count. */
  failures: readonly ClientFailure[];
  /** Codecs of the host. Missing before a host is chosen; then host codecs are not checked. */
  hostCodecs?: readonly RungCodec[];
}

export interface Rating {
  eligibility: Eligibility;
  reasons: Reason[];
}

type JudgedRung = Pick<
  StreamProfile,
  | 'id'
  | 'codec'
  | 'fps'
  | 'min_offer_bandwidth_kbps'
  | 'recommended_offer_bandwidth_kbps'
  | 'max_startup_rtt_ms'
  | 'min_decode_height'
  | 'high_refresh_display'
  | 'browser_client'
>;

const CODEC_NAMES: Readonly<Record<RungCodec, string>> = { h264: 'H.264', hevc: 'HEVC', av1: 'AV1' };

/**
 * Whether a client can play a rung. A value that was not measured is never a hard reason.
 * @returns ineligible with all hard reasons; otherwise risky with all soft reasons; otherwise eligible without reasons.
 *   Source: docs/quality.md, "Who may use a rung".
 */
export function judgeRung(rung: JudgedRung, facts: ClientFacts): Rating {
  const hard = hardReasons(rung, facts);
  if (hard.length > 0) return { eligibility: 'ineligible', reasons: hard };
  const soft = softReasons(rung, facts.probe);
  return { eligibility: soft.length > 0 ? 'risky' : 'eligible', reasons: soft };
}

function hardReasons(rung: JudgedRung, { probe, failures, hostCodecs }: ClientFacts): Reason[] {
  const reasons: Reason[] = [];
  if (probe?.bandwidth_kbps != null && probe.bandwidth_kbps < rung.min_offer_bandwidth_kbps) {
    reasons.push({
      code: 'bandwidth_too_low',
      message: `Measured ${Math.floor(probe.bandwidth_kbps)} kbit/s; at least ${rung.min_offer_bandwidth_kbps} are needed.`,
    });
  }
  if (probe?.rtt_ms != null && rung.max_startup_rtt_ms > 0 && probe.rtt_ms > rung.max_startup_rtt_ms) {
    reasons.push({
      code: 'rtt_too_high',
      message: `Measured a round trip of ${Math.ceil(probe.rtt_ms)} ms; at most ${rung.max_startup_rtt_ms} ms are allowed.`,
    });
  }
  if (probe?.max_decode_height != null && probe.max_decode_height < rung.min_decode_height) {
    reasons.push({
      code: 'decode_height_too_low',
      message: `This device decodes ${Math.floor(probe.max_decode_height)} lines; ${rung.min_decode_height} are needed.`,
    });
  }
  if (probe && rung.codec !== 'h264' && !probe.codecs[rung.codec]) {
    reasons.push({
      code: 'codec_not_supported',
      message: `This device does not decode ${CODEC_NAMES[rung.codec]}.`,
    });
  }
  if (hostCodecs && !hostCodecs.includes(rung.codec)) {
    reasons.push({
      code: 'host_encoder_not_supported',
      message: `The host does not encode ${CODEC_NAMES[rung.codec]}.`,
    });
  }
  if (failures.some((failure) => failure.stream_profile_id === rung.id && failure.codec === rung.codec)) {
    reasons.push(FAILED_BEFORE);
  }
  return reasons;
}

function softReasons(rung: JudgedRung, probe: ClientProbe | null): Reason[] {
  const reasons: Reason[] = [];
  if (probe?.bandwidth_kbps != null && probe.bandwidth_kbps < rung.recommended_offer_bandwidth_kbps) {
    reasons.push({
      code: 'bandwidth_too_low',
      message: `Measured ${Math.floor(probe.bandwidth_kbps)} kbit/s; ${rung.recommended_offer_bandwidth_kbps} are recommended.`,
    });
  }
  if (rung.browser_client === 'risky') {
    reasons.push({
      code: 'browser_playout_unsupported',
      message: 'Browsers often cannot keep up with this quality.',
    });
  }
  if (rung.high_refresh_display === 'required') {
    const refresh = probe?.display_refresh_hz ?? null;
    if (refresh === null) {
      reasons.push({
        code: 'display_refresh_unknown',
        message: `It is not known whether the display shows ${rung.fps} pictures per second.`,
      });
    } else if (refresh < REFRESH_TOLERANCE * rung.fps) {
      reasons.push({
        code: 'display_refresh_too_low',
        message: `The display shows only ${Math.floor(refresh)} of ${rung.fps} pictures per second.`,
      });
    }
  }
  return reasons;
}

/**
 * Whether a client can play a launch profile. Its verdict is the verdict of its first rung, but risky if only a later
 * rung works. A recorded failure of the profile itself, or of its floor, makes the profile ineligible.
 * @param chain best rung first, each with its verdict
 */
export function judgeLaunchProfile(
  id: string,
  chain: readonly (Pick<JudgedRung, 'id' | 'codec'> & Rating)[],
  failures: readonly ClientFailure[],
): Rating {
  const floorId = floorOf(chain)?.id ?? null;
  if (failures.some((failure) => isAgainst(id, floorId, failure))) {
    return { eligibility: 'ineligible', reasons: [FAILED_BEFORE] };
  }
  const first = chain[0];
  if (first === undefined) return { eligibility: 'ineligible', reasons: [] };
  const fallsBack =
    first.eligibility === 'ineligible' && chain.some((rung) => rung.eligibility !== 'ineligible');
  return { eligibility: fallsBack ? 'risky' : first.eligibility, reasons: first.reasons };
}

function isAgainst(profileId: string, floorId: string | null, failure: ClientFailure): boolean {
  if (failure.launch_profile_id === profileId && (failure.codec === 'h264' || failure.codec === null))
    return true;
  return floorId !== null && failure.stream_profile_id === floorId && failure.codec === 'h264';
}

const FAILED_BEFORE: Reason = {
  code: 'historical_client_performance_failed',
  message: 'This device could not keep up with it in the last 30 days.',
};
