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

/** A frame of two packets leaves. @returns the sequence number of its first */
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
  test('gives the viewer a keyframe, since it stands still without one', () => {
    frame({ isKeyframe: true });
    const lost = frame();
    clock.advance(TOO_LATE_MS);
    expect(repair.onNack([lost])).toBe(0);
    expect(wanted).toBe(1);
  });

  test('no keyframe where the packet is sent again, and where one came after it', () => {
    frame({ isKeyframe: true });
    const lost = frame();
    expect(repair.onNack([lost])).toBe(1);
    expect(sequences()).toEqual([lost]);
    frame({ isKeyframe: true });
    clock.advance(TOO_LATE_MS);
    repair.onNack([lost]);
    expect(wanted).toBe(0);
  });

  test('a packet of the newest keyframe itself is needed', () => {
    const lost = frame({ isKeyframe: true });
    clock.advance(TOO_LATE_MS);
    repair.onNack([lost]);
    expect(wanted).toBe(1);
  });

  test('a full queue gets no keyframe on top, and a short one does: a busy receiver looks like it', () => {
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

describe('a small packet behind each frame shows the loss of its last one', () => {
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

  test('not inside the next frame, not where something waits, and not into a queue', () => {
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
