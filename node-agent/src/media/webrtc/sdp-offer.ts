/** Extends the WebRTC library's offer: codec parameters, feedback, header extensions. Pure. */

import type { Codec } from '@footlight/protocol';
import type { StreamSpec } from '@footlight/protocol/agent';
import { EXTENSION_ID, EXTENSION_URI, type ExtensionName } from './rtp-extensions.ts';

/** Dynamic payload types (RFC 3551, 6: 96 to 127); 111 is the number that Chromium uses for Opus. */
export const VIDEO_PAYLOAD_TYPE = 96;
export const AUDIO_PAYLOAD_TYPE = 111;
/** Differs from the payload type of sound, because within a bundle a payload type has only one set of parameters. */
export const MIC_PAYLOAD_TYPE = 112;
/** RFC 6184, 8.2.1 (H.264); RFC 7587, 4.1 and 7 (Opus, with its parameters). */
export const VIDEO_CLOCK_HZ = 90_000;
export const AUDIO_CLOCK_HZ = 48_000;
export const MIC_FMTP = 'minptime=10;useinbandfec=1';
export const AUDIO_FMTP = 'stereo=1;sprop-stereo=1;useinbandfec=1;minptime=10';

/** Codec names in SDP. */
export const CODEC_NAME: Readonly<Record<Codec, string>> = { h264: 'H264', h265: 'H265', av1: 'AV1' };

type VideoStream = Pick<StreamSpec, 'width' | 'height' | 'fps' | 'codec' | 'h264_profile'>;

interface LevelRow {
  /** Luma samples per frame and per second that the level allows; both limits apply. */
  pixels: number;
  rates: readonly { pixels: number; fps: number }[];
  h264: string;
  h265: number;
  av1: number;
}

const HD = 1280 * 720;
const FULL_HD = 1920 * 1080;
const QUAD_HD = 2560 * 1440;
const UHD = 3840 * 2160;

/** Levels in the form used in SDP. Source: H.264, table A-1; H.265, A.4; AV1 specification, A.3. */
const LEVELS: readonly Omit<LevelRow, 'pixels'>[] = [
  { rates: [{ pixels: HD, fps: 30 }], h264: '1f', h265: 93, av1: 5 },
  { rates: [{ pixels: HD, fps: 60 }], h264: '20', h265: 120, av1: 8 },
  {
    rates: [
      { pixels: FULL_HD, fps: 60 },
      { pixels: HD, fps: 120 },
    ],
    h264: '2a',
    h265: 123,
    av1: 9,
  },
  {
    rates: [
      { pixels: FULL_HD, fps: 120 },
      { pixels: QUAD_HD, fps: 60 },
    ],
    h264: '33',
    h265: 150,
    av1: 12,
  },
  {
    rates: [
      { pixels: QUAD_HD, fps: 120 },
      { pixels: UHD, fps: 60 },
    ],
    h264: '34',
    h265: 153,
    av1: 13,
  },
];
const LARGEST = { h264: '34', h265: 156, av1: 14 } as const;

const PROFILE_PREFIX = { 'constrained-baseline': '42e0', main: '4d00', high: '6400' } as const;

/** Lowest level that allows a stream's size and frame rate. */
export function videoLevel(stream: VideoStream): { h264: string; h265: number; av1: number } {
  const pixels = stream.width * stream.height;
  const row = LEVELS.find(({ rates }) =>
    rates.some((rate) => pixels <= rate.pixels && stream.fps <= rate.fps),
  );
  return row ?? LARGEST;
}

/** fmtp parameters of the session's codec. */
export function videoFmtp(stream: VideoStream): string {
  const level = videoLevel(stream);
  if (stream.codec === 'h265') return `profile-id=1;tier-flag=0;tx-mode=SRST;level-id=${level.h265}`;
  if (stream.codec === 'av1') return `profile=0;tier=0;level-idx=${level.av1}`;
  const profile = PROFILE_PREFIX[stream.h264_profile] + level.h264;
  return `packetization-mode=1;level-asymmetry-allowed=1;profile-level-id=${profile}`;
}

/** Attribute lines of the video m-line, without line ends. */
export function videoAttributes(): string[] {
  return [
    `a=rtcp-fb:${VIDEO_PAYLOAD_TYPE} transport-cc`,
    `a=rtcp-fb:${VIDEO_PAYLOAD_TYPE} ccm fir`,
    // Browsers use rrtr without confirming it in the answer: they send their time and measure the round trip.
    `a=rtcp-fb:${VIDEO_PAYLOAD_TYPE} rrtr`,
    ...extensionLines(['playoutDelay', 'captureTime', 'transportSequence']),
  ];
}

/** Attribute lines for the audio m-line. */
export function audioAttributes(): string[] {
  return [
    `a=rtcp-fb:${AUDIO_PAYLOAD_TYPE} transport-cc`,
    ...extensionLines(['playoutDelay', 'captureTime', 'transportSequence']),
  ];
}

function extensionLines(names: readonly ExtensionName[]): string[] {
  return names.map((name) => `a=extmap:${EXTENSION_ID[name]} ${EXTENSION_URI[name]}`);
}

const DATA_MID = 'data';

/**
 * Renames the data m-line of the library's offer to `data`, and removes the lip-sync group (`a=group:LS`, RFC 5888
 * section 7): with this group, browsers delay video until the audio arrives.
 * @returns the new offer, and the library's mid of the data m-line
 */
export function renameDataMid(sdp: string): { sdp: string; dataMid: string } {
  const lines = sdp.split(/\r?\n/);
  const start = lines.findIndex((line) => line.startsWith('m=application'));
  const midLine = start < 0 ? undefined : lines.slice(start).find((line) => line.startsWith('a=mid:'));
  const dataMid = midLine?.slice('a=mid:'.length) ?? DATA_MID;
  const renamed = lines
    .filter((line) => !line.startsWith('a=group:LS'))
    .map((line) => {
      if (line === `a=mid:${dataMid}`) return `a=mid:${DATA_MID}`;
      if (!line.startsWith('a=group:BUNDLE')) return line;
      return line
        .split(' ')
        .map((mid) => (mid === dataMid ? DATA_MID : mid))
        .join(' ');
    });
  return { sdp: renamed.join('\r\n'), dataMid };
}

/** Reverses `renameDataMid` in an answer: replaces `data` by the library's mid of the data m-line. */
export function restoreDataMid(sdp: string, dataMid: string): string {
  return sdp
    .split(/\r?\n/)
    .map((line) => {
      if (line === `a=mid:${DATA_MID}`) return `a=mid:${dataMid}`;
      if (!line.startsWith('a=group:BUNDLE')) return line;
      return line
        .split(' ')
        .map((mid) => (mid === DATA_MID ? dataMid : mid))
        .join(' ');
    })
    .join('\r\n');
}
