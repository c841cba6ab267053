import type { ConsoleConfig } from '@footlight/protocol/agent';
import type { HelperDeps, HelperOptions } from '../display/helper.ts';
import type { Display, StartDisplay } from '../display/xvfb.ts';
import type { Displays } from './displays.ts';
import { type ChosenOutput, chooseOutput } from './output-choice.ts';

/** Requirements of a console, in the order of the checks. */
export type ScreenNeed = 'connector' | 'root' | 'programs' | 'card' | 'terminal';

/** Draws sessions on displays that are plugged into this host. */
export interface ConsoleScreens {
  /** The first missing requirement; null: none. */
  lacks(): ScreenNeed | null;
  /**
   * Starts an X display that fills that output. When the display ends, the output shows no picture; closing it restores
   * the output.
   * @throws when it does not start; nothing is left running
   */
  open(output: ChosenOutput, options: HelperOptions, cookie: Buffer, deps: HelperDeps): Promise<Display>;
  /** Releases resources of a display that was killed with its agent. Never throws. */
  reclaim(): void;
}

/** none: this host has no console. off: the administrator has not enabled it, or selected another compositor. */
export type ConsoleState = 'none' | 'off' | 'taken' | 'free';

/** The console, held by one session. */
export interface ConsoleClaim {
  readonly startDisplay: StartDisplay;
  /** Viewers hear the sound. */
  readonly audible: boolean;
  /** Call when the session is torn down. Repeatable. */
  release(): void;
}

/**
 * The console of this host: its holder and configuration.
 *
 *   free ──claim──► taken ──release──► free
 *
 * One session at a time. A configuration applies from the claim on; a change does not affect a running session.
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

  /** Repeats the check for missing requirements, because an administrator may have fixed one. @returns null: nothing */
  need(): ScreenNeed | null {
    this.#lacks = this.#screens.lacks();
    return this.#lacks;
  }

  /** Result of the last check; null: nothing is missing. */
  get lacks(): ScreenNeed | null {
    return this.#lacks;
  }

  /** The administrator's compositor; null: console disabled. */
  get wanted(): ConsoleConfig['compositor'] | null {
    return this.#config?.enabled ? this.#config.compositor : null;
  }

  /** @param config null: disabled */
  configure(config: ConsoleConfig | null): void {
    this.#config = config;
  }

  get state(): ConsoleState {
    if (this.#lacks !== null) return 'none';
    if (this.wanted !== 'weston') return 'off';
    return this.#holder === null ? 'free' : 'taken';
  }

  /** Call only in the state free. */
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
