import type { CodecDecision, PlacementRefusal } from '@footlight/protocol/rest';

/** One sentence about a GPU that cannot take a launch. */
export function refusalWords({ node_name, rule, have, need }: PlacementRefusal): string {
  return `${node_name}: ${REFUSALS[rule](String(have ?? 'none'), String(need ?? 'none'))}`;
}

const REFUSALS: Readonly<Record<PlacementRefusal['rule'], (have: string, need: string) => string>> = {
  online: (have) => `the host is ${have}`,
  capacity_detection: (have) => `its hardware report says: ${have}`,
  runtime: () => 'it does not run programs of the host',
  encoder_binding: (have, need) => `its encoder needs ${need}, this GPU is ${have}`,
  pin: () => 'the launch was bound to another place',
  image: (have) => `the image is ${have} there`,
  slots: (have, need) => `${have} encode slots free, ${need} needed`,
  vram: (have, need) => `${have} MB of video memory to spare, ${need} MB needed`,
};

const CLAMPS: Readonly<Record<string, string>> = {
  host_encoder: 'the host does not encode it',
  client_decode: 'the device does not say that it decodes it',
  decode_height: 'more lines than the device decodes',
  decode_history: 'the device could not keep up with it before',
  hardware_encoder: 'the host encodes in software',
  encoder_throughput: 'more pixels a second than the host encodes',
};

/** Why a rung was skipped; an unknown reason is shown unchanged. */
export const clampWords = (clamp: string): string => CLAMPS[clamp] ?? clamp;

/** One sentence for each skipped rung, or for a rung used as the floor. */
export function passedOverWords(decision: CodecDecision | null): { rungId: string; words: string }[] {
  return (decision?.considered ?? [])
    .filter((rung) => rung.rejected_by !== null)
    .map(({ rung_id, rejected_by, selected }) => ({
      rungId: rung_id,
      words: `${rung_id}: ${clampWords(rejected_by ?? '')}${selected ? ', taken all the same since nothing else would do' : ''}`,
    }));
}
