import { availableParallelism } from 'node:os';
import type { PropertyValue } from '@footlight/gst';
import type { Codec, EncoderFamily, H264Profile } from '@footlight/protocol';
import type { MediaSettings } from './media-settings.ts';

/**
 * The encoders of the product as a table: family × codec → GStreamer elements, their properties, how the
 * bitrate changes live and what a host must have. A new encoder is a new row; nothing else branches on a family.
 */

export type EncoderVendor = 'amd' | 'intel' | 'nvidia' | 'software' | 'other';

export interface EncodeTarget {
  width: number;
  height: number;
  fps: number;
  bitrateKbps: number;
  h264Profile: H264Profile;
  /** DRM render node of the GPU; null for software. */
  renderNode: string | null;
  settings: MediaSettings;
}

export interface EncoderRow {
  family: EncoderFamily;
  codec: Codec;
  /** GPU vendors on which trying makes sense. */
  vendors: readonly EncoderVendor[];
  /** Element name; VA names the elements of a second GPU after its render node. */
  element(renderNode: string | null): string;
  /** Elements between raw system memory and the encoder, in gst-launch syntax; "" where none is needed. */
  upload: string;
  /** Raw format that the encoder takes without converting again. */
  format: 'I420' | 'NV12';
  properties(target: EncodeTarget): Record<string, PropertyValue>;
  /** Unit of the `bitrate` property, and whether it takes effect while playing. */
  bitrate: { unit: 'bit/s' | 'kbit/s'; live: boolean };
  /** Whether the size can change without a new pipeline. */
  liveResize: boolean;
  /** Profiles of H.264 rows; empty for the others. */
  h264Profiles: readonly H264Profile[];
  /** Caps of the encoded stream behind the parser. */
  parser: string;
  /** RTP payloader; null = this GStreamer has none, so the row cannot be offered. */
  payloader: string | null;
}

const ALL_PROFILES: readonly H264Profile[] = ['constrained-baseline', 'main', 'high'];

const PACKETIZATION: Record<Codec, Pick<EncoderRow, 'parser' | 'payloader'>> = {
  // config-interval -1: parameter sets in band with each keyframe. aggregate-mode none keeps one NAL a packet.
  h264: { parser: 'h264parse config-interval=-1', payloader: 'rtph264pay aggregate-mode=zero-latency' },
  h265: { parser: 'h265parse config-interval=-1', payloader: 'rtph265pay aggregate-mode=zero-latency' },
  av1: { parser: 'av1parse', payloader: null },
};

function renderNodeElement(prefix: string, suffix: string) {
  return (renderNode: string | null): string => {
    const node = renderNode?.split('/').pop();
    // The first GPU has the plain name, the others carry their node's.
    return node === undefined || node === 'renderD128' ? `${prefix}${suffix}` : `${prefix}${node}${suffix}`;
  };
}

/** A software encoder shares the host with the app: more threads than this only add switches at these sizes. */
function threads(): number {
  return Math.min(4, availableParallelism());
}

function openh264Row(): EncoderRow {
  return {
    family: 'openh264',
    codec: 'h264',
    vendors: ['software', 'amd', 'intel', 'nvidia', 'other'],
    element: () => 'openh264enc',
    upload: '',
    format: 'I420',
    properties: (target) => ({
      // On moving pictures of 720p the screen model takes twice the time of the camera model.
      'usage-type': 'camera',
      complexity: 'low',
      'rate-control': 'bitrate',
      'gop-size': target.settings.gop,
      // Skipping frames gives the frame rate away instead of the quality.
      'enable-frame-skip': false,
      'scene-change-detection': false,
      'background-detection': false,
      'adaptive-quantization': false,
      'multi-thread': threads(),
      'slice-mode': 'n-slices',
      'num-slices': Math.min(target.settings.slices, threads()),
    }),
    bitrate: { unit: 'bit/s', live: true },
    liveResize: true,
    h264Profiles: ALL_PROFILES,
    ...PACKETIZATION.h264,
  };
}

function vaRow(codec: Codec): EncoderRow {
  return {
    family: 'va',
    codec,
    vendors: ['intel', 'amd', 'other'],
    element: renderNodeElement('va', `${codec}enc`),
    upload: '',
    format: 'NV12',
    properties: (target) => ({
      'rate-control': 'cbr',
      'key-int-max': target.settings.gop,
      'b-frames': 0,
      'ref-frames': 1,
      'target-usage': target.settings.target_usage,
      // One frame of buffer keeps keyframes from queueing behind the link.
      'cpb-size': Math.max(1, Math.round((target.bitrateKbps * 2) / target.fps)),
      ...(codec === 'av1' ? {} : { 'num-slices': target.settings.slices }),
    }),
    bitrate: { unit: 'kbit/s', live: true },
    liveResize: false,
    h264Profiles: codec === 'h264' ? ALL_PROFILES : [],
    ...PACKETIZATION[codec],
  };
}

function nvencRow(codec: Codec): EncoderRow {
  return {
    family: 'nvenc',
    codec,
    vendors: ['nvidia'],
    element: () => `nv${codec}enc`,
    upload: '',
    format: 'NV12',
    properties: (target) => ({
      preset: 'low-latency-hq',
      'rc-mode': 'cbr',
      zerolatency: true,
      'gop-size': target.settings.gop,
      bframes: 0,
      'rc-lookahead': 0,
      'vbv-buffer-size': Math.max(1, Math.round((target.bitrateKbps * 2) / target.fps)),
    }),
    bitrate: { unit: 'kbit/s', live: true },
    liveResize: true,
    h264Profiles: codec === 'h264' ? ALL_PROFILES : [],
    ...PACKETIZATION[codec],
  };
}

function vulkanRow(codec: Codec): EncoderRow {
  return {
    family: 'vulkan',
    codec,
    vendors: ['amd', 'intel', 'nvidia'],
    element: () => `vulkan${codec}enc`,
    upload: 'vulkanupload',
    format: 'NV12',
    properties: (target) => ({
      'rate-control': 'cbr',
      'idr-period': target.settings.gop,
      'b-frames': 0,
      'ref-frames': 1,
      'num-slices': target.settings.slices,
    }),
    bitrate: { unit: 'kbit/s', live: true },
    liveResize: false,
    h264Profiles: codec === 'h264' ? ['constrained-baseline', 'main'] : [],
    ...PACKETIZATION[codec],
  };
}

export const ENCODERS: readonly EncoderRow[] = [
  openh264Row(),
  vaRow('h264'),
  vaRow('h265'),
  vaRow('av1'),
  nvencRow('h264'),
  nvencRow('h265'),
  nvencRow('av1'),
  vulkanRow('h264'),
  vulkanRow('h265'),
  vulkanRow('av1'),
];

/** @returns undefined where the family has no such codec */
export function encoderRow(family: EncoderFamily, codec: Codec): EncoderRow | undefined {
  return ENCODERS.find((row) => row.family === family && row.codec === codec);
}

/** A bitrate in the unit of the row's `bitrate` property. */
export function bitrateValue(row: EncoderRow, bitrateKbps: number): number {
  return row.bitrate.unit === 'bit/s' ? bitrateKbps * 1000 : bitrateKbps;
}

/** Caps behind the encoder: they choose the profile. */
export function encodedCaps(row: EncoderRow, profile: H264Profile): string {
  return row.codec === 'h264' ? `video/x-h264,profile=${profile}` : `video/x-${row.codec}`;
}
