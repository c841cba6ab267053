/** One GPU's sample in a heartbeat; an unmeasured value is missing, never 0. */
export interface ReportedVram {
  used_mb?: number | undefined;
  free_mb?: number | undefined;
}

/** A stored sample: MB; null is unknown, never zero. */
export interface StoredVram {
  used: number | null;
  free: number | null;
}

const UNKNOWN: StoredVram = { used: null, free: null };
/** Drivers round used and free separately, so their sum may exceed the total slightly. */
const SUM_TOLERANCE = 1.05;

/**
 * The plausible part of a VRAM sample. Drivers return zeros or garbage after a fault; admission must then treat the
 * memory as unknown.
 * @param totalMb vram_mb_total of the GPU (MB)
 * @returns both null when any figure is implausible
 */
export function plausibleVram(sample: ReportedVram, totalMb: number): StoredVram {
  const used = sample.used_mb ?? null;
  const free = sample.free_mb ?? null;
  if ((used ?? 0) < 0 || (free ?? 0) < 0) return UNKNOWN;
  if (free !== null && free > totalMb) return UNKNOWN;
  if ((used ?? 0) + (free ?? 0) > SUM_TOLERANCE * totalMb) return UNKNOWN;
  if (used === 0 && free === 0 && totalMb > 0) return UNKNOWN;
  return { used, free };
}
