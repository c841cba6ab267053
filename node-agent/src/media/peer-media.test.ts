import type { Track } from 'node-datachannel';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EncodedFrame } from './encode/video-pipeline.ts';
import { PeerMedia } from './peer-media.ts';
import { readRtpHeader } from './rtp-packet.ts';

const IDR = 0x65;
const DELTA = 0x41;

let sent: Buffer[];
let wanted: number;
let media: PeerMedia;

beforeEach(() => {
  sent = [];
  wanted = 0;
  const track = {
    isOpen: () => true,
    onMessage: () => undefined,
    sendMessageBinary: (data: Buffer) => sent.push(data) > 0,
  } as unknown as Track;
  media = new PeerMedia({
    stream: {
      width: 1280,
      height: 720,
      fps: 60,
      bitrate_kbps: 8000,
      abr_floor_kbps: 0,
      codec: 'h264',
      h264_profile: 'constrained-baseline',
      playout0_ms: 50,
      audio: false,
      mic: false,
      rungs: [],
    },
    clock: { wallMs: () => 1_000, monotonicMs: () => 1_000 },
    cname: 'viewer',
    random32: () => 7,
    video: { track, ssrc: 1 },
    audio: null,
    onKeyframeWanted: () => {
      wanted++;
    },
  });
  media.accept(new Set(), null);
  vi.useFakeTimers();
});

afterEach(() => {
  media.close();
  vi.useRealTimers();
});

function frame(nal: number, number: number): EncodedFrame {
  const packet = Buffer.alloc(20);
  packet[0] = 0x80;
  packet[1] = 0x80 | 96;
  packet.writeUInt32BE(number, 4);
  packet[12] = nal;
  return {
    packets: [packet],
    rtpTimestamp: number,
    ptsMs: number,
    capturedAtMs: number,
    encodeMs: 1,
    bytes: packet.length,
  };
}

const timestamps = () =>
  sent.flatMap((data) => {
    const header = readRtpHeader(data);
    return header && header.payloadType === 96 ? [header.timestamp - 7] : [];
  });

test('before keys are there a keyframe is asked for and kept with what follows, and leaves with start()', () => {
  media.ready();
  expect(wanted).toBe(1);
  media.sendFrame(frame(DELTA, 1));
  media.sendFrame(frame(IDR, 2));
  expect(media.sendFrame(frame(DELTA, 3))).toBeNull();
  expect(sent).toEqual([]);
  media.start();
  expect(timestamps()).toEqual([2, 3]);
  expect(wanted).toBe(1);
  media.sendFrame(frame(DELTA, 4));
  expect(timestamps()).toEqual([2, 3, 4]);
});

test('without a kept keyframe start() asks for one, and nothing goes before it', () => {
  media.start();
  expect(wanted).toBe(1);
  media.sendFrame(frame(DELTA, 1));
  expect(sent).toEqual([]);
  media.sendFrame(frame(IDR, 2));
  expect(timestamps()).toEqual([2]);
});

test('a handshake that takes long keeps no more than twelve frames, and then asks again', () => {
  media.ready();
  media.sendFrame(frame(IDR, 1));
  for (let number = 2; number <= 40; number++) media.sendFrame(frame(DELTA, number));
  media.start();
  expect(sent).toEqual([]);
  expect(wanted).toBe(2);
});
