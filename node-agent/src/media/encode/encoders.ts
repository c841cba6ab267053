/**
 * The table of encoders: family × codec → GStreamer elements, properties with units, how the bitrate changes while
 * running, and requirements of the host. A new encoder needs only a new row, because other code does not branch on a
 * family.
 *
 * Source: element pages of the GStreamer documentation, 1.22 to 1.28 (plugins openh264, va, nvcodec, vulkan).
 * docs/media.md shows the table.
 */

import { availableParallelism } from 'node:os';
import type { PropertyValue } from '@footlight/gst';
import type { Codec, EncoderFamily, H264Profile } from '@footlight/protocol';
import type { MediaSettings } from '../session/media-settings.ts';

export type EncoderVendor = 'amd' | 'intel' | 'nvidia' | 'software' | 'other';

export interface EncodeTarget {
  width: number;
  height: number;
  fps: number;
  bitrateKbps: number;
  h264Profile: H264Profile;
  /** DRM render node of the GPU; null: software encoding. */
  renderNode: string | null;
  settings: MediaSettings;
}

/** Names of values that the session provides, in the unit of the property. */
export type Quantity =
  /** Frames between keyframes. */
  | 'gop'
  /** Number of slices of a picture. */
  | 'slices'
  /** Number of slices of a picture, for an encoder with one thread per slice. */
  | 'slices_by_thread'
  /** Number of threads. */
  | 'threads'
  /** VA-API's scale: 1 best picture … 7 fastest. */
  | 'target_usage'
  /** The same scale for NVENC's presets: p7 best … p1 fastest. Before GStreamer 1.24 the presets have names. */
  | 'nvenc_preset';

/** A constant, or a value from the session. */
export type PropertySetting = PropertyValue | { of: Quantity };

export interface BitrateProperties {
  /** Property of the target bitrate. */
  property: string;
  unit: 'bit/s' | 'kbit/s';
  /** Whether the property can change while the encoder runs. */
  live: boolean;
  /**
   * Property of the rate control's buffer in kbit, which is set together with the bitrate; null: the element has no
   * such property.
   */
  buffer: string | null;
}

/** A GStreamer element of a row. */
export interface EncoderElement {
  /** Name of the element on the first GPU. */
  name: string;
  /**
   * Name of the element on another GPU: {node} is replaced by the render node's name, {device} by CUDA's GPU number.
   * null: one element serves all GPUs.
   */
  named: string | null;
  /** Whether the force-key-unit event causes a keyframe. If not, the encoder is set to one keyframe per second. */
  keyframesOnRequest: boolean;
  /** First GStreamer release that contains the element; 1.22 (Debian 12) if the element is older. */
  since: string;
  properties: Readonly<Record<string, PropertySetting>>;
  rate: BitrateProperties;
}

export interface EncoderRow {
  family: EncoderFamily;
  codec: Codec;
  /** GPU vendors for which the row is tried. */
  vendors: readonly EncoderVendor[];
  /** Elements, best first; a host uses the first one that is installed. */
  elements: readonly EncoderElement[];
  /** Elements between system memory and the encoder, in gst-launch syntax; "": none is needed. */
  upload: string;
  /** Raw input format of the encoder. */
  format: 'I420' | 'NV12';
  /** Whether the size can change without a new pipeline. */
  liveResize: boolean;
  /** H.264 profiles; empty for other codecs. */
  h264Profiles: readonly H264Profile[];
}

/** The plugin and packages that provide a family's elements. */
export interface FamilySource {
  /** GStreamer plugin and its Debian package. */
  plugin: string;
  package: string;
  /** Driver that the plugin needs, with its Debian packages; null: no driver is needed. */
  driver: { what: string; packages: readonly string[] } | null;
}

export const FAMILY_SOURCES: Readonly<Record<EncoderFamily, FamilySource>> = {
  openh264: { plugin: 'openh264', package: 'gstreamer1.0-plugins-bad', driver: null },
  va: {
    plugin: 'va',
    package: 'gstreamer1.0-plugins-bad',
    driver: {
      what: 'a GPU of Intel or AMD and its VA-API driver',
      packages: ['mesa-va-drivers (AMD)', 'intel-media-va-driver-non-free (Intel, from non-free)'],
    },
  },
  nvenc: {
    plugin: 'nvcodec',
    package: 'gstreamer1.0-plugins-bad',
    driver: {
      what: 'an NVIDIA GPU with an encoder, and the driver’s encoding library',
      packages: ['nvidia-driver libnvidia-encode1 (from non-free)'],
    },
  },
  vulkan: {
    plugin: 'vulkan',
    package: 'gstreamer1.0-plugins-bad',
    driver: {
      what: 'a GPU whose Vulkan driver encodes video',
      packages: ['mesa-vulkan-drivers (AMD, Intel)', 'nvidia-vulkan-icd (NVIDIA, from non-free)'],
    },
  },
};

