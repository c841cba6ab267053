import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  EXTENSION_ID,
  type ExtensionName,
  extensionBytes,
  writeExtensions,
} from '../webrtc/rtp-extensions.ts';
import { RetransmitRing } from './nack-ring.ts';
import { isNewerSequence, RTP_HEADER_BYTES, readRtpHeader } from './rtp-packet.ts';
import { RtpSender, TransportSequence } from './rtp-sender.ts';

const ALL = new Set<ExtensionName>(['playoutDelay', 'captureTime', 'transportSequence']);

function payloaderPacket(sequence: number, timestamp: number, marker: boolean, payload: Buffer): Buffer {
  const packet = Buffer.alloc(RTP_HEADER_BYTES + payload.length);
  packet[0] = 0x80;
  packet[1] = (marker ? 0x80 : 0) | 96;
  packet.writeUInt16BE(sequence, 2);
  packet.writeUInt32BE(timestamp, 4);
  packet.writeUInt32BE(0x01020304, 8);
  payload.copy(packet, RTP_HEADER_BYTES);
  return packet;
}

/** Elements of a one-byte extension block by id. */
function readExtensions(packet: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  if (((packet[0] ?? 0) & 0x10) === 0) return found;
  expect(packet.readUInt16BE(RTP_HEADER_BYTES)).toBe(0xbede);
  const end = RTP_HEADER_BYTES + 4 + packet.readUInt16BE(RTP_HEADER_BYTES + 2) * 4;
  let at = RTP_HEADER_BYTES + 4;
  while (at < end) {
    const head = packet[at] ?? 0;
    if (head === 0) {
      at++;
      continue;
    }
    const length = (head & 0x0f) + 1;
    found.set(head >> 4, packet.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return found;
}

function sender(firstSequence = 100, timestampOffset = 0, ring: RetransmitRing | null = null) {
  const identity = { ssrc: 0xcafebabe, payloadType: 102, firstSequence, timestampOffset };
  const made = new RtpSender(identity, new TransportSequence(65_535), ring);
  made.accept(ALL);
  return made;
}

describe('packets are rewritten for one peer connection', () => {
  test('own SSRC and payload type, contiguous numbers over the wrap, payload and marker untouched', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 65_535 }),
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.array(fc.tuple(fc.uint8Array({ maxLength: 1200 }), fc.boolean()), { minLength: 1, maxLength: 40 }),
        (firstSequence, timestampOffset, frames) => {
          const rewriting = sender(firstSequence, timestampOffset);
          frames.forEach(([payload, marker], index) => {
            // The payloader's sequence numbers have gaps; the numbers of sent packets must have no gaps.
            const from = payloaderPacket(index * 7, index * 3000, marker, Buffer.from(payload));
            const before = Buffer.from(from);
            const out = rewriting.wrap(
              from,
              { playoutDelay: { minMs: 0, maxMs: 100 }, captureTimeMs: 1e12 },
              index,
            );
            expect(from.equals(before)).toBe(true);
            const header = readRtpHeader(out?.data ?? Buffer.alloc(0));
            expect(header).toMatchObject({
              marker,
              payloadType: 102,
              sequence: (firstSequence + index) & 0xffff,
            });
            expect(header?.timestamp).toBe((index * 3000 + timestampOffset) >>> 0);
            expect(out?.data.readUInt32BE(8)).toBe(0xcafebabe);
            expect(out?.data.subarray(header?.payloadOffset).equals(Buffer.from(payload))).toBe(true);
          });
        },
      ),
    );
  });

  test('stamps playout delay, capture time and the transport-wide number', () => {
    const out = sender().wrap(
      payloaderPacket(1, 2, true, Buffer.from('x')),
      { playoutDelay: { minMs: 0, maxMs: 150 }, captureTimeMs: 1_750_000_000_500 },
      0,
    );
    const extensions = readExtensions(out?.data ?? Buffer.alloc(0));
    expect(extensions.get(EXTENSION_ID.playoutDelay)).toEqual(Buffer.from([0x00, 0x00, 0x0f]));
    const captured = extensions.get(EXTENSION_ID.captureTime) ?? Buffer.alloc(8);
    expect(captured.readUInt32BE(0)).toBe(1_750_000_000 + 2_208_988_800);
    expect(captured.readUInt32BE(4)).toBe(0x8000_0000);
    expect(extensions.get(EXTENSION_ID.transportSequence)?.readUInt16BE(0)).toBe(65_535);
  });

  test('stamps only what the answer accepted', () => {
    const rewriting = sender();
    rewriting.accept(new Set(['transportSequence']));
    const packet = payloaderPacket(1, 2, true, Buffer.from('x'));
    const out = rewriting.wrap(packet, { playoutDelay: { minMs: 0, maxMs: 0 }, captureTimeMs: 1 }, 0);
    expect([...readExtensions(out?.data ?? Buffer.alloc(0)).keys()]).toEqual([
      EXTENSION_ID.transportSequence,
    ]);
    rewriting.accept(new Set());
    const bare = rewriting.wrap(packet, { playoutDelay: { minMs: 0, maxMs: 0 } }, 0);
    expect(bare?.data.length).toBe(packet.length);
  });

  test('the block is as long as announced, with any content', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            playoutDelay: fc.record({ minMs: fc.nat(50_000), maxMs: fc.nat(50_000) }),
            captureTimeMs: fc.integer({ min: 0, max: 4e12 }),
            transportSequence: fc.nat(65_535),
          },
          { requiredKeys: [] },
        ),
        (values) => {
          const bytes = extensionBytes(values);
          expect(bytes % 4).toBe(0);
          const target = Buffer.alloc(bytes + 8, 0x77);
          writeExtensions(target, 0, values);
          expect(target.subarray(bytes).every((byte) => byte === 0x77)).toBe(true);
        },
      ),
    );
  });

  test('bytes that are no RTP packet are not sent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const out = sender().wrap(Buffer.from(bytes), {}, 0);
        expect(out === null || out.data.length >= RTP_HEADER_BYTES).toBe(true);
      }),
    );
  });

  test('a retransmitted packet differs only in its transport-wide number', () => {
    const rewriting = sender(5, 0, new RetransmitRing(8000));
    const out = rewriting.wrap(payloaderPacket(1, 2, true, Buffer.from('abc')), {}, 1000);
    const first = Buffer.from(out?.data ?? Buffer.alloc(0));
    const [again] = rewriting.retransmit([5], 1020, 10).packets;
    const number = (packet: Buffer | undefined) =>
      readExtensions(packet ?? Buffer.alloc(12))
        .get(EXTENSION_ID.transportSequence)
        ?.readUInt16BE(0);
    expect(number(first)).toBe(65_535);
    expect(number(again?.data)).toBe(0);
    // The receiver reports the packet's arrival with this number, so the history of sent packets must contain it.
    expect(again?.transportSequence).toBe(0);
    expect(again?.data.length).toBe(first.length);
    expect(again?.data.readUInt16BE(2)).toBe(5);
  });
});

test('sequence numbers compare over the wrap', () => {
  expect(isNewerSequence(0, 65_535)).toBe(true);
  expect(isNewerSequence(65_535, 0)).toBe(false);
  expect(isNewerSequence(7, 7)).toBe(false);
});
