/**
 * Importing this module adds software encoders for H.265 and AV1 to the table, so that tests can use both codecs end to
 * end without a GPU. The product does not import it; tests preload it into an agent that runs from source (see
 * `codecPreload`).
 *
 * Source: the pages of av1enc (plugin aom) and x265enc (plugin x265) in the GStreamer documentation.
 */

import { ENCODERS, type EncoderRow } from '../encode/encoders.ts';

const SOFTWARE = {
  family: 'openh264',
  vendors: ['software', 'amd', 'intel', 'nvidia', 'other'],
  upload: '',
  format: 'I420',
  liveResize: false,
  h264Profiles: [],
} as const;

export const CODEC_ENCODERS: readonly EncoderRow[] = [
  {
    ...SOFTWARE,
    codec: 'h265',
    elements: [
      {
        name: 'x265enc',
        named: null,
        since: '1.22',
        keyframesOnRequest: true,
        properties: {
          'speed-preset': 'ultrafast',
          tune: 'zerolatency',
          'key-int-max': { of: 'gop' },
          'option-string': 'bframes=0:ref=1:repeat-headers=1',
        },
        rate: { property: 'bitrate', unit: 'kbit/s', live: true, buffer: null },
      },
    ],
  },
  {
    ...SOFTWARE,
    codec: 'av1',
    elements: [
      {
        name: 'av1enc',
        named: null,
        since: '1.22',
        keyframesOnRequest: false,
        properties: {
          'usage-profile': 'realtime',
          'cpu-used': 10,
          'end-usage': 'cbr',
          // With the default 0, rate control could not change the quantizer.
          'max-quantizer': 63,
          'lag-in-frames': 0,
          'keyframe-max-dist': { of: 'gop' },
          threads: { of: 'threads' },
        },
        rate: { property: 'target-bitrate', unit: 'kbit/s', live: false, buffer: null },
      },
    ],
  },
];

ENCODERS.push(...CODEC_ENCODERS);
