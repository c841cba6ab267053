import type { CodecDecision, PlacementRefusal } from '@footlight/protocol/rest';

/** One line for each reason why a host cannot run a launch. GPUs of a host with the same reason share one line. */
export function refusalLines(refusals: readonly PlacementRefusal[]): string[] {
  const gpusByLine = new Map<string, number>();
  for (const refusal of refusals) {
    const line = refusalLabel(refusal);
    gpusByLine.set(line, (gpusByLine.get(line) ?? 0) + 1);
  }
  const ofGpus = new Set(refusals.filter(({ rule }) => GPU_RULES.has(rule)).map(refusalLabel));
  return [...gpusByLine].map(([line, gpus]) =>
    gpus > 1 && ofGpus.has(line) ? `${line}, on each of ${gpus} GPUs` : line,
  );
}

/** Rules about a single GPU, so one GPU of a host may fail and another may pass. */
const GPU_RULES: ReadonlySet<PlacementRefusal['rule']> = new Set(['encoder_binding', 'slots', 'vram']);

function refusalLabel({ node_name, rule, have, need }: PlacementRefusal): string {
  return `${node_name}: ${REFUSALS[rule](String(have ?? 'none'), String(need ?? 'none'))}`;
}

const REFUSALS: Readonly<Record<PlacementRefusal['rule'], (have: string, need: string) => string>> = {
  online: (have) => `the host is ${have}`,
  capacity_detection: (have) => `its hardware report says: ${have}`,
  runtime: () => 'it does not run programs of the host',
  encoder_binding: (have, need) => `its encoder needs ${need}, this GPU is ${have}`,
  pin: () => 'the launch was pinned to another host',
  image: (have) => `the image is ${have} there`,
  slots: (have, need) => `${have} encode slots free, ${need} needed`,
  vram: (have, need) => `${have} MB of video memory to spare, ${need} MB needed`,
};

const CLAMPS: Readonly<Record<string, string>> = {
  host_encoder: 'the host does not encode it',
  client_decode: 'the device does not report that it decodes this codec',
  decode_height: 'more lines than the device decodes',
  decode_history: 'the device could not play this rung in time before',
  hardware_encoder: 'the host encodes in software',
  encoder_throughput: 'more pixels a second than the host encodes',
};

/** Why a rung was skipped; an unknown reason is shown unchanged. */
export const clampLabel = (clamp: string): string => CLAMPS[clamp] ?? clamp;

/** One sentence for each skipped rung, and for a rung that is used as the floor. */
export function passedOverLabel(decision: CodecDecision | null): { rungId: string; label: string }[] {
  return (decision?.considered ?? [])
    .filter((rung) => rung.rejected_by !== null)
    .map(({ rung_id, rejected_by, selected }) => ({
      rungId: rung_id,
      label: `${rung_id}: ${clampLabel(rejected_by ?? '')}${selected ? ', used nevertheless, because no other rung was possible' : ''}`,
    }));
}
