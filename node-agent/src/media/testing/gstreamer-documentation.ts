/**
 * Properties of the table's elements in the GStreamer documentation: type, range or values, unit, and whether they can
 * change while the pipeline runs. Source: the pages of the plugins openh264, va, nvcodec and vulkan, releases 1.22 to
 * 1.28.
 */

export interface DocumentedProperty {
  /** Smallest and largest number, or the names of an enum's values; missing for booleans. */
  takes?: readonly [number, number] | readonly string[];
  unit?: 'bit/s' | 'kbit/s' | 'kbit';
  live?: true;
}

const UINT = [0, 2 ** 32 - 1] as const;
const RATE_CONTROLS = ['cbr', 'vbr', 'cqp', 'icq', 'qvbr', 'vcm'];

const VA: Record<string, DocumentedProperty> = {
  bitrate: { takes: [0, 2_048_000], unit: 'kbit/s', live: true },
  'cpb-size': { takes: [0, 2_048_000], unit: 'kbit', live: true },
  'key-int-max': { takes: [0, 1024] },
  'rate-control': { takes: RATE_CONTROLS },
  'target-usage': { takes: [1, 7], live: true },
};
const VA_H26X: Record<string, DocumentedProperty> = {
  ...VA,
  'b-frames': { takes: [0, 31] },
  'num-slices': { takes: [1, 200] },
  'ref-frames': { takes: [0, 15] },
};
const VA_AV1: Record<string, DocumentedProperty> = {
  ...VA,
  'hierarchical-level': { takes: [1, 6] },
  'ref-frames': { takes: [0, 7] },
};

const NVENC: Record<string, DocumentedProperty> = {
  bframes: { takes: [0, 4], live: true },
  bitrate: { takes: [0, 2_048_000], unit: 'kbit/s', live: true },
  'gop-size': { takes: [-1, 2 ** 31 - 1], live: true },
  preset: {
    takes: [
      'default',
      'hp',
      'hq',
      'low-latency',
      'low-latency-hq',
      'low-latency-hp',
      'lossless',
      'lossless-hp',
    ]
      // The names p1 to p7 exist since 1.24.
      .concat(['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7']),
    live: true,
  },
  'rc-lookahead': { takes: [0, 32] },
  'rc-mode': { takes: ['default', 'constqp', 'cbr', 'vbr', 'vbr-minqp', 'cbr-ld-hq', 'cbr-hq', 'vbr-hq'] },
  tune: { takes: ['default', 'high-quality', 'low-latency', 'ultra-low-latency', 'lossless'], live: true },
  'vbv-buffer-size': { takes: UINT, unit: 'kbit' },
  zerolatency: { live: true },
};

/** Properties by element name. */
export const GSTREAMER_DOCUMENTATION: Readonly<Record<string, Readonly<Record<string, DocumentedProperty>>>> =
  {
    openh264enc: {
      'adaptive-quantization': {},
      'background-detection': {},
      bitrate: { takes: UINT, unit: 'bit/s', live: true },
      complexity: { takes: ['low', 'medium', 'high'] },
      'enable-frame-skip': {},
      'gop-size': { takes: UINT },
      'multi-thread': { takes: UINT },
      'num-slices': { takes: UINT },
      'rate-control': { takes: ['quality', 'bitrate', 'buffer', 'off'] },
      'scene-change-detection': {},
      'slice-mode': { takes: ['n-slices', 'auto'] },
      'usage-type': { takes: ['camera', 'screen'] },
    },
    vah264enc: VA_H26X,
    vah264lpenc: VA_H26X,
    vah265enc: VA_H26X,
    vah265lpenc: VA_H26X,
    vaav1enc: VA_AV1,
    vaav1lpenc: VA_AV1,
    nvh264enc: NVENC,
    nvh265enc: NVENC,
    nvav1enc: NVENC,
    vulkanh264enc: {
      aud: {},
      'b-frames': { takes: [0, 31] },
      bitrate: { takes: UINT, unit: 'kbit/s', live: true },
      'idr-period': { takes: [0, 2 ** 30] },
      'num-ref-frames': { takes: [0, 16] },
      'rate-control': { takes: ['default', 'cqp', 'cbr', 'vbr'] },
    },
  };
