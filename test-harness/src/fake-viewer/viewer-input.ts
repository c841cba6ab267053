/** Keyboard and pointer input of the fake viewer. Numbers every message as a page does. */
import type { Clock, Random } from '@footlight/platform';
import {
  CHANNELS,
  type ChannelName,
  encodeControl,
  encodeInput,
  fractionToCoordinate,
  KEY_CODES,
  type ViewerControl,
  type ViewerMessage,
} from '@footlight/protocol/input';

type WithoutStamp<M> = M extends unknown ? Omit<M, 'seq' | 't'> : never;

export interface Wires {
  send(channel: ChannelName, data: Uint8Array | string): boolean;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  random: Pick<Random, 'number'>;
}

export class ViewerInput {
  inputSeq = 0;
  motionSeq = 0;
  #wires: Wires;

  constructor(wires: Wires) {
    this.#wires = wires;
  }

  /** Restarts the numbers at 1 for a new connection. */
  restart(): void {
    this.inputSeq = 0;
    this.motionSeq = 0;
  }

  /** @returns the message's seq, or 0 when no channel is open */
  send(message: WithoutStamp<ViewerMessage>, channel: 'input' | 'motion' = 'input'): number {
    const seq = channel === 'input' ? ++this.inputSeq : ++this.motionSeq;
    const t = Math.floor(this.#wires.clock.monotonicMs()) >>> 0;
    return this.#wires.send(channel, encodeInput({ ...message, seq, t } as ViewerMessage)) ? seq : 0;
  }

  /** @param code KeyboardEvent.code @throws Error for an unknown key */
  key(code: string, down: boolean, locks = 0): number {
    const evdev = KEY_CODES.get(code);
    if (evdev === undefined) throw new Error(`no such key: ${code}`);
    return this.send({ kind: 'key', code: evdev, down, locks });
  }

  press(...codes: string[]): void {
    for (const code of codes) this.key(code, true);
    for (const code of codes.reverse()) this.key(code, false);
  }

  text(text: string): number {
    return this.send({ kind: 'text', text });
  }

  /** @param x 0 left … 1 right @param y 0 top … 1 bottom */
  moveTo(x: number, y: number): number {
    return this.send(
      { kind: 'pointer_abs', x: fractionToCoordinate(x), y: fractionToCoordinate(y) },
      'motion',
    );
  }

  button(button: number, down: boolean, x: number, y: number): number {
    const position = { x: fractionToCoordinate(x), y: fractionToCoordinate(y) };
    return this.send({ kind: 'button', button, down, position });
  }

  click(x: number, y: number, button = 0): void {
    this.button(button, true, x, y);
    this.button(button, false, x, y);
  }

  /** @param notches positive is down */
  wheel(notches: number): number {
    return this.send({ kind: 'wheel', dx: 0, dy: Math.round(notches * 120) });
  }

  releaseAll(): number {
    return this.send({ kind: 'release_all' });
  }

  ping(): number {
    return this.send({ kind: 'ping', client_ms: this.#wires.clock.nowMs() }, 'motion');
  }

  control(message: ViewerControl): boolean {
    return this.#wires.send('control', encodeControl(message));
  }

  /** Sends random bytes on a channel, within its message size. */
  garbage(channel: ChannelName, messages: number): void {
    const { random } = this.#wires;
    for (let count = 0; count < messages; count += 1) {
      const length = 1 + Math.floor(random.number() * Math.min(64, CHANNELS[channel].maxMessageBytes - 1));
      this.#wires.send(
        channel,
        Uint8Array.from({ length }, () => Math.floor(random.number() * 256)),
      );
    }
  }
}
