import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

/** The body of an answer that is sent many times: its bytes, and the same compressed once somebody takes them so. */
export class KeptBody {
  readonly plain: Buffer;
  #compressed: Promise<Buffer> | null = null;

  constructor(text: string) {
    this.plain = Buffer.from(text);
  }

  compressed(): Promise<Buffer> {
    this.#compressed ??= compress(this.plain);
    return this.#compressed;
  }

  /** Bytes that it may come to hold: text never grows by being compressed. */
  get maxBytes(): number {
    return 2 * this.plain.length;
  }
}
