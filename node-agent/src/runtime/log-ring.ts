import { plainText } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';

/** Several times as large as the tail below, so that a flood of long lines does not evict the earlier lines at once. */
export const LOG_RING_BYTES = 1024 * 1024;
/**
 * Size of the tail of an ended app's output in its session's record. It is limited by the record's size (64 KiB), and
 * by the number of lines that a person reads.
 */
const TAIL_LINES = 100;
const TAIL_BYTES = 65_536;

/**
 * The last MiB of an app's output as raw bytes in one buffer. A flood of output costs only copying, because the bytes
 * are split into lines on demand.
 */
export class LogRing {
  readonly #maxBytes: number;
  /** Grows to twice the kept size, so that the kept bytes are rarely moved. */
  #buffer = Buffer.alloc(0);
  #end = 0;
  /** Whether older output was evicted. */
  #isCut = false;

  constructor(maxBytes = LOG_RING_BYTES) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    const newest = chunk.subarray(-this.#maxBytes);
    if (newest.length < chunk.length) this.#isCut = true;
    if (this.#end + newest.length > this.#buffer.length) this.#makeRoom(newest.length);
    newest.copy(this.#buffer, this.#end);
    this.#end += newest.length;
  }

  get bytes(): number {
    return Math.min(this.#end, this.#maxBytes);
  }

  /**
   * The last lines, oldest first, without control characters; "" without output. Carriage returns end a line too,
   * because progress bars use only these. A line whose beginning was evicted is omitted if there are other lines,
   * because a secret in such a line could not be recognized.
   */
  tail(lines = TAIL_LINES, maxBytes = TAIL_BYTES): string {
    // The answer has at most this many bytes, even with three bytes per character.
    const readBytes = Math.min(this.bytes, 4 * maxBytes);
    const raw = this.#buffer.subarray(this.#end - readBytes, this.#end).toString('utf8');
    const whole = plainText(raw.replace(/\r\n?/g, '\n')).split('\n');
    if (whole.length > 1 && (this.#isCut || readBytes < this.#end)) whole.shift();
    const kept = whole
      .map((line) => line.trimEnd())
      .filter((line) => line !== '')
      .slice(-lines);
    return cutUtf8(newestLines(kept, maxBytes).join('\n'), maxBytes);
  }

  #makeRoom(bytes: number): void {
    const kept = Math.min(this.#end, this.#maxBytes - bytes);
    const size = Math.min(2 * this.#maxBytes, Math.max(4096, 2 * (kept + bytes)));
    const larger = size > this.#buffer.length ? Buffer.alloc(size) : this.#buffer;
    this.#buffer.copy(larger, 0, this.#end - kept, this.#end);
    this.#buffer = larger;
    if (kept < this.#end) this.#isCut = true;
    this.#end = kept;
  }
}

/** The newest lines that fit into maxBytes together, but at least one line. */
function newestLines(lines: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 0;
  const dropped = lines.findLastIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > maxBytes + 1;
  });
  return lines.slice(Math.min(dropped + 1, lines.length - 1));
}
