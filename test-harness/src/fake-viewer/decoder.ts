/**
 * Decodes an H.264 or H.265 byte stream in a gst-launch child. Pictures are scaled to one known size, so the length
 * of
 * the raw data separates them. Owner: the creator; close() ends the child.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { NalCodec } from './nal-units.ts';

export interface Picture {
  width: number;
  height: number;
  /** three bytes per pixel, row by row from the top */
  rgb: Buffer;
  /** picture number from 1 */
  number: number;
}

/**
 * With an access-unit delimiter the parser finishes the preceding unit at once and does not wait for the next picture.
 */
const CODECS: Readonly<Record<NalCodec, { elements: string; delimiter: Buffer }>> = {
  h264: { elements: 'h264parse ! openh264dec', delimiter: Buffer.from([0, 0, 0, 1, 0x09, 0xf0]) },
  h265: { elements: 'h265parse ! libde265dec', delimiter: Buffer.from([0, 0, 0, 1, 0x46, 0x01, 0x50]) },
};
/** A larger backlog means that the child is stuck. Further pictures are then skipped. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

export class PictureDecoder {
  readonly width: number;
  readonly height: number;
  readonly #codec: NalCodec;
  #child: ChildProcess;
  #input: Writable;
  #onPicture: (picture: Picture) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #count = 0;

  constructor(codec: NalCodec, width: number, height: number, onPicture: (picture: Picture) => void) {
    this.#codec = codec;
    this.width = width;
    this.height = height;
    this.#onPicture = onPicture;
    const raw = `video/x-raw,format=RGB,width=${width},height=${height},pixel-aspect-ratio=1/1`;
    const pipeline = `fdsrc fd=0 ! ${CODECS[codec].elements} ! videoconvert ! videoscale ! ${raw} ! fdsink fd=1 sync=false`;
    this.#child = spawn('gst-launch-1.0', ['-q', ...pipeline.split(' ')], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#input = this.#child.stdin as Writable;
    this.#input.on('error', () => undefined);
    this.#child.on('error', () => undefined);
    (this.#child.stdout as Readable).on('data', (chunk: Buffer) => this.#take(chunk));
  }

  push(accessUnit: Buffer): void {
    if (this.#input.writableLength > MAX_UNREAD_BYTES || !this.#input.writable) return;
    this.#input.write(accessUnit);
    this.#input.write(CODECS[this.#codec].delimiter);
  }

  /** Describes the decoder's state, for the error of a test that received no picture. */
  describe(): string {
    const { exitCode, signalCode } = this.#child;
    const state = exitCode === null && signalCode === null ? 'runs' : `ended with ${signalCode ?? exitCode}`;
    return `decoder ${state}: ${this.#count} pictures, ${this.#input.writableLength} bytes unread`;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#input.end();
    this.#child.kill('SIGKILL');
    await ended;
  }

  #take(chunk: Buffer): void {
    // GStreamer's packed RGB pads rows to four bytes.
    const stride = Math.ceil((this.width * 3) / 4) * 4;
    const size = stride * this.height;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < size) return;
    let data = Buffer.concat(this.#chunks);
    while (data.length >= size) {
      this.#count += 1;
      const rgb = unpad(data.subarray(0, size), this.width * 3, stride, this.height);
      this.#onPicture({ width: this.width, height: this.height, rgb, number: this.#count });
      data = data.subarray(size);
    }
    this.#chunks = data.length > 0 ? [data] : [];
    this.#bytes = data.length;
  }
}

function unpad(padded: Buffer, row: number, stride: number, rows: number): Buffer {
  if (row === stride) return Buffer.from(padded);
  return Buffer.concat(
    Array.from({ length: rows }, (_, index) => padded.subarray(index * stride, index * stride + row)),
  );
}
