import type { ConsoleConfig } from '@footlight/protocol/agent';
import type { HelperDeps, HelperOptions } from '../display/helper.ts';
import type { Display, StartDisplay } from '../display/xvfb.ts';
import type { Displays } from './displays.ts';
import { type ChosenOutput, chooseOutput } from './output-choice.ts';

/** Requirements of a console, in the order in which they are checked. */
export type ScreenNeed = 'connector' | 'root' | 'programs' | 'card' | 'terminal';

/** Draws sessions on displays that are plugged into this host. */
export interface ConsoleScreens {
  /** The first missing requirement; null: nothing is missing. */
  lacks(): ScreenNeed | null;
  /**
   * Starts an X display that fills the output. If the display ends before it is closed, the output shows no picture.
   * Closing the display restores the output.
   * @throws when the display does not start; no process of it is left
   */
  open(output: ChosenOutput, options: HelperOptions, cookie: Buffer, deps: HelperDeps): Promise<Display>;
  /** Releases resources of a display that was killed with its agent. Never throws. */
  reclaim(): void;
}

/**
 * none: this host has no console. off: the administrator has not enabled it, or has selected a compositor that this
 * agent does not use. taken: a session uses it.
 */
export type ConsoleState = 'none' | 'off' | 'taken' | 'free';

/** The console, reserved for one session. */
export interface ConsoleClaim {
  readonly startDisplay: StartDisplay;
  /** Whether viewers hear the session's sound. */
  readonly audible: boolean;
  /** Releases the console. Call it when the session is torn down. Repeatable. */
  release(): void;
}

/**
 * The console of this host: its configuration and the session that uses it.
 *
 *   free ──claim──► taken ──release──► free
 *
 * One session at a time. A session uses the configuration of its claim; later changes do not affect it.
 */
export class HostConsole {
  #lacks: ScreenNeed | null;
  readonly #displays: Displays;
  readonly #screens: ConsoleScreens;
  #config: ConsoleConfig | null = null;
  #holder: object | null = null;

  constructor(displays: Displays, screens: ConsoleScreens) {
    this.#displays = displays;
    this.#screens = screens;
    this.#lacks = screens.lacks();
  }

  /** Checks the requirements again, because an administrator may have fixed one. @returns null: nothing is missing */
  need(): ScreenNeed | null {
    this.#lacks = this.#screens.lacks();
    return this.#lacks;
  }

  /** Result of the last check; null: nothing is missing. */
  get lacks(): ScreenNeed | null {
    return this.#lacks;
  }

  /** The administrator's compositor; null: the console is disabled. */
  get wanted(): ConsoleConfig['compositor'] | null {
    return this.#config?.enabled ? this.#config.compositor : null;
  }

  /** @param config null: the console is disabled */
  configure(config: ConsoleConfig | null): void {
    this.#config = config;
  }

  get state(): ConsoleState {
    if (this.#lacks !== null) return 'none';
    if (this.wanted !== 'weston') return 'off';
    return this.#holder === null ? 'free' : 'taken';
  }

  /** Call it only in the state `free`. */
  claim(): ConsoleClaim {
    const config = this.#config;
    if (config === null || this.#holder !== null) throw new Error('the display beside the host is not free');
    const holder = {};
    this.#holder = holder;
    return {
      audible: config.stream_audio,
      startDisplay: async (options, cookie, deps) => {
        const output = chooseOutput(config, await this.#displays.read());
        if (output === null) throw new Error('no display is plugged in where one is wanted');
        return this.#screens.open(output, options, cookie, deps);
      },
      release: () => {
        if (this.#holder === holder) this.#holder = null;
      },
    };
  }
}
