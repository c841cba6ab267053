import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { systemClock, within } from '@footlight/platform';

/** A command that Firefox answered with an error. */
export class MarionetteError extends Error {}

type Answer = [type: 1, id: number, error: { error: string; message: string } | null, result: unknown];

/** How long Firefox may take for one command; a page load counts as one. */
const ANSWER_LIMIT_MS = 60_000;

/**
 * A connection to Marionette, Firefox's own remote control protocol: messages of the form
 * `length:[0,id,name,parameters]`, answered one after another. Its commands are those of WebDriver. Source:
 * https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
 */
export class Marionette {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #next = 1;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', () => socket.destroy());
  }

  /** @param port port on which the browser listens */
  static async on(port: number): Promise<Marionette> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Marionette(socket);
  }

  /** @returns the result in WebDriver's format. @throws MarionetteError with Firefox's message */
  async send<Result = unknown>(name: string, parameters: object = {}): Promise<Result> {
    const id = this.#next++;
    const message = JSON.stringify([0, id, name, parameters]);
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.write(`${Buffer.byteLength(message)}:${message}`);
    const answer = await within(systemClock, ANSWER_LIMIT_MS, answered, null);
    if (answer === null) throw new MarionetteError(`${name}: no answer`);
    const [, , error, result] = answer;
    if (error !== null) throw new MarionetteError(`${name}: ${error.error}: ${error.message}`);
    return result as Result;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const colon = this.#received.indexOf(':');
      if (colon < 0) return;
      const end = colon + 1 + Number(this.#received.subarray(0, colon).toString());
      if (this.#received.length < end) return;
      const message = JSON.parse(this.#received.subarray(colon + 1, end).toString()) as Answer | object;
      this.#received = this.#received.subarray(end);
      // The first message is a greeting, not an array; it is ignored.
      if (!Array.isArray(message)) continue;
      this.#waiting.get(message[1])?.(message as Answer);
      this.#waiting.delete(message[1]);
    }
  }
}
