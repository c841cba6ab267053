/** Plans the cells of a run, and selects the rung that a cell measures. Pure. */
import type { Codec, EncoderFamily } from '@footlight/protocol';
import type { StreamProfile } from '@footlight/protocol/rest';
import { type ProfileWithRungs, toSessionCodec } from '../profiles/index.ts';
import type { CertifiedHost } from './store.ts';

/** A rung with the launch profile that it is measured for. */
export interface CertifiedRung {
  profileId: string;
  rung: StreamProfile;
}

export interface PlannedCell {
  profile_id: string;
  stream_profile_id: string;
  codec: Codec;
  bitrate_kbps: number;
}

/**
 * The cells of a run. Each rung occurs once, in the order of the request and of the chains, with ascending bitrates.
 * @param wanted ids of launch profiles (all rungs of their chains) and of rungs; unknown ids are skipped
 */
export function planCells(
  profiles: readonly ProfileWithRungs[],
  wanted: readonly string[],
  bitratesKbps: readonly number[],
): PlannedCell[] {
  const rungs = new Map<string, CertifiedRung>();
  for (const id of wanted)
    for (const found of rungsOf(profiles, id)) if (!rungs.has(found.rung.id)) rungs.set(found.rung.id, found);
  const bitrates = [...new Set(bitratesKbps)].sort((a, b) => a - b);
  return [...rungs.values()].flatMap(({ profileId, rung }) =>
    bitrates.map((bitrate_kbps) => ({
      profile_id: profileId,
      stream_profile_id: rung.id,
      codec: toSessionCodec(rung.codec),
      bitrate_kbps,
    })),
  );
}

function rungsOf(profiles: readonly ProfileWithRungs[], id: string): CertifiedRung[] {
  const chain = profiles.find(({ profile }) => profile.id === id);
  if (chain !== undefined) return chain.rungs.map((rung) => ({ profileId: id, rung }));
  const found = findRung(profiles, id);
  return found === null ? [] : [found];
}

/** The rung with the first launch profile that contains it; null: no chain contains the rung. */
function findRung(profiles: readonly ProfileWithRungs[], id: string): CertifiedRung | null {
  for (const { profile, rungs } of profiles) {
    const rung = rungs.find((candidate) => candidate.id === id);
    if (rung !== undefined) return { profileId: profile.id, rung };
  }
  return null;
}

/**
 * The rung of a cell: the named rung or, without a name, the first H.264 rung of the launch profile.
 * @returns the rung; or a text that explains why there is none
 */
export function rungOfCell(
  profiles: readonly ProfileWithRungs[],
  asked: { stream_profile_id?: string | undefined; profile_id?: string | undefined },
): CertifiedRung | string {
  const { stream_profile_id: rungId, profile_id: profileId } = asked;
  if (rungId !== undefined)
    return findRung(profiles, rungId) ?? 'stream_profile_id: there is no such rung in any launch profile';
  const chain = profiles.find(({ profile }) => profile.id === profileId);
  if (chain === undefined) return 'profile_id: there is no such launch profile';
  const rung = chain.rungs.find(({ codec }) => codec === 'h264');
  return rung === undefined
    ? 'profile_id: the launch profile has no H.264 rung'
    : { profileId: chain.profile.id, rung };
}

/** The reason why a host cannot encode this, as a sentence; null: the host can, or it never reported its encoders. */
export function cannotEncode(
  { codecs, encoders, node_name }: Pick<CertifiedHost, 'codecs' | 'encoders' | 'node_name'>,
  asked: { gpuIndex: number; encoder: EncoderFamily; codec: Codec },
): string | null {
  const { gpuIndex, encoder, codec } = asked;
  if (!(codecs ?? ['h264']).includes(codec)) return `${node_name} cannot encode ${codec}.`;
  if (encoders === null) return null;
  const isOffered = encoders.some(
    (row) => row.family === encoder && row.gpu_index === gpuIndex && row.codec === codec && row.available,
  );
  return isOffered ? null : `${node_name} cannot encode ${codec} with ${encoder} on GPU ${gpuIndex}.`;
}
