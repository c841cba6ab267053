import { type Clock, errorText, type Timer } from '@footlight/platform';
import type { DeviceFile } from './device-file.ts';
import type { RumbleOrder } from './force-feedback.ts';
import { type PadSnapshot, VirtualPad } from './virtual-pad.ts';

/**
 * Time in which a newly connected viewer must announce its gamepads again. It is long, because browsers show a gamepad
 * only after its first button press.
 */
export const RECLAIM_MS = 5_000;
/** Polling interval: the longest wait of an app that uploads an effect, and the longest delay of rumble. */
const POLL_MS = 10;
/**
 * Devices created per window. The number is limited, because each new device costs time in every program of the host
 * that watches for devices.
 */
const MAX_CREATIONS = 16;
const CREATION_WINDOW_MS = 60_000;

export interface GamepadsOptions {
  /** One device file per gamepad index; with fewer files, fewer gamepads are possible. */
  files: readonly DeviceFile[];
  sessionId: string;
  clock: Clock;
  onRumble(index: number, order: RumbleOrder): void;
  /** Called with the sysfs name of a newly created device. */
  onCreated(sysname: string): void;
  onProblem(why: string): void;
}

interface Slot {
  pad: VirtualPad;
  /**
   * Time at which the pad is removed because the active viewer has not announced it; null: the viewer has announced it.
   */
  goesAtMs: number | null;
}

/** Physical path (phys) of a gamepad, by which the agent checks to which session it belongs. */
export function physOf(sessionId: string, index: number): string {
  return `footlight/${sessionId}/pad${index}`;
}

/**
 * The virtual gamepads of one session, one per announced index.
 *
 * A pad is absent → connected (on) → absent (off, or not announced within RECLAIM_MS of another viewer's connection). A
 * reconnect of the viewer keeps the pad, because most games pause when a pad vanishes. Owner: the media session.
 * close() removes all pads; if the process dies, the kernel removes them.
 */
export class Gamepads {
  readonly #options: GamepadsOptions;
  readonly #slots = new Map<number, Slot>();
  #createdAtMs: number[] = [];
  #poll: Timer | null = null;

  constructor(options: GamepadsOptions) {
    this.#options = options;
  }

  get max(): number {
    return this.#options.files.length;
  }

  on(index: number): void {
    const slot = this.#slots.get(index);
    if (slot) slot.goesAtMs = null;
    else this.#connect(index);
  }

  off(index: number): void {
    const slot = this.#slots.get(index);
    if (!slot) return;
    this.#slots.delete(index);
    if (this.#slots.size === 0) this.#rest();
    try {
      slot.pad.disconnect();
    } catch (error) {
      this.#options.onProblem(errorText(error));
    }
  }

  apply(index: number, snapshot: PadSnapshot): void {
    const slot = this.#slots.get(index);
    if (slot) this.#attempt(index, () => slot.pad.apply(snapshot));
  }

  /** Switches to another viewer. @param announced indexes of that viewer's pads */
  takeOver(announced: ReadonlySet<number>): void {
    const goesAtMs = this.#options.clock.monotonicMs() + RECLAIM_MS;
    for (const [index, slot] of this.#slots) {
      slot.goesAtMs = announced.has(index) ? null : goesAtMs;
    }
  }

  /** Answers uploads of apps, forwards rumble, and removes pads that were not announced in time. */
  tick(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [index, { pad, goesAtMs }] of [...this.#slots]) {
      if (goesAtMs !== null && nowMs >= goesAtMs) this.off(index);
      else {
        this.#attempt(index, () => {
          const order = pad.poll(nowMs);
          if (order) this.#options.onRumble(index, order);
        });
      }
    }
  }

  close(): void {
    for (const index of [...this.#slots.keys()]) this.off(index);
    this.#rest();
    for (const file of this.#options.files) file.close();
  }

  #connect(index: number): void {
    const file = this.#options.files[index];
    if (!file || !this.#mayCreate()) return;
    this.#attempt(index, () => {
      const pad = new VirtualPad(file, physOf(this.#options.sessionId, index));
      this.#slots.set(index, { pad, goesAtMs: null });
      this.#poll ??= this.#options.clock.setInterval(() => this.tick(), POLL_MS);
      this.#options.onCreated(pad.sysname);
    });
  }

  #mayCreate(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    this.#createdAtMs = this.#createdAtMs.filter((atMs) => nowMs - atMs < CREATION_WINDOW_MS);
    if (this.#createdAtMs.length >= MAX_CREATIONS) return false;
    this.#createdAtMs.push(nowMs);
    return true;
  }

  /** A device error removes the pad, but does not end the session. */
  #attempt(index: number, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#options.onProblem(errorText(error));
      this.off(index);
    }
  }

  #rest(): void {
    this.#poll?.cancel();
    this.#poll = null;
  }
}
