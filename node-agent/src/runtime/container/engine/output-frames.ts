/**
 * Header of a frame: stream (1 byte), three zero bytes, length (32 bits, big-endian). Source: Docker API, "Attach to a
 * container".
 */
const HEADER_BYTES = 8;

/**
 * Extracts the output of a container without a terminal from the engine's frames. Chunks may end at any byte. Between
 * two chunks, at most an incomplete header is stored.
 */
export class OutputFrames {
  #header = Buffer.alloc(0);
  /** Number of missing bytes of the current frame. */
  #left = 0;

  /** @returns the output in this chunk; both streams are merged in order */
  take(chunk: Buffer): Buffer[] {
    const output: Buffer[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const missing = HEADER_BYTES - this.#header.length;
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (this.#header.length < HEADER_BYTES) break;
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, this.#left);
      output.push(part);
      this.#left -= part.length;
      rest = rest.subarray(part.length);
    }
    return output;
  }
}
