/** RTP header extensions in the one-byte form (RFC 8285): the lines in the offer, and the encoding. */

export const EXTENSION_URI = {
  playoutDelay: 'http://www.webrtc.org/experiments/rtp-hdrext/playout-delay',
  captureTime: 'http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time',
  transportSequence: 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
} as const;

export type ExtensionName = keyof typeof EXTENSION_URI;

/** Ids of the offered extensions, within the range of the one-byte form (1–14). */
export const EXTENSION_ID: Record<ExtensionName, number> = {
  playoutDelay: 1,
  captureTime: 2,
  transportSequence: 3,
};

/** Values of the extensions in a packet; undefined values are not written. */
export interface ExtensionValues {
  /** Milliseconds, 0–40950, in steps of 10. */
  playoutDelay?: { minMs: number; maxMs: number } | undefined;
  /** Capture time by the wall clock, in epoch milliseconds. */
  captureTimeMs?: number | undefined;
  /** 16-bit transport-wide sequence number. */
  transportSequence?: number | undefined;
}

const ONE_BYTE_PROFILE = 0xbede;
/** Seconds between 1900 (NTP) and 1970. */
const NTP_EPOCH_SECONDS = 2_208_988_800;
/**
 * Unit, and largest value (12 bits), of the extension playout-delay (webrtc.org/experiments/rtp-hdrext/playout-delay).
 */
const PLAYOUT_STEP_MS = 10;
const PLAYOUT_MAX_STEPS = 0xfff;

/** Size of the extension block with its 4-byte header, in bytes; 0: there are no values. */
export function extensionBytes(values: ExtensionValues): number {
  let bytes = 0;
  if (values.playoutDelay) bytes += 4;
  if (values.captureTimeMs !== undefined) bytes += 9;
  if (values.transportSequence !== undefined) bytes += 3;
  return bytes === 0 ? 0 : 4 + Math.ceil(bytes / 4) * 4;
}

/**
 * Writes the block at an offset; extensionBytes() gives its size.
 * @returns offset of the transport-wide sequence number, which a retransmission rewrites; null: the block does not
 * contain it
 */
export function writeExtensions(target: Buffer, offset: number, values: ExtensionValues): number | null {
  const total = extensionBytes(values);
  if (total === 0) return null;
  target.writeUInt16BE(ONE_BYTE_PROFILE, offset);
  target.writeUInt16BE((total - 4) / 4, offset + 2);
  let at = offset + 4;
  let sequenceAt: number | null = null;
  if (values.playoutDelay) {
    target[at] = (EXTENSION_ID.playoutDelay << 4) | 2;
    const min = playoutSteps(values.playoutDelay.minMs);
    const max = playoutSteps(values.playoutDelay.maxMs);
    target.writeUIntBE((min << 12) | max, at + 1, 3);
    at += 4;
  }
  if (values.captureTimeMs !== undefined) {
    target[at] = (EXTENSION_ID.captureTime << 4) | 7;
    writeNtp(target, at + 1, values.captureTimeMs);
    at += 9;
  }
  if (values.transportSequence !== undefined) {
    target[at] = (EXTENSION_ID.transportSequence << 4) | 1;
    target.writeUInt16BE(values.transportSequence, at + 1);
    sequenceAt = at + 1;
    at += 3;
  }
  target.fill(0, at, offset + total);
  return sequenceAt;
}

/** Writes epoch milliseconds as a 64-bit NTP timestamp. Source: RFC 5905, 6. */
export function writeNtp(target: Buffer, offset: number, epochMs: number): void {
  const wholeSecs = Math.floor(epochMs / 1000);
  target.writeUInt32BE((wholeSecs + NTP_EPOCH_SECONDS) >>> 0, offset);
  target.writeUInt32BE(Math.floor((epochMs / 1000 - wholeSecs) * 2 ** 32) >>> 0, offset + 4);
}

function playoutSteps(ms: number): number {
  return Math.max(0, Math.min(PLAYOUT_MAX_STEPS, Math.round(ms / PLAYOUT_STEP_MS)));
}
