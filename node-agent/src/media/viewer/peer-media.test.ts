import { ManualClock } from '@footlight/platform/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { testStream } from '../testing/stream.ts';
import { PeerMedia } from './peer-media.ts';

const IDR = 0x65;
const DELTA = 0x41;

/** A report with a receiver's reference time: SSRC 1, NTP seconds 0xeeab4c5b and fraction 0xdb71fbc5. */
const VIEWER_TIME = Buffer.from('80cf00040000000104000002eeab4c5bdb71fbc5', 'hex');

let sent: Buffer[];
let hear: (data: Buffer) => void;
let clock: ManualClock;
let wanted: number;
let media: PeerMedia;

beforeEach(() => {
  sent = [];
  wanted = 0;
  clock = new ManualClock();
  const track = {
    isOpen: () => true,
    onMessage: (listener: (data: Buffer) => void) => {
      hear = listener;
    },
    sendMessageBinary: (data: Buffer) => sent.push(data) > 0,
  };
  media = new PeerMedia({
    stream: testStream(),
    clock,
    cname: 'viewer',
    random32: () => 7,
    video: { track, ssrc: 1 },
    audio: null,
    onKeyframeWanted: () => {
      wanted++;
    },
  });
  media.accept(new Set(), null);
});

afterEach(() => {
  media.close();
});

function frame(nal: number, number: number): EncodedFrame {
  const packet = Buffer.alloc(20);
  packet[0] = 0x80;
  packet[1] = 0x80 | 96;
  packet.writeUInt32BE(number, 4);
  packet[12] = nal;
  return {
    packets: [packet],
    coded: [packet],
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

test('before keys exist a keyframe is requested and kept with its followers, and start() sends them', () => {
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

test('without a kept keyframe start() requests one, and nothing is sent before it', () => {
  media.start();
  expect(wanted).toBe(1);
  media.sendFrame(frame(DELTA, 1));
  expect(sent).toEqual([]);
  media.sendFrame(frame(IDR, 2));
  expect(timestamps()).toEqual([2]);
});

test('a long handshake keeps at most twelve frames, and then requests another keyframe', () => {
  media.ready();
  media.sendFrame(frame(IDR, 1));
  for (let number = 2; number <= 40; number++) media.sendFrame(frame(DELTA, number));
  media.start();
  expect(sent).toEqual([]);
  expect(wanted).toBe(2);
});

test('a viewer that sends its time gets the delay since then once a second, and can compute its round trip', () => {
  media.start();
  media.sendFrame(frame(IDR, 1));
  const told = () => sent.findLast((data) => data[1] === 200)?.toString('hex') ?? '';
  clock.advance(1_750);
  expect(told()).not.toContain('80cf0005');
  hear(VIEWER_TIME);
  clock.advance(250);
  expect(told().endsWith('80cf000500000001' + '0500000300000001' + '4c5bdb7100004000')).toBe(true);
});

test('a NACK for a packet that is too old causes a keyframe', () => {
  media.start();
  media.sendFrame(frame(IDR, 1));
  const sequence = sent.at(-1)?.readUInt16BE(2) ?? 0;
  const nack = Buffer.from('81cd00030000000100000001' + '00000000', 'hex');
  nack.writeUInt16BE(sequence, 12);
  wanted = 0;
  hear(nack);
  expect(wanted).toBe(0);
  expect(sent.at(-1)?.readUInt16BE(2)).toBe(sequence);
  clock.advance(501);
  hear(nack);
  expect(wanted).toBe(1);
});

test('reports above 500 a second are not read', () => {
  media.start();
  const changes: unknown[] = [];
  media.path.listener = {
    onPath: (path) => changes.push(path),
    onDrained: () => undefined,
    onProbed: () => undefined,
  };
  for (let count = 0; count < 2_000; count++) hear(remb(count % 2 ? 1_500_000 : 2_300_000));
  expect(changes).toHaveLength(500);
  clock.advance(1_000);
  hear(remb(1_500_000));
  expect(changes).toHaveLength(501);
});

test('a path event comes with a picture, or at the next poll after 100 ms of silence, without a timer', () => {
  media.start();
  let told = 0;
  media.path.listener = { onPath: () => told++, onDrained: () => undefined, onProbed: () => undefined };
  media.sendFrame(frame(IDR, 1));
  expect(told).toBe(1);
  clock.advance(99);
  media.path.poll();
  expect(told).toBe(1);
  clock.advance(1);
  media.path.poll();
  expect(told).toBe(2);
  clock.advance(10_000);
  expect(told).toBe(2);
  media.close();
  media.path.poll();
  expect(told).toBe(2);
});

/** Writes a REMB. Source: draft-alvestrand-rmcat-remb-03, 2.2. */
function remb(bitsPerSecond: number): Buffer {
  const packet = Buffer.from('8fce0005000000010000000052454d4201000000' + '00000001', 'hex');
  const exponent = Math.max(0, Math.ceil(Math.log2(bitsPerSecond / 0x3ffff)));
  packet.writeUIntBE((exponent << 18) | (bitsPerSecond >> exponent), 17, 3);
  return packet;
}
