import { ManualClock } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RetransmitRing } from '../rtp/nack-ring.ts';
import { type OutgoingPacket, RtpSender, TransportSequence } from '../rtp/rtp-sender.ts';
import { LossRepair } from './loss-repair.ts';

const RTT_MS = 10;
const TOO_LATE_MS = RTT_MS + 51;

let clock: ManualClock;
let queueingDelayMs: number;
let isIdle: boolean;
let again: Buffer[];
let wanted: number;
let sender: RtpSender;
let repair: LossRepair;

beforeEach(() => {
  clock = new ManualClock();
  queueingDelayMs = 0;
  isIdle = true;
  again = [];
  wanted = 0;
  const identity = { ssrc: 1, payloadType: 96, firstSequence: 0, timestampOffset: 0 };
  sender = new RtpSender(identity, new TransportSequence(0), new RetransmitRing(4000));
  sender.accept(new Set(['transportSequence']));
  repair = new LossRepair({
    sender,
    clock,
    path: () => ({ kbps: 4000, rttMs: RTT_MS, queueingDelayMs }),
    isIdle: () => isIdle,
    send: ({ data }) => again.push(data),
    onKeyframeWanted: () => wanted++,
  });
});

afterEach(() => {
  repair.close();
});

/** Sends a frame of two packets. @returns the sequence number of the first packet */
function frame({ isKeyframe = false } = {}): number {
  const [first] = [false, true].map((marker, index) => {
    const data = Buffer.alloc(500);
    data[0] = 0x80;
    data[1] = marker ? 0x80 | 96 : 96;
    const packet = sender.wrap(data, {}, clock.monotonicMs()) as OutgoingPacket;
    repair.sent(packet, isKeyframe && index === 0);
    return packet.sequence;
  });
  return first ?? 0;
}

const sequences = () => again.map((data) => data.readUInt16BE(2));
const isPadding = (data: Buffer) => ((data[0] ?? 0) & 0x20) !== 0;

describe('a packet that is too old to be sent again', () => {
  test('causes a keyframe, because the viewer’s picture would freeze', () => {
    frame({ isKeyframe: true });
    const lost = frame();
    clock.advance(TOO_LATE_MS);
    expect(repair.onNack([lost])).toBe(0);
    expect(wanted).toBe(1);
  });

  test('no keyframe if the packet is sent again, or if a keyframe followed it', () => {
    frame({ isKeyframe: true });
    const lost = frame();
    expect(repair.onNack([lost])).toBe(1);
    expect(sequences()).toEqual([lost]);
    frame({ isKeyframe: true });
    clock.advance(TOO_LATE_MS);
    repair.onNack([lost]);
    expect(wanted).toBe(0);
  });

  test('a lost packet of the newest keyframe causes a keyframe', () => {
    const lost = frame({ isKeyframe: true });
    clock.advance(TOO_LATE_MS);
    repair.onNack([lost]);
    expect(wanted).toBe(1);
  });

  test('no keyframe with a full queue, but one with a short queue, which may only be a busy receiver', () => {
    frame({ isKeyframe: true });
    const lost = frame();
    clock.advance(TOO_LATE_MS);
    queueingDelayMs = 101;
    repair.onNack([lost]);
    expect(wanted).toBe(0);
    queueingDelayMs = 100;
    repair.onNack([lost]);
    expect(wanted).toBe(1);
  });
});

describe('a small packet after each frame reveals the loss of the frame’s last packet', () => {
  test('while packets get lost, and for two seconds more', () => {
    frame();
    clock.advance(10);
    expect(again).toEqual([]);
    const lost = frame();
    repair.onNack([lost]);
    again = [];
    const last = frame() + 1;
    clock.advance(10);
    expect(sequences()).toEqual([last + 1]);
    expect(again.every((data) => isPadding(data) && data.length < 40)).toBe(true);
    clock.advance(2_000);
    frame();
    clock.advance(10);
    expect(again).toHaveLength(1);
  });

  test('not inside the next frame, not while packets wait, and not into a queue', () => {
    repair.onNack([frame()]);
    again = [];
    frame();
    clock.advance(1);
    frame();
    clock.advance(10);
    expect(again).toHaveLength(1);
    isIdle = false;
    frame();
    clock.advance(10);
    isIdle = true;
    queueingDelayMs = 31;
    frame();
    clock.advance(10);
    expect(again).toHaveLength(1);
  });

  test('nothing after the end', () => {
    repair.onNack([frame()]);
    again = [];
    frame();
    repair.close();
    clock.advance(10);
    expect(again).toEqual([]);
  });
});