const ALL_PROFILES: readonly H264Profile[] = ['constrained-baseline', 'main', 'high'];

const OPENH264: EncoderElement = {
  name: 'openh264enc',
  named: null,
  since: '1.22',
  keyframesOnRequest: true,
  properties: {
    // camera, because usage-type=screen takes twice the time on moving pictures of 720p.
    'usage-type': 'camera',
    complexity: 'low',
    'rate-control': 'bitrate',
    'gop-size': { of: 'gop' },
    // Off, because frame skipping would lower the frame rate instead of the quality.
    'enable-frame-skip': false,
    'scene-change-detection': false,
    'background-detection': false,
    'adaptive-quantization': false,
    'multi-thread': { of: 'threads' },
    'slice-mode': 'n-slices',
    'num-slices': { of: 'slices_by_thread' },
  },
  rate: { property: 'bitrate', unit: 'bit/s', live: true, buffer: null },
};

const VA_COMMON = {
  'rate-control': 'cbr',
  'key-int-max': { of: 'gop' },
  'ref-frames': 1,
  'target-usage': { of: 'target_usage' },
} as const;

const VA_RATE: BitrateProperties = { property: 'bitrate', unit: 'kbit/s', live: true, buffer: 'cpb-size' };

/** Two elements per codec, because some Intel GPUs contain only the low-power encoder. */
function vaElements(
  codec: Codec,
  since: string,
  properties: Record<string, PropertySetting>,
): EncoderElement[] {
  return ['', 'lp'].map((variant) => ({
    name: `va${codec}${variant}enc`,
    named: `va{node}${codec}${variant}enc`,
    since,
    keyframesOnRequest: true,
    properties: { ...VA_COMMON, ...properties },
    rate: VA_RATE,
  }));
}

function nvencElement(codec: Codec, since: string): EncoderElement {
  return {
    name: `nv${codec}enc`,
    named: `nv${codec}device{device}enc`,
    since,
    keyframesOnRequest: true,
    properties: {
      preset: { of: 'nvenc_preset' },
      tune: 'ultra-low-latency',
      'rc-mode': 'cbr',
      zerolatency: true,
      'gop-size': { of: 'gop' },
      bframes: 0,
      'rc-lookahead': 0,
    },
    rate: { property: 'bitrate', unit: 'kbit/s', live: true, buffer: 'vbv-buffer-size' },
  };
}

const VULKAN_H264: EncoderElement = {
  name: 'vulkanh264enc',
  named: 'vulkanh264device{device}enc',
  since: '1.28',
  keyframesOnRequest: true,
  properties: {
    'rate-control': 'cbr',
    'idr-period': { of: 'gop' },
    'b-frames': 0,
    'num-ref-frames': 1,
    aud: false,
  },
  rate: { property: 'bitrate', unit: 'kbit/s', live: true, buffer: null },
};

const OPENH264_ROW = {
  family: 'openh264',
  vendors: ['software', 'amd', 'intel', 'nvidia', 'other'],
  upload: '',
  format: 'I420',
  liveResize: true,
} as const;
const VA_ROW = {
  family: 'va',
  vendors: ['intel', 'amd', 'other'],
  upload: '',
  format: 'NV12',
  liveResize: false,
} as const;
const NVENC_ROW = {
  family: 'nvenc',
  vendors: ['nvidia'],
  upload: '',
  format: 'NV12',
  liveResize: true,
} as const;
const VULKAN_ROW = {
  family: 'vulkan',
  vendors: ['amd', 'intel', 'nvidia'],
  upload: 'vulkanupload',
  format: 'NV12',
  liveResize: false,
} as const;

/** H.264 and H.265 have slices. AV1 has tiles instead, and one tile is enough at these sizes. */
const VA_SLICED = { 'b-frames': 0, 'num-slices': { of: 'slices' } } as const;
/** 1: a golden frame group without references to later frames, which needs no reordering. */
const VA_AV1 = { 'hierarchical-level': 1 } as const;

