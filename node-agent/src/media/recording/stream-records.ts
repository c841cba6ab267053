/**
 * Binary form of a recorded stream, from the media worker to the agent's ring, and from there to the file writer.
 *
 *   record = length of the units (u32) · flags (u8, 1: the picture is a keyframe) · 3 bytes 0 · units
 *   unit   = length of the data (u32) · kind (u8, 0 video, 1 sound) · capture time (f64, monotonic ms) · data
 *
 * Numbers are little-endian. The data is the same as for viewers: one RTP packet, or for AV1 one temporal unit, because
 * GStreamer 1.22 has no depayloader for AV1. The agent reads only the header of a record. The worker receives data from
 * the network and is not trusted, so its records are parsed only in the process that writes the file, which has no
 * rights.
 */

export const RECORD_HEADER_BYTES = 8;
const UNIT_HEADER_BYTES = 13;
const FLAG_KEYFRAME = 1;
/**
 * Longest record. At 500 Mbit/s and 60 frames a second, a frame has 1 MiB on average, and a keyframe a few times this
 * size.
 */
export const MAX_RECORD_BYTES = 8 * 1024 * 1024;

export interface CodedUnit {
  kind: 'video' | 'sound';
  /** Monotonic milliseconds. */
  capturedAtMs: number;
  data: Buffer;
}

/** One picture, and the sound since the previous picture. */
export interface StreamRecord {
  isKeyframe: boolean;
  /** Header and units of the record. */
  bytes: Buffer;
}

/** Encodes a record. */
export function encodeRecord(units: readonly CodedUnit[], isKeyframe: boolean): Buffer {
  const bodyBytes = units.reduce((sum, { data }) => sum + UNIT_HEADER_BYTES + data.length, 0);
  const record = Buffer.allocUnsafe(RECORD_HEADER_BYTES + bodyBytes);
  record.writeUInt32LE(bodyBytes, 0);
  record.writeUInt32LE(isKeyframe ? FLAG_KEYFRAME : 0, 4);
  let at = RECORD_HEADER_BYTES;
  for (const { kind, capturedAtMs, data } of units) {
    record.writeUInt32LE(data.length, at);
    record.writeUInt8(kind === 'video' ? 0 : 1, at + 4);
    record.writeDoubleLE(capturedAtMs, at + 5);
    data.copy(record, at + UNIT_HEADER_BYTES);
    at += UNIT_HEADER_BYTES + data.length;
  }
  return record;
}

/**
 * Splits a byte stream into records. Each record is a copy, so that a record does not keep a larger buffer in memory.
 */
export class RecordReader {
  readonly #header = Buffer.alloc(RECORD_HEADER_BYTES);
  /** The record that is being read; null: its header is not complete. */
  #record: Buffer | null = null;
  /** Number of bytes of the record, or of its header, that have arrived. */
  #filled = 0;

  /**
   * @returns the records that are complete with this chunk
   * @throws when a record is longer than MAX_RECORD_BYTES; the stream is then unusable
   */
  push(chunk: Buffer): StreamRecord[] {
    const records: StreamRecord[] = [];
    for (let at = 0; at < chunk.length; ) {
      const target: Buffer = this.#record ?? this.#header;
      const copied = chunk.copy(target, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#record === null && this.#filled === RECORD_HEADER_BYTES) this.#begin();
      if (this.#record !== null && this.#filled === this.#record.length) {
        const isKeyframe = (this.#record.readUInt8(4) & FLAG_KEYFRAME) !== 0;
        records.push({ isKeyframe, bytes: this.#record });
        this.#record = null;
        this.#filled = 0;
      }
    }
    return records;
  }

  #begin(): void {
    const bodyBytes = this.#header.readUInt32LE(0);
    if (bodyBytes > MAX_RECORD_BYTES) throw new Error(`a record of ${bodyBytes} bytes`);
    // Not allocated from Node's shared pool, because a small record would keep the whole pool in memory.
    this.#record = Buffer.allocUnsafeSlow(RECORD_HEADER_BYTES + bodyBytes);
    this.#header.copy(this.#record);
  }
}

/** Parses the units of a record. @throws when the units do not fill the record exactly */
export function unitsOf({ bytes }: Pick<StreamRecord, 'bytes'>): CodedUnit[] {
  const units: CodedUnit[] = [];
  let at = RECORD_HEADER_BYTES;
  while (at < bytes.length) {
    const from = at + UNIT_HEADER_BYTES;
    const to = from <= bytes.length ? from + bytes.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    if (to > bytes.length) throw new Error('a unit is longer than its record');
    units.push({
      kind: bytes.readUInt8(at + 4) === 0 ? 'video' : 'sound',
      capturedAtMs: bytes.readDoubleLE(at + 5),
      data: bytes.subarray(from, to),
    });
    at = to;
  }
  return units;
}
