/** Builds the explanation of a placement for administrators: candidates and refusals. Pure. */
import { ERRORS, type ErrorCode, type Placement } from '@footlight/protocol/rest';
import { freshVramFree, type GpuFacts, type PlacementDecision, type PlacementSettings } from './placement.ts';

/** Maximum candidates and refusals in a stored explanation. The first candidates show why a GPU was chosen. */
const MAX_KEPT_CANDIDATES = 16;
const MAX_KEPT_REFUSALS = 48;

/**
 * Explains a decision with the facts at the time of the call. The outcome is `placed`; the codec decision is added
 * later.
 * @param whole false: only the first entries of each list, for storage
 */
export function explain(
  { candidates, refusals }: Pick<PlacementDecision, 'candidates' | 'refusals'>,
  settings: PlacementSettings,
  nowMs: number,
  whole: boolean,
): Placement {
  return {
    outcome: 'placed',
    status: 201,
    candidates: (whole ? candidates : candidates.slice(0, MAX_KEPT_CANDIDATES)).map((gpu) =>
      explainCandidate(gpu, settings, nowMs),
    ),
    refusals: whole ? refusals : refusals.slice(0, MAX_KEPT_REFUSALS),
    codec_decision: null,
  };
}

/** @param explanation null: the launch was refused before the choice of a GPU */
export const explainRefusal = (code: ErrorCode, explanation: Placement | null): Placement => ({
  candidates: [],
  refusals: [],
  codec_decision: null,
  ...explanation,
  outcome: code,
  status: ERRORS[code].status,
});

function explainCandidate(
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
