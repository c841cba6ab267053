import type { Timer } from '@footlight/platform/timer';
import {
  CHANNELS,
  encodeInput,
  MOTION_BUFFER_BYTES,
  POINTER_MAX_PER_SECOND,
  POINTER_REL_UNIT,
  type ViewerMessage,
} from '@footlight/protocol/input';
import type { Environment } from '../types.ts';

type WithoutStamp<M> = M extends unknown ? Omit<M, 'seq' | 't'> : never;
type Outgoing = WithoutStamp<ViewerMessage>;

const MOVE_INTERVAL_MS = 1000 / POINTER_MAX_PER_SECOND;

/**
 * Numbers, timestamps and sends binary messages on the newest connection. Combines pointer moves, so that the session
 * gets no more moves per second than it allows; sends messages on the reliable channel at once. Without an open channel
 * messages are dropped, because their late effect would surprise the person.
 *
 * detached ⇄ attached, by attach(), which also frees the timer of unsent moves. The connection owns its channels.
 */
export class InputSender {
  #environment: Pick<Environment, 'monotonicMs' | 'setTimeout'>;
  #input: RTCDataChannel | null = null;
  #motion: RTCDataChannel | null = null;
  #inputSeq = 0;
  #motionSeq = 0;
  #onPress: (seq: number, sentMs: number) => void;
  /** newest unsent move of each pointer or contact */
  #moves = new Map<string, Outgoing>();
  #moveTimer: Timer | null = null;
  #movedAtMs = Number.NEGATIVE_INFINITY;
  #sumX = 0;
  #sumY = 0;

  /** @param onPress called for each pressed key or button with its seq and the time of sending (monotonic ms) */
  constructor(
    environment: Pick<Environment, 'monotonicMs' | 'setTimeout'>,
    onPress: (seq: number, sentMs: number) => void,
  ) {
    this.#environment = environment;
    this.#onPress = onPress;
  }

  /**
   * Switches to the channels of another connection. Message numbers start at 1 on each connection. null: no connection
   */
  attach(channels: { input: RTCDataChannel; motion: RTCDataChannel } | null): void {
    this.#moves.clear();
    this.#moveTimer?.cancel();
    this.#moveTimer = null;
    this.#input = channels?.input ?? null;
    this.#motion = channels?.motion ?? null;
    this.#inputSeq = 0;
    this.#motionSeq = 0;
    this.#sumX = 0;
    this.#sumY = 0;
  }

  get isOpen(): boolean {
    return this.#input?.readyState === 'open';
  }

  /** Sends reliable messages: keys, text, buttons, wheel, touch down and up, pads on and off. */
  send(message: Outgoing): void {
    if (message.kind === 'button' || message.kind === 'touch') this.#forgetMoves(message);
    const channel = this.#input;
    if (channel?.readyState !== 'open') return;
    this.#inputSeq = (this.#inputSeq + 1) >>> 0;
    const nowMs = this.#environment.monotonicMs();
    const bytes = encodeInput({
      ...message,
      seq: this.#inputSeq,
      t: Math.floor(nowMs) >>> 0,
    } as ViewerMessage);
    if (bytes.length > CHANNELS.input.maxMessageBytes) return;
    channel.send(bytes);
    if ((message.kind === 'key' || message.kind === 'button') && message.down)
      this.#onPress(this.#inputSeq, nowMs);
  }

  /** Sends lossy messages at once: pad states and pings. @returns false without an open channel, or when it is full */
  sendMotion(message: Outgoing): boolean {
    const channel = this.#motion;
    if (channel?.readyState !== 'open' || channel.bufferedAmount > MOTION_BUFFER_BYTES) return false;
    this.#motionSeq = (this.#motionSeq + 1) >>> 0;
    const t = Math.floor(this.#environment.monotonicMs()) >>> 0;
    channel.send(encodeInput({ ...message, seq: this.#motionSeq, t } as ViewerMessage));
    return true;
  }

  /** Sends an absolute pointer position, 0–65535. */
  moveTo(x: number, y: number): void {
    this.#moves.delete('rel');
    this.#move('abs', { kind: 'pointer_abs', x, y });
  }

  /** Sends relative pointer motion, in stream pixels. */
  moveBy(dx: number, dy: number): void {
    this.#sumX += dx * POINTER_REL_UNIT;
    this.#sumY += dy * POINTER_REL_UNIT;
    this.#moves.delete('abs');
    // Messages contain totals that wrap at 32 bits, so the next message repairs a lost one.
    this.#move('rel', {
      kind: 'pointer_rel',
      sum_x: Math.round(this.#sumX) | 0,
      sum_y: Math.round(this.#sumY) | 0,
    });
  }

  moveTouch(contact: number, x: number, y: number, pressure: number): void {
    this.#move(`touch ${contact}`, { kind: 'touch', action: 'move', contact, x, y, pressure });
  }

  #move(key: string, message: Outgoing): void {
    this.#moves.set(key, message);
    if (this.#moveTimer !== null) return;
    const waitMs = this.#movedAtMs + MOVE_INTERVAL_MS - this.#environment.monotonicMs();
    if (waitMs <= 0) this.#flushMoves();
    else {
      this.#moveTimer = this.#environment.setTimeout(() => {
        this.#moveTimer = null;
        this.#flushMoves();
      }, waitMs);
    }
  }

  #flushMoves(): void {
    this.#movedAtMs = this.#environment.monotonicMs();
    for (const message of this.#moves.values()) this.sendMotion(message);
    this.#moves.clear();
  }

  /** A press contains its own position, so earlier unsent moves are dropped. */
  #forgetMoves(message: Outgoing): void {
    if (message.kind === 'button' && message.position !== null) this.#moves.delete('abs');
    // Relative motion adds up, so it is sent before the press.
    else if (message.kind === 'button') this.#flushMoves();
    else if (message.kind === 'touch') this.#moves.delete(`touch ${message.contact}`);
  }
}
