import type { Timer } from '@footlight/platform/timer';
import {
  type AgentControl,
  type AgentHello,
  CONTROL_BUFFER_BYTES,
  CONTROL_FEATURES,
  encodeControl,
  FREEZE_PER_SECOND,
  INPUT_PROTOCOL,
  type KeyboardLayout,
  PING_BURST,
  PING_BURST_INTERVAL_MS,
  PING_INTERVAL_MS,
  parseAgentControl,
  type ViewerControl,
} from '@footlight/protocol/input';
import type { InputSender } from '../input/sender.ts';
import type { Environment } from '../types.ts';
import type { Peer } from './peer.ts';

/** Interval of pings while the queueing delay is measured: eight pings a second, within PING_MAX_PER_SECOND. */
const PING_FOLLOWED_MS = 125;

/**
 * Messages of the newest connection except input: control channel, pings for the clock, and frame timing.
 *
 * detached ⇄ attached (PING_BURST fast pings, then one each PING_INTERVAL_MS). Message numbers restart with each
 * connection. Owns the timer of the next ping, which attach() and dispose() free; connections belong to the client.
 */
export class ControlChannel {
  #environment: Environment;
  #sender: InputSender;
  #peer: Peer | null = null;
  #ping: Timer | null = null;
  #isFollowed = false;
  #frameTiming = false;
  /** Optional parts of the protocol that the newest connection's host supports. */
  #features: readonly string[] = [];
  #layout: KeyboardLayout | null = null;
  #maxFileMb: number | null = null;
  #freezes: number[] = [];

  constructor(environment: Environment, sender: InputSender) {
    this.#environment = environment;
    this.#sender = sender;
  }

  /** Sends `hello` on a control channel that has just opened. This is the first message of every connection. */
  greet(peer: Peer, viewport: { width: number; height: number; dpr: number }): void {
    send(peer, { type: 'hello', protocol: INPUT_PROTOCOL, features: [...CONTROL_FEATURES], viewport });
    if (this.#frameTiming) send(peer, { type: 'frame_timing', enabled: true });
  }

  /** Switches to this connection; null: no connection. */
  attach(peer: Peer | null): void {
    this.#peer = peer;
    this.#features = [];
    this.#maxFileMb = null;
    this.#ping?.cancel();
    this.#ping = null;
    if (peer !== null) this.#pingAfter(PING_BURST, PING_BURST_INTERVAL_MS);
  }

  /** Starts frequent pings, which measure the queueing delay, or stops them. */
  follow(isFollowed: boolean): void {
    this.#isFollowed = isFollowed;
    this.#ping?.cancel();
    if (this.#peer !== null) this.#pingAfter(0, isFollowed ? PING_FOLLOWED_MS : PING_INTERVAL_MS);
  }

  /** @returns false without an open channel */
  send(message: ViewerControl): boolean {
    return this.#peer !== null && send(this.#peer, message);
  }

  /** The host of the newest connection sent its hello. */
  greeted({ features, max_file_mb }: AgentHello): void {
    this.#features = features;
    this.#maxFileMb = (features.includes('files') ? max_file_mb : null) ?? null;
    this.#sendLayout();
  }

  /** Largest file that the host accepts, MiB; null: the host accepts no files, or the limit is not known. */
  get maxFileMb(): number | null {
    return this.#maxFileMb;
  }

  /** Whether the host can rename files and make folders. */
  get canRename(): boolean {
    return this.#features.includes('file_names');
  }

  /** Sets the layout of the session's keyboard, on this connection and on later ones. */
  setLayout(layout: KeyboardLayout): void {
    this.#layout = layout;
    this.#sendLayout();
  }

  setFrameTiming(enabled: boolean): void {
    if (enabled === this.#frameTiming) return;
    this.#frameTiming = enabled;
    this.send({ type: 'frame_timing', enabled });
  }

  /**
   * Reports a freeze to the host, which can then increase the playout delay. Several freezes shortly after each other
   * are one report.
   */
  freeze(gapMs: number): void {
    const nowMs = this.#environment.monotonicMs();
    this.#freezes = this.#freezes.filter((atMs) => nowMs - atMs < 1000);
    if (this.#freezes.length >= FREEZE_PER_SECOND) return;
    this.#freezes.push(nowMs);
    this.send({ type: 'freeze', gap_ms: gapMs });
  }

  /** Parses one frame of the control channel; null: this version does not know the message. */
  read(frame: string): AgentControl | null {
    const parsed = parseAgentControl(frame);
    return parsed.kind === 'message' ? parsed.message : null;
  }

  dispose(): void {
    this.attach(null);
  }

  #sendLayout(): void {
    const layout = this.#layout;
    if (layout !== null && this.#features.includes('keyboard_layout'))
      this.send({ type: 'keyboard_layout', ...layout });
  }

  /** @param fast number of pings that remain in the burst */
  #pingAfter(fast: number, ms: number): void {
    this.#ping = this.#environment.setTimeout(() => {
      const sent = this.#sender.sendMotion({ kind: 'ping', client_ms: this.#environment.nowUnixMs() });
      // The channel opens after the connection. A ping that could not be sent is not counted in the burst.
      const left = sent ? fast - 1 : fast;
      if (left > 0) this.#pingAfter(left, PING_BURST_INTERVAL_MS);
      else this.#pingAfter(0, this.#isFollowed ? PING_FOLLOWED_MS : PING_INTERVAL_MS);
    }, ms);
  }
}

function send(peer: Peer, message: ViewerControl): boolean {
  const { control } = peer.channels;
  if (control.readyState !== 'open' || control.bufferedAmount > CONTROL_BUFFER_BYTES) return false;
  control.send(encodeControl(message));
  return true;
}
