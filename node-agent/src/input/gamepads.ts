import { type Clock, errorText, type Timer } from '@footlight/platform';
import type { GuestRole } from '@footlight/protocol/guests';
import type { DeviceFile } from './device-file.ts';
import type { RumbleOrder } from './force-feedback.ts';
import { NEUTRAL_PAD, type PadSnapshot, VirtualPad } from './virtual-pad.ts';

/**
 * Time in which a newly connected viewer must announce its gamepads again. It is long, because browsers show a gamepad
 * only after its first button press.
 */
export const RECLAIM_MS = 5_000;
/** Polling interval: the longest wait of an app that uploads an effect, and the longest delay of rumble. */
const POLL_MS = 10;
/**
 * Devices created per window for one person. The number is limited, because each new device costs time in every program
 * of the host that watches for devices.
 */
const MAX_CREATIONS = 16;
const CREATION_WINDOW_MS = 60_000;

/** A person who uses gamepads. Compared by identity. */
export interface PadHolder {
  readonly role: 'owner' | GuestRole;
  /** Index of the gamepad that is reserved for this person; null: none is reserved. */
  readonly padIndex: number | null;
}

export interface GamepadsOptions {
  /** One device file per gamepad index; with fewer files, fewer gamepads are possible. */
  files: readonly DeviceFile[];
  sessionId: string;
  clock: Clock;
  /** @param holder the person whose page announced the pad */
  onRumble(index: number, order: RumbleOrder, holder: PadHolder): void;
  /** Called with the sysfs name of a newly created device. */
  onCreated(sysname: string): void;
  onProblem(why: string): void;
}

interface Slot {
  pad: VirtualPad;
  holder: PadHolder;
  /**
   * Time at which the holder loses the pad, because the viewer has not announced it; null: the viewer has announced it.
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
 *
 * Several persons may use gamepads. A pad belongs to the person whose page announced it first, and messages of other
 * persons about it have no effect. But a person gets the reserved pad even if another person holds it, and the owner
 * gets a pad whose holder is away. When the holder loses a pad, another person who has announced it gets it.
 */
export class Gamepads {
  readonly #options: GamepadsOptions;
  readonly #slots = new Map<number, Slot>();
  /** Persons whose pages have announced each index, in order, also while another person holds it. */
  readonly #announcers = new Map<number, Set<PadHolder>>();
  /** Times of the newest creations by each person, so that no person uses up the creations of another. */
  readonly #createdAtMs = new WeakMap<PadHolder, number[]>();
  #poll: Timer | null = null;

  constructor(options: GamepadsOptions) {
    this.#options = options;
  }

  get max(): number {
    return this.#options.files.length;
  }

  on(index: number, holder: PadHolder): void {
    if (index >= this.max) return;
    const announcers = this.#announcers.get(index) ?? new Set();
    this.#announcers.set(index, announcers.add(holder));
    const slot = this.#slots.get(index);
    if (!slot) this.#connect(index, holder);
    else if (
      slot.holder === holder ||
      holder.padIndex === index ||
      (slot.goesAtMs !== null && holder.role === 'owner')
    )
      this.#give(index, slot, holder);
  }

  off(index: number, holder: PadHolder): void {
    this.#announcers.get(index)?.delete(holder);
    const slot = this.#slots.get(index);
    if (slot?.holder === holder) this.#passOn(index, slot);
  }

  apply(index: number, snapshot: PadSnapshot, holder: PadHolder): void {
    const slot = this.#slots.get(index);
    if (slot?.holder === holder) this.#attempt(index, slot, () => slot.pad.apply(snapshot));
  }

  /** Switches to another viewer of a person. @param announced indexes of that viewer's pads */
  takeOver(announced: ReadonlySet<number>, holder: PadHolder): void {
    const goesAtMs = this.#options.clock.monotonicMs() + RECLAIM_MS;
    for (const [index, announcers] of this.#announcers) {
      if (!announced.has(index)) announcers.delete(holder);
    }
    for (const [index, slot] of this.#slots) {
      if (slot.holder === holder) slot.goesAtMs = announced.has(index) ? null : goesAtMs;
    }
  }

  /** Answers uploads of apps, forwards rumble, and removes pads that were not announced in time. */
  tick(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [index, slot] of [...this.#slots]) {
      if (slot.goesAtMs !== null && nowMs >= slot.goesAtMs) this.#passOn(index, slot);
      else {
        this.#attempt(index, slot, () => {
          const order = slot.pad.poll(nowMs);
          if (order) this.#options.onRumble(index, order, slot.holder);
        });
      }
    }
  }

  close(): void {
    for (const [index, slot] of [...this.#slots]) this.#remove(index, slot);
    this.#rest();
    for (const file of this.#options.files) file.close();
  }

  #give(index: number, slot: Slot, holder: PadHolder): void {
    slot.goesAtMs = null;
    if (slot.holder === holder) return;
    slot.holder = holder;
    // What the former holder pressed must not stay pressed.
    this.#attempt(index, slot, () => slot.pad.apply(NEUTRAL_PAD));
  }

  /** The holder loses the pad. It is removed unless another person, first of all the owner, has announced it. */
  #passOn(index: number, slot: Slot): void {
    const others = [...(this.#announcers.get(index) ?? [])].filter((person) => person !== slot.holder);
    const next = others.find(({ role }) => role === 'owner') ?? others[0];
    if (next) this.#give(index, slot, next);
    else this.#remove(index, slot);
  }

  #remove(index: number, slot: Slot): void {
    this.#slots.delete(index);
    if (this.#slots.size === 0) this.#rest();
    try {
      slot.pad.disconnect();
    } catch (error) {
      this.#options.onProblem(errorText(error));
    }
  }

  #connect(index: number, holder: PadHolder): void {
    const file = this.#options.files[index];
    if (!file || !this.#mayCreate(holder)) return;
    try {
      const pad = new VirtualPad(file, physOf(this.#options.sessionId, index));
      this.#slots.set(index, { pad, holder, goesAtMs: null });
      this.#poll ??= this.#options.clock.setInterval(() => this.tick(), POLL_MS);
      this.#options.onCreated(pad.sysname);
    } catch (error) {
      this.#options.onProblem(errorText(error));
    }
  }

  #mayCreate(holder: PadHolder): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const times = this.#createdAtMs.get(holder) ?? [];
    const recent = times.filter((atMs) => nowMs - atMs < CREATION_WINDOW_MS);
    const may = recent.length < MAX_CREATIONS;
    this.#createdAtMs.set(holder, may ? [...recent, nowMs] : recent);
    return may;
  }

  /** A device error removes the pad, but does not end the session. */
  #attempt(index: number, slot: Slot, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#options.onProblem(errorText(error));
      this.#remove(index, slot);
    }
  }

  #rest(): void {
    this.#poll?.cancel();
    this.#poll = null;
  }
}
