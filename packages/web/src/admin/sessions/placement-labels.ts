import type { CodecDecision, PlacementRefusal } from '@footlight/protocol/rest';
import { msg, plural, t } from '../../i18n/translate.ts';

/** One line for each reason why a host cannot run a launch. GPUs of a host with the same reason share one line. */
export function refusalLines(refusals: readonly PlacementRefusal[]): string[] {
  const gpusByLine = new Map<string, number>();
  for (const refusal of refusals) {
    const line = refusalLabel(refusal);
    gpusByLine.set(line, (gpusByLine.get(line) ?? 0) + 1);
  }
  const ofGpus = new Set(refusals.filter(({ rule }) => GPU_RULES.has(rule)).map(refusalLabel));
  return [...gpusByLine].map(([line, gpus]) =>
    gpus > 1 && ofGpus.has(line)
      ? plural(gpus, '{line}, on {n} GPU', '{line}, on each of {n} GPUs', { line })
      : line,
  );
}

/** Rules about a single GPU, so one GPU of a host may fail and another may pass. */
const GPU_RULES: ReadonlySet<PlacementRefusal['rule']> = new Set(['encoder_binding', 'slots', 'vram']);

function refusalLabel({ node_name, rule, have, need }: PlacementRefusal): string {
  return `${node_name}: ${REFUSALS[rule](String(have ?? t('none')), String(need ?? t('none')))}`;
}

const NOT_ONLINE: Readonly<Record<string, string>> = {
  draining: msg('the host is draining'),
  offline: msg('the host is offline'),
  'out of reach': msg('the host is out of reach'),
};

const NOT_READY: Readonly<Record<string, string>> = {
  absent: msg('the image is absent there'),
  pulling: msg('the image is pulling there'),
  building: msg('the image is building there'),
  failed: msg('the image is failed there'),
};

const REFUSALS: Readonly<Record<PlacementRefusal['rule'], (have: string, need: string) => string>> = {
  online: (have) => t(NOT_ONLINE[have] ?? msg('the host is {state}'), { state: have }),
  capacity_detection: (have) => t('its hardware report says: {have}', { have }),
  runtime: () => t('it does not run programs of the host'),
  encoder_binding: (have, need) => t('its encoder needs {need}, this GPU is {have}', { need, have }),
  pin: () => t('the launch was pinned to another host'),
  image: (have) => t(NOT_READY[have] ?? msg('the image is {have} there'), { have }),
  slots: (have, need) => t('{have} encode slots free, {need} needed', { have, need }),
  vram: (have, need) => t('{have} MB of video memory to spare, {need} MB needed', { have, need }),
};

const CLAMPS: Readonly<Record<string, string>> = {
  host_encoder: msg('the host does not encode it'),
  client_decode: msg('the device does not report that it decodes this codec'),
  decode_height: msg('more lines than the device decodes'),
  decode_history: msg('the device could not play this rung in time before'),
  hardware_encoder: msg('the host encodes in software'),
  encoder_throughput: msg('more pixels a second than the host encodes'),
};

/** Why a rung was skipped; an unknown reason is shown unchanged. */
export const clampLabel = (clamp: string): string => t(CLAMPS[clamp] ?? clamp);

/** One sentence for each skipped rung, and for a rung that is used as the floor. */
export function passedOverLabel(decision: CodecDecision | null): { rungId: string; label: string }[] {
  return (decision?.considered ?? [])
    .filter((rung) => rung.rejected_by !== null)
    .map(({ rung_id, rejected_by, selected }) => {
      const reason = clampLabel(rejected_by ?? '');
      return {
        rungId: rung_id,
        label: selected
          ? t('{rung}: {reason}, used nevertheless, because no other rung was possible', {
              rung: rung_id,
              reason,
            })
          : `${rung_id}: ${reason}`,
      };
    });
}
