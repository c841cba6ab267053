import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** Client frames must be masked (RFC 6455, section 5.3). One fixed mask allows frames to be prepared in advance. */
const MASK = randomBytes(4);
const END_OF_HEAD = '\r\n\r\n';
const TEXT = 0x81;
const CLOSE = 0x88;
const OPEN_LIMIT_MS = 20_000;

/** WebSocket frame of a text message. */
export function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  for (let at = 0; at < length; at++) payload[at] = (payload[at] as number) ^ (MASK[at & 3] as number);
  if (length > 0xffff) throw new Error('no message of a bench is so long');
  const head = length < 126 ? [TEXT, 0x80 | length] : [TEXT, 0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), MASK, payload]);
}

/**
 * Client side of a WebSocket for load generators: frames are prepared before the measurement, and received bytes are
 * passed on undecoded. A client library on one core is slower than the server under test.
 */
export class RawSocket {
  /** Receives each text message; the bytes are valid only during the call. */
  onText: (bytes: Buffer) => void = () => {};
  onClose: (why: string) => void = () => {};
  readonly #socket: Socket;
  #rest: Buffer | null = null;

  private constructor(socket: Socket, early: Buffer) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('close', () => this.onClose('the connection is gone'));
    // Deferred, so that the caller can set its listeners first.
    if (early.length > 0) setImmediate(() => this.#read(early));
  }

  /** @throws when the server's status is not 101 */
  static async open(address: string, headers: Record<string, string> = {}): Promise<RawSocket> {
    const url = new URL(address);
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    socket.on('error', () => {});
    const lines = [
      `GET ${url.pathname}${url.search} HTTP/1.1`,
      `host: ${url.host}`,
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ];
    socket.write(`${lines.join('\r\n')}${END_OF_HEAD}`);
    return new Promise((resolve, reject) => {
      let answer = Buffer.alloc(0);
      const limit = setTimeout(() => fail('nothing'), OPEN_LIMIT_MS);
      const fail = (what: string) => {
        clearTimeout(limit);
        socket.destroy();
        reject(new Error(`${url.pathname} was answered with ${what}`));
      };
      const ended = () => fail('the end of the connection');
      const read = (chunk: Buffer) => {
        answer = Buffer.concat([answer, chunk]);
        const end = answer.indexOf(END_OF_HEAD);
        if (end === -1) return;
        if (answer.toString('latin1', 9, 12) !== '101') return fail(answer.toString('utf8', 0, 300));
        clearTimeout(limit);
        socket.off('data', read);
        socket.off('close', ended);
        resolve(new RawSocket(socket, answer.subarray(end + END_OF_HEAD.length)));
      };
      socket.on('data', read);
      socket.once('close', ended);
    });
  }

  /** @param frames made by `clientFrame` */
  send(frames: Buffer): void {
    this.#socket.write(frames);
  }

  destroy(): void {
    this.onClose = () => {};
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= 2) {
      let length = (bytes[at + 1] as number) & 0x7f;
      let start = at + 2;
      if (length >= 126) {
        start = at + (length === 126 ? 4 : 10);
        if (bytes.length < start) break;
        length = length === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
      }
      if (bytes.length < start + length) break;
      const payload = bytes.subarray(start, start + length);
      if (bytes[at] === TEXT) this.onText(payload);
      else if (bytes[at] === CLOSE)
        this.onClose(`closed with ${payload.readUInt16BE(0)} ${payload.subarray(2).toString('utf8')}`);
      at = start + length;
    }
    this.#rest = at === bytes.length ? null : Buffer.from(bytes.subarray(at));
  }
}
