import type { Timer } from '@footlight/platform/timer';
import { MAX_PADS, type Rumble } from '@footlight/protocol/input';
import { Cleanup } from '../environment.ts';
import type { Environment } from '../types.ts';
import { PadSchedule, readPad } from './pad-state.ts';
import type { InputSender } from './sender.ts';

/** Finer than any display's frame time, and cheap without changes. */
const POLL_MS = 8;

interface Rumbling {
  playEffect?(type: 'dual-rumble', parameters: object): Promise<unknown>;
  reset?(): Promise<unknown>;
}

/** The button in the middle of a pad, by the standard mapping. */
const GUIDE = 1 << 16;

export interface PadHooks {
  isEnabled(): boolean;
  onCount(pads: number): void;
  onGuide(): void;
}

/**
 * Gamepads with the standard mapping: announced, polled while connected, rumbled on request.
 *
 * A pad is absent → announced (an index of the session's) → absent. Owns two listeners, and a poll (POLL_MS) while a pad is
 * announced; dispose() frees them. The session removes the devices by itself.
 */
export class Gamepads {
  #environment: Environment;
  #sender: InputSender;
  #hooks: PadHooks;
  #maxPads = MAX_PADS;
  #cleanup = new Cleanup();
  #poll: Timer | null = null;
  /** index on the wire → browser's index, with its schedule */
  #pads = new Map<number, { browserIndex: number; schedule: PadSchedule; guide: boolean }>();

  constructor(environment: Environment, sender: InputSender, hooks: PadHooks) {
    this.#environment = environment;
    this.#sender = sender;
    this.#hooks = hooks;
    this.#cleanup.listen(window, 'gamepadconnected', () => this.#refresh());
    this.#cleanup.listen(window, 'gamepaddisconnected', () => this.#refresh());
  }

  /**
   * Announces the pads to a new connection. A pad keeps its index, because the session keeps the device of that
   * index.
   * @param maxPads limit of the session
   */
  announce(maxPads: number): void {
    this.#maxPads = Math.min(MAX_PADS, maxPads);
    const gamepads = this.#read();
    for (const [index, pad] of this.#pads) {
      const gamepad = gamepads[pad.browserIndex];
      if (gamepad == null || index >= this.#maxPads) this.#pads.delete(index);
      else this.#add(index, gamepad);
    }
    this.#refresh();
  }

  rumble(message: Rumble): void {
    const pad = this.#pads.get(message.index);
    const gamepad = pad === undefined ? null : this.#read()[pad.browserIndex];
    if (message.duration_ms === 0) stop(gamepad);
    else {
      const effect = {
        duration: message.duration_ms,
        strongMagnitude: message.strong / 65_535,
        weakMagnitude: message.weak / 65_535,
      };
      void actuatorOf(gamepad)
        ?.playEffect?.('dual-rumble', effect)
        .catch(() => undefined);
    }
  }

  /** Stops rumble when no more orders can arrive. */
  stopRumble(): void {
    const gamepads = this.#read();
    for (const { browserIndex } of this.#pads.values()) stop(gamepads[browserIndex]);
  }

  dispose(): void {
    this.stopRumble();
    this.#poll?.cancel();
    this.#cleanup.run();
  }

  #read(): (Gamepad | null)[] {
    return navigator.getGamepads?.() ?? [];
  }

  #refresh(): void {
    const present = this.#read().filter((pad) => pad?.connected && pad.mapping === 'standard');
    const browserIndexes = new Set(present.map((pad) => pad?.index));
    for (const [index, pad] of this.#pads) {
      if (browserIndexes.has(pad.browserIndex)) continue;
      this.#pads.delete(index);
      this.#sender.send({ kind: 'pad_off', index });
    }
    const known = new Set([...this.#pads.values()].map((pad) => pad.browserIndex));
    for (const pad of present) {
      if (pad === null || known.has(pad.index)) continue;
      const index = Array.from({ length: this.#maxPads }, (_, slot) => slot).find(
        (slot) => !this.#pads.has(slot),
      );
      if (index === undefined) break;
      this.#add(index, pad);
    }
    this.#hooks.onCount(this.#pads.size);
    if (this.#pads.size === 0) {
      this.#poll?.cancel();
      this.#poll = null;
    } else {
      this.#poll ??= this.#environment.setInterval(() => this.#sample(), POLL_MS);
    }
  }

  #add(index: number, gamepad: Gamepad): void {
    this.#pads.set(index, { browserIndex: gamepad.index, schedule: new PadSchedule(), guide: false });
    this.#sender.send({ kind: 'pad_on', index, rumble: gamepad.vibrationActuator != null });
  }

  #sample(): void {
    // A hidden page reads stale pads, so a button would stay held.
    if (!this.#hooks.isEnabled() || document.hidden) return;
    const gamepads = this.#read();
    const nowMs = this.#environment.monotonicMs();
    for (const [index, pad] of this.#pads) {
      const gamepad = gamepads[pad.browserIndex];
      if (gamepad == null) continue;
      const snapshot = readPad(gamepad);
      const guide = (snapshot.buttons & GUIDE) !== 0;
      if (guide && !pad.guide) this.#hooks.onGuide();
      pad.guide = guide;
      if (pad.schedule.isDue(snapshot, nowMs))
        this.#sender.sendMotion({ kind: 'pad_state', index, ...snapshot });
    }
  }
}

function actuatorOf(gamepad: Gamepad | null | undefined): Rumbling | undefined {
  return gamepad?.vibrationActuator as Rumbling | undefined;
}

function stop(gamepad: Gamepad | null | undefined): void {
  void actuatorOf(gamepad)
    ?.reset?.()
    .catch(() => undefined);
}
