import type { ChainWarning, RungCodec } from '@footlight/protocol/rest';

/** The fields of a rung that the rules of chains need. */
export interface ChainRung {
  id: string;
  codec: RungCodec;
  min_offer_bandwidth_kbps: number;
  min_decode_height: number;
  hardware_encoder_required: boolean;
}

/**
 * Whether a chain contains an H.264 rung. Every client plays H.264; without such a rung a launch might find no usable
 * rung.
 */
export const hasFloor = (chain: readonly Pick<ChainRung, 'codec'>[]): boolean => floorOf(chain) !== null;

/** The last H.264 rung of a chain, best rung first; null in a chain without one. */
export function floorOf<Rung extends Pick<ChainRung, 'codec'>>(chain: readonly Rung[]): Rung | null {
  return chain.findLast((rung) => rung.codec === 'h264') ?? null;
}

/**
 * The rung of a launch: the first that passes every check, otherwise the last H.264 rung without checks, because a poor
 * picture is better than none; in a chain without H.264 the last rung.
 * @returns null for a chain without rungs
 */
export function chooseRung<Rung extends Pick<ChainRung, 'codec'>>(
  chain: readonly Rung[],
  passes: (rung: Rung) => boolean,
): { rung: Rung; floor: boolean } | null {
  const first = chain.find(passes);
  if (first !== undefined) return { rung: first, floor: false };
  const last = floorOf(chain) ?? chain.at(-1);
  return last === undefined ? null : { rung: last, floor: true };
}

/**
 * Warnings about a chain, best rung first. Its floor is used when no rung passes the checks, so the floor should be
 * last and have the lowest demands.
 */
export function warnAbout(chain: readonly ChainRung[]): ChainWarning[] {
  const floor = floorOf(chain);
  if (floor === null) return [];
  const warnings: ChainWarning[] = [];
  const last = chain.at(-1);
  if (last !== undefined && last !== floor) {
    warnings.push({
      code: 'h264_floor_not_last',
      message: `The last H.264 rung, ${floor.id}, is not the last of the chain: ${last.id} comes after it.`,
    });
  }
  const easier = chain.find((rung) => demandsLess(rung, floor));
  if (easier !== undefined) {
    warnings.push({
      code: 'floor_not_least_demanding',
      message: `The last H.264 rung, ${floor.id}, asks more than ${easier.id}, so it may fail where that one works.`,
    });
  }
  return warnings;
}

/** Whether the rung demands less than the floor in bandwidth, decoding or host encoding. */
function demandsLess(rung: ChainRung, floor: ChainRung): boolean {
  return (
    floor.min_offer_bandwidth_kbps > rung.min_offer_bandwidth_kbps ||
    floor.min_decode_height > rung.min_decode_height ||
    (floor.hardware_encoder_required && !rung.hardware_encoder_required)
  );
}
