/**
 * Computes the encoder throughput for one session, from which a picture size is chosen. Pure. Source: docs/quality.md,
 * "The recommendation".
 */

/** Encoder facts of one host. */
export interface HostEncoder {
  family: string;
  /** H.264 throughput, because every host encodes H.264; null: not measured. */
  mpixelS: number | null;
  /** Number of encode slots of all GPUs. */
  slots: number;
  /** Number of encode slots of the GPU with the fewest slots. */
  fewestSlots: number;
}

/**
 * One session's share of the best host's encoder, Mpixel/s.
 * @returns null: unknown, because no host is online or an online host was not measured
 */
export function decideEncoderBudget(hosts: readonly HostEncoder[]): number | null {
  let best: number | null = null;
  for (const { family, mpixelS, slots, fewestSlots } of hosts) {
    if (mpixelS === null || mpixelS <= 0) return null;
    // openh264 shares the CPU with the apps, and its slots belong to the whole host. Half of the throughput is left for
    // apps.
    const share = family === 'openh264' ? mpixelS / slots / 2 : mpixelS / fewestSlots;
    best = Math.max(best ?? 0, share);
  }
  return best;
}
