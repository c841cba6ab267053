/** Decides which encoder is used to warm up an image. Pure. */
import type { Codec, EncoderFamily } from '@footlight/protocol';
import type { EncoderInfo } from '@footlight/protocol/agent';

/** An encoder of one GPU. */
export interface WarmUpTarget {
  gpuIndex: number;
  codec: Codec;
}

/**
 * One target for each image. A session may be placed on any GPU whose encoder works, so the images are distributed over
 * these GPUs. The codec is H.264, because every viewer can play it. If H.264 does not work, it is the first codec that
 * works.
 * @param images number of images
 * @param family encoder family of the host's sessions
 * @returns the targets; empty: no encoder of the family works
 */
export function planWarmUp(
  images: number,
  family: EncoderFamily,
  encoders: readonly EncoderInfo[],
): WarmUpTarget[] {
  const working = encoders.filter((info) => info.family === family && info.available);
  const gpus = [...new Set(working.map(({ gpu_index }) => gpu_index))].sort((a, b) => a - b);
  if (gpus.length === 0) return [];
  return Array.from({ length: images }, (_, n) => {
    const gpuIndex = gpus[n % gpus.length] as number;
    const codecs = working.filter(({ gpu_index }) => gpu_index === gpuIndex).map(({ codec }) => codec);
    return { gpuIndex, codec: codecs.includes('h264') ? 'h264' : (codecs[0] as Codec) };
  });
}
