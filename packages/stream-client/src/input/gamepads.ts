import type { Timer } from '@footlight/platform/timer';
import { MAX_PADS, type Rumble } from '@footlight/protocol/input';
import { Cleanup } from '../environment.ts';
import type { Environment, PadReading } from '../types.ts';
import { MenuPress } from './menu-press.ts';
import { PadSchedule, readPad } from './pad-state.ts';
import type { InputSender } from './sender.ts';

/** Interval of polls. It is shorter than the frame time of any display; a poll without changes is cheap. */
const POLL_MS = 8;

interface Rumbling {
  playEffect?(type: 'dual-rumble', parameters: object): Promise<unknown>;
  reset?(): Promise<unknown>;
}

/** Index of the pad that the page draws, which has no browser index. */
const ON_SCREEN = -1;

/** A pad that can be announced. */
interface PresentPad {
  index: number;
  rumbles: boolean;
}

/** A pad that the page reads, even if the session has no device for it. */
interface WatchedPad {
  menu: MenuPress;
  /** the held buttons belong to the page; the app gets no button until all are released */
  isPages: boolean;
}

export interface PadHooks {
  isEnabled(): boolean;
  onCount(pads: number): void;
  /** a pad requests the page's controls; `drawn`: it is the pad that the page draws */
  onMenu(drawn: boolean): void;
}

/**
 * Sends gamepads with the standard mapping, and one pad that the page draws, to the session: announces them, polls them
 * while connected, and plays rumble.
 *
 * A pad is absent → announced (with an index of the session) → absent. A pad beyond the session's limit can only open
 * the page's menu. Owns two listeners, and a poll (POLL_MS) while a pad exists; dispose() frees them. The session
 * removes the devices itself.
 */
export class Gamepads {
  #environment: Pick<Environment, 'monotonicMs' | 'setInterval'>;
  #sender: InputSender;
  #hooks: PadHooks;
  /** indexes that messages may name, in the order of their use */
  #indexes = firstIndexes(MAX_PADS);
  #cleanup = new Cleanup();
  #poll: Timer | null = null;
  #onScreen: PadReading | null = null;
  /** index in messages → the browser's index, with the pad's schedule */
  #pads = new Map<number, { browserIndex: number; schedule: PadSchedule }>();
  /** keys: the browser's index */
  #watched = new Map<number, WatchedPad>();

  constructor(
    environment: Pick<Environment, 'monotonicMs' | 'setInterval'>,
    sender: InputSender,
    hooks: PadHooks,
  ) {
    this.#environment = environment;
    this.#sender = sender;
    this.#hooks = hooks;
    this.#cleanup.listen(window, 'gamepadconnected', () => this.#refresh());
    this.#cleanup.listen(window, 'gamepaddisconnected', () => this.#refresh());
  }

  /**
   * Announces the pads on a new connection. A pad keeps its index, because the session keeps the device with this
   * index.
   * @param maxPads limit of the session
   * @param indexes indexes that this page may use, in the order of their use
   */
  announce(maxPads: number, indexes: readonly number[] = firstIndexes(maxPads)): void {
    this.#indexes = indexes.slice(0, Math.min(MAX_PADS, maxPads));
    const present = this.#present();
    for (const [index, pad] of this.#pads) {
      const still = present.find((each) => each.index === pad.browserIndex);
      if (still === undefined || !this.#indexes.includes(index)) this.#pads.delete(index);
      else this.#add(index, still);
    }
    this.#refresh();
  }

  /** Adds the pad that the page draws, or replaces its reader; null removes the pad. */
  setOnScreen(reading: PadReading | null): void {
    const comesOrGoes = (reading === null) !== (this.#onScreen === null);
    this.#onScreen = reading;
    if (comesOrGoes) this.#refresh();
    else this.#sample();
  }

  rumble(message: Rumble): void {
    const pad = this.#pads.get(message.index);
    if (pad?.browserIndex === ON_SCREEN) {
      navigator.vibrate?.(message.duration_ms);
      return;
    }
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

  /** Stops rumble, because no message can stop it later. */
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

  #present(): PresentPad[] {
    const own = this.#read().flatMap((pad): PresentPad[] =>
      pad?.connected && pad.mapping === 'standard'
        ? [{ index: pad.index, rumbles: pad.vibrationActuator != null }]
        : [],
    );
    return this.#onScreen === null ? own : [...own, { index: ON_SCREEN, rumbles: 'vibrate' in navigator }];
  }

  #refresh(): void {
    const present = this.#present();
    const browserIndexes = new Set(present.map((pad) => pad.index));
    for (const [index, pad] of this.#pads) {
      if (browserIndexes.has(pad.browserIndex)) continue;
      this.#pads.delete(index);
      this.#sender.send({ kind: 'pad_off', index });
    }
    const known = new Set([...this.#pads.values()].map((pad) => pad.browserIndex));
    for (const pad of present) {
      if (known.has(pad.index)) continue;
      const index = this.#indexes.find((free) => !this.#pads.has(free));
      if (index === undefined) break;
      this.#add(index, pad);
    }
    this.#hooks.onCount(this.#pads.size);
    for (const index of this.#watched.keys()) if (!browserIndexes.has(index)) this.#watched.delete(index);
    for (const { index } of present)
      if (!this.#watched.has(index)) this.#watched.set(index, { menu: new MenuPress(), isPages: false });
    if (this.#watched.size === 0) {
      this.#poll?.cancel();
      this.#poll = null;
    } else {
      this.#poll ??= this.#environment.setInterval(() => this.#sample(), POLL_MS);
    }
  }

  #add(index: number, pad: PresentPad): void {
    this.#pads.set(index, { browserIndex: pad.index, schedule: new PadSchedule() });
    this.#sender.send({ kind: 'pad_on', index, rumble: pad.rumbles });
  }

  #sample(): void {
    // A hidden page reads old pad states, so a held button would never be released.
    if (document.hidden) return;
    const isEnabled = this.#hooks.isEnabled();
    const gamepads = this.#read();
    const nowMs = this.#environment.monotonicMs();
    for (const [browserIndex, watched] of this.#watched) {
      const reading = browserIndex === ON_SCREEN ? this.#onScreen : gamepads[browserIndex];
      if (reading == null) continue;
      const snapshot = readPad(reading);
      watched.isPages = !isEnabled || (watched.isPages && snapshot.buttons !== 0);
      if (watched.isPages) continue;
      if (watched.menu.read(snapshot.buttons, nowMs)) this.#hooks.onMenu(browserIndex === ON_SCREEN);
      for (const [index, pad] of this.#pads)
        if (pad.browserIndex === browserIndex && pad.schedule.isDue(snapshot, nowMs))
          this.#sender.sendMotion({ kind: 'pad_state', index, ...snapshot });
    }
  }
}

const firstIndexes = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

function actuatorOf(gamepad: Gamepad | null | undefined): Rumbling | undefined {
  return gamepad?.vibrationActuator as Rumbling | undefined;
}

function stop(gamepad: Gamepad | null | undefined): void {
  void actuatorOf(gamepad)
    ?.reset?.()
    .catch(() => undefined);
}
