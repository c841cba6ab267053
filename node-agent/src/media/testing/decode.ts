import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pipeline } from '@footlight/gst';
import type { Codec } from '@footlight/protocol';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { depacketizeAv1, toObuStream } from './av1-depacketizer.ts';

/** Packets, each with its length before it. Source: RFC 4571. */
function framed(packets: readonly Buffer[]): Buffer {
  return Buffer.concat(
    packets.flatMap((packet) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(packet.length);
      return [length, packet];
    }),
  );
}

/** Groups packets by frame (timestamp). The last frame is dropped, because it may be incomplete. */
export function framesOf(packets: readonly Buffer[]): Buffer[][] {
  const frames: Buffer[][] = [[]];
  for (const packet of packets) {
    frames.at(-1)?.push(packet);
    if (readRtpHeader(packet)?.marker) frames.push([]);
  }
  return frames.slice(0, -1);
}

const RTP_STREAM = 'application/x-rtp-stream,media=video,clock-rate=90000,payload=96,encoding-name';
const DECODERS: Readonly<Record<Codec, string>> = {
  h264: `${RTP_STREAM}=H264 ! rtpstreamdepay ! rtph264depay ! h264parse ! openh264dec`,
  h265: `${RTP_STREAM}=H265 ! rtpstreamdepay ! rtph265depay ! h265parse ! libde265dec`,
  av1: 'video/x-av1 ! av1parse ! av1dec',
};

/**
 * Decodes whole frames with GStreamer's depayloaders and decoders, and AV1 with the depayloader of these tests.
 * @param packets RTP packets in order, starting with a keyframe
 * @returns the middle pixel of each picture as red, green, blue
 */
export async function decodeMiddles(
  codec: Codec,
  packets: readonly Buffer[],
  size: { width: number; height: number },
  scratch: string,
): Promise<[number, number, number][]> {
  const file = join(scratch, `received.${codec}`);
  const frames = framesOf(packets);
  writeFileSync(
    file,
    codec === 'av1'
      ? Buffer.concat(frames.map((frame) => toObuStream(depacketizeAv1(frame))))
      : framed(frames.flat()),
  );
  const { width, height } = size;
  const pipeline = Pipeline.launch(
    `filesrc location=${file} ! ${DECODERS[codec]} ! videoconvert ! video/x-raw,format=RGBA,width=${width},height=${height} ! appsink name=out sync=false`,
  );
  try {
    await pipeline.setState('playing');
    const sink = pipeline.appSink('out');
    const middles: [number, number, number][] = [];
    for (;;) {
      const sample = await sink.pull(5_000);
      if (!sample) return middles;
      const pixels = sample.read()[0]?.data ?? Buffer.alloc(0);
      sample.release();
      const at = (Math.floor(height / 2) * width + Math.floor(width / 2)) * 4;
      middles.push([pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0]);
    }
  } finally {
    await pipeline.dispose();
    rmSync(file, { force: true });
  }
}
