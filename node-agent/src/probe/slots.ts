import type { EncoderFamily } from '@footlight/protocol';

/** Throughput in megapixels per second that a 1280×720 stream with 60 frames per second needs. */
const MPIX_S_720P60 = 55.3;

/**
 * Number of encode slots of one GPU. Pure.
 *
 * A hardware encoder has a fixed number per family. For software encoding, it is the number of 720p60 streams that fit
 * into 70 % of the measured throughput, because apps need the cores too. This number is at least two and at most
 * sixteen.
 * @param configured SERVICE_ENCODE_SLOTS: one number for all GPUs, or one number per GPU index; null: the family
 * decides
 * @param mpixS measured megapixels per second; null: not measured
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