export const ENCODERS: EncoderRow[] = [
  { ...OPENH264_ROW, codec: 'h264', elements: [OPENH264], h264Profiles: ALL_PROFILES },
  { ...VA_ROW, codec: 'h264', elements: vaElements('h264', '1.22', VA_SLICED), h264Profiles: ALL_PROFILES },
  { ...VA_ROW, codec: 'h265', elements: vaElements('h265', '1.22', VA_SLICED), h264Profiles: [] },
  { ...VA_ROW, codec: 'av1', elements: vaElements('av1', '1.24', VA_AV1), h264Profiles: [] },
  { ...NVENC_ROW, codec: 'h264', elements: [nvencElement('h264', '1.22')], h264Profiles: ALL_PROFILES },
  { ...NVENC_ROW, codec: 'h265', elements: [nvencElement('h265', '1.22')], h264Profiles: [] },
  { ...NVENC_ROW, codec: 'av1', elements: [nvencElement('av1', '1.26')], h264Profiles: [] },
  { ...VULKAN_ROW, codec: 'h264', elements: [VULKAN_H264], h264Profiles: ALL_PROFILES },
];

/** Combinations that have no row, with the reason. */
export const WITHOUT_ENCODER: readonly { family: EncoderFamily; codec: Codec; why: string }[] = [
  { family: 'openh264', codec: 'h265', why: 'OpenH264 encodes H.264 only' },
  { family: 'openh264', codec: 'av1', why: 'OpenH264 encodes H.264 only' },
  { family: 'vulkan', codec: 'h265', why: 'GStreamer has no Vulkan encoder for H.265 (up to 1.28)' },
  { family: 'vulkan', codec: 'av1', why: 'GStreamer has no Vulkan encoder for AV1 (up to 1.28)' },
];

/** @returns undefined when the family lacks the codec */
export function encoderRow(family: EncoderFamily, codec: Codec): EncoderRow | undefined {
  return ENCODERS.find((row) => row.family === family && row.codec === codec);
}

/**
 * Number of threads. A software encoder shares the CPU with the app; at these sizes, more threads only add context
 * switches.
 */
function threads(): number {
  return Math.min(4, availableParallelism());
}

/** @returns values in the order in which they are tried; several if GStreamer releases differ */
function quantity(of: Quantity, element: EncoderElement, { settings, fps }: EncodeTarget): PropertyValue[] {
  switch (of) {
    case 'gop':
      return [element.keyframesOnRequest ? settings.gop : Math.min(settings.gop, fps)];
    case 'slices':
      return [settings.slices];
    case 'slices_by_thread':
      return [Math.min(settings.slices, threads())];
    case 'threads':
      return [threads()];
    case 'target_usage':
      return [settings.target_usage];
    case 'nvenc_preset':
      return [`p${8 - settings.target_usage}`, 'low-latency-hq'];
  }
}

/** Properties of an element except its bitrate. The values of a property are in the order in which they are tried. */
export function propertyValues(
  element: EncoderElement,
  target: EncodeTarget,
): { name: string; values: PropertyValue[] }[] {
  return Object.entries(element.properties).map(([name, setting]) => ({
    name,
    values: typeof setting === 'object' ? quantity(setting.of, element, target) : [setting],
  }));
}

/**
 * Number of frames in the rate control's buffer. With a larger buffer, a keyframe could be too large and wait in the
 * link's queue.
 */
const BUFFERED_FRAMES = 2;

/** Properties that belong to a bitrate, in their units. All of them are set when the bitrate changes. */
export function rateProperties(
  { rate }: EncoderElement,
  bitrateKbps: number,
  fps: number,
): Record<string, number> {
  const values = { [rate.property]: rate.unit === 'bit/s' ? bitrateKbps * 1000 : bitrateKbps };
  if (rate.buffer !== null)
    values[rate.buffer] = Math.max(1, Math.round((bitrateKbps * BUFFERED_FRAMES) / fps));
  return values;
}

/** Caps after the encoder, which select the profile. */
export function encodedCaps({ codec }: EncoderRow, profile: H264Profile): string {
  return codec === 'h264' ? `video/x-h264,profile=${profile}` : `video/x-${codec}`;
}
