import type { EncoderFamily } from '@footlight/protocol';

/** Megapixels a second of a 1280×720 stream at 60 frames a second. */
const MPIX_S_720P60 = 55.3;

/**
 * Encode slots of one GPU. Pure.
 *
 * Hardware encoders have a fixed number per family. Software encoding has as many slots as 720p60 streams fit into 70 %
 * of the measured throughput, because apps use the cores too; at least two, at most sixteen.
 * @param configured SERVICE_ENCODE_SLOTS: one number for all GPUs or one per index; null = by family
 * @param mpixS measured megapixels a second; null = not measured
 */
export function encodeSlots(
  family: EncoderFamily,
  gpuIndex: number,
  configured: readonly number[] | null,
  mpixS: number | null,
): number {
  if (configured !== null) {
    return (configured.length === 1 ? configured[0] : configured[gpuIndex]) ?? slotsByFamily(family, mpixS);
  }
  return slotsByFamily(family, mpixS);
}

function slotsByFamily(family: EncoderFamily, mpixS: number | null): number {
  switch (family) {
    case 'nvenc':
      return 8;
    case 'va':
      return 4;
    case 'vulkan':
      return 2;
    case 'openh264':
      return Math.min(16, Math.max(2, Math.floor((0.7 * (mpixS ?? 0)) / MPIX_S_720P60)));
  }
}
