// The log of a supervised program: its current file and the previous one, each at most 64 MiB.
import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

const MAX_BYTES = 64 * 1024 * 1024;

/**
 * A log that never fails. An app may fill the disk, and viewers and apps can cause log lines of the agent. A full disk
 * must not end the program or its supervisor, so text that cannot be written is dropped.
 */
export class LogFile {
  #path;
  #maxBytes;
  /** @type {number | null} */
  #file = null;
  #bytes = 0;

  /** @param {string} path @param {number} [maxBytes] */
  constructor(path, maxBytes = MAX_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#attempt(() => this.#startAgain());
  }

  /** @param {Buffer} chunk */
  write(chunk) {
    this.#attempt(() => {
      if (this.#bytes + chunk.length > this.#maxBytes) this.#startAgain();
      this.#file ??= this.#open();
      this.#bytes += writeSync(this.#file, chunk);
    });
  }

  close() {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #startAgain() {
    this.close();
    if (existsSync(this.#path)) renameSync(this.#path, `${this.#path}.previous`);
    this.#file = this.#open();
  }

  #open() {
    const file = openSync(this.#path, 'a', 0o600);
    this.#bytes = fstatSync(file).size;
    return file;
  }

  /** @param {() => void} action */
  #attempt(action) {
    try {
      action();
    } catch {
      // The disk may be full, or the folder removed. The next chunk tries again.
    }
  }
}
