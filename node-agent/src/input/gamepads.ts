import { type Clock, errorText, type Timer } from '@footlight/platform';
import type { DeviceFile } from './device-file.ts';
import type { RumbleOrder } from './force-feedback.ts';
import { type PadSnapshot, VirtualPad } from './virtual-pad.ts';

/** Time for a newly connected viewer to announce a pad again; browsers show pads only after a first button. */
export const RECLAIM_MS = 5_000;
/** Interval of polling: an app that uploads an effect waits this long at most, and rumble is this late at most. */
const POLL_MS = 10;
/** Devices per window, because each new device costs every program of the host that watches for them. */
const MAX_CREATIONS = 16;
const CREATION_WINDOW_MS = 60_000;

export interface GamepadsOptions {
  /** One device file per pad index; fewer files allow fewer pads. */
  files: readonly DeviceFile[];
  sessionId: string;
  clock: Clock;
  onRumble(index: number, order: RumbleOrder): void;
  /** A device was created; its sysfs name. */
  onCreated(sysname: string): void;
  onProblem(why: string): void;
}

interface Slot {
  pad: VirtualPad;
  /** When the pad is removed because the active viewer has not announced it; null = announced. */
  goesAtMs: number | null;
}

/** Physical path (phys) by which the agent checks a device's session. */
export function physOf(sessionId: string, index: number): string {
  return `footlight/${sessionId}/pad${index}`;
}

/**
 * The virtual gamepads of one session, one per announced index.
 *
 * A pad is absent → connected (on) → absent (off, or not announced within RECLAIM_MS of another viewer's connection).
 * A reconnect keeps it, because most games pause when a pad vanishes. Owner: the media session; close() removes all
 * of them, and the kernel does when the process dies.
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

  /** Switches to another viewer. @param announced its pads */
  takeOver(announced: ReadonlySet<number>): void {
    const goesAtMs = this.#options.clock.monotonicMs() + RECLAIM_MS;
    for (const [index, slot] of this.#slots) {
      slot.goesAtMs = announced.has(index) ? null : goesAtMs;
    }
  }

  /** Answers apps, forwards rumble, and removes pads that were not announced. */
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

  /** A device error costs its pad, not the session. */
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
