/** One GPU's sample as a heartbeat carries it; a value that could not be measured is left out, never 0. */
export interface ReportedVram {
  used_mb?: number | undefined;
  free_mb?: number | undefined;
}

/** A sample as it is stored: MB; null is unknown, never zero. */
export interface StoredVram {
  used: number | null;
  free: number | null;
}

const UNKNOWN: StoredVram = { used: null, free: null };
/** Drivers round used and free apart, so their sum may pass the total by a little. */
const SUM_TOLERANCE = 1.05;

/**
 * What of a VRAM sample can be believed. Drivers answer zeros or garbage after a fault, and admission must then know
 * nothing rather than something wrong.
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
