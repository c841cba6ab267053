/** Explanation of a placement for administrators: candidates and refusals. Pure. */
import { type CodecDecision, ERRORS, type ErrorCode, type Placement } from '@footlight/protocol/rest';
import {
  freshVramFree,
  type GpuFacts,
  type Placement as Judged,
  type PlacementSettings,
} from './placement.ts';

/** Bound of a stored explanation. The first candidates show why a GPU was chosen. */
export const MAX_KEPT_CANDIDATES = 16;
export const MAX_KEPT_REFUSALS = 48;

const NOTHING: Pick<Judged, 'candidates' | 'refusals'> = { candidates: [], refusals: [] };

/** @param code refusal of the launch; null: it was placed */
export function explain(
  code: ErrorCode | null,
  judged: Pick<Judged, 'candidates' | 'refusals'> | null,
  decision: CodecDecision | null,
  settings: PlacementSettings,
  nowMs: number,
): Placement {
  const { candidates, refusals } = judged ?? NOTHING;
  return {
    outcome: code ?? 'placed',
    status: code === null ? 201 : ERRORS[code].status,
    candidates: candidates.map((gpu) => candidate(gpu, settings, nowMs)),
    refusals,
    codec_decision: decision,
  };
}

function candidate(
  gpu: GpuFacts,
  settings: PlacementSettings,
  nowMs: number,
): Placement['candidates'][number] {
  return {
    host_id: gpu.host.host_id,
    node_name: gpu.host.node_name,
    gpu_id: gpu.gpu_id,
    gpu_index: gpu.gpu_index,
    free_slots: gpu.slots_total - gpu.slots_used,
    vram_mb_free: freshVramFree(gpu, settings, nowMs),
    active_sessions: gpu.active_sessions,
  };
}

/** The stored explanation: the first entries of each list. The codec decision is added later. */
export const explainPlaced = (
  { candidates, refusals }: Pick<Judged, 'candidates' | 'refusals'>,
  settings: PlacementSettings,
  nowMs: number,
): Placement =>
  explain(
    null,
    {
      candidates: candidates.slice(0, MAX_KEPT_CANDIDATES),
      refusals: refusals.slice(0, MAX_KEPT_REFUSALS),
    },
    null,
    settings,
    nowMs,
  );
