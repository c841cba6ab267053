import type { ConsoleConfig } from '@footlight/protocol/agent';
import type { HelperDeps, HelperOptions } from '../display/helper.ts';
import type { Display, StartDisplay } from '../display/xvfb.ts';
import type { Displays } from './displays.ts';
import { type ChosenOutput, chooseOutput } from './output-choice.ts';

/** What showing something beside a host takes, in the order in which it is looked for. */
export type ScreenNeed = 'connector' | 'root' | 'programs' | 'card' | 'terminal';

/** What draws sessions on displays that are plugged into this host. */
export interface ConsoleScreens {
  /** The first of its needs that this host does not meet; null: something can be shown. */
  lacks(): ScreenNeed | null;
  /**
   * Brings an X display up that fills that output; its end is the end of the picture, and closing it leaves the output
   * as it was.
   * @throws when it does not come up; nothing is left running then
   */
  open(output: ChosenOutput, options: HelperOptions, cookie: Buffer, deps: HelperDeps): Promise<Display>;
  /** Gives back what a display still holds that was killed together with its agent. Never throws. */
  reclaim(): void;
}

/** none: nothing can be shown on this host. off: the administrator has not turned it on, or to something else. */
export type ConsoleState = 'none' | 'off' | 'taken' | 'free';

/** The display beside the host in the hands of one session. */
export interface ConsoleClaim {
  readonly startDisplay: StartDisplay;
  /** Viewers hear what is played. */
  readonly audible: boolean;
  /** When nothing of the session is left. Repeatable. */
  release(): void;
}

/**
 * The display beside this host: who has it, and how it is to be used.
 *
 *   free ──claim──► taken ──release──► free
 *
 * One session at a time. What is configured counts from the claim on; a change moves nothing that is shown.
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

  /** Looks again at what this host lacks, which an administrator may have mended. @returns null: nothing */
  look(): ScreenNeed | null {
    this.#lacks = this.#screens.lacks();
    return this.#lacks;
  }

  /** What the last look found lacking; null: nothing. */
  get lacks(): ScreenNeed | null {
    return this.#lacks;
  }

  /** The administrator's choice of a compositor; null: nothing is to be shown. */
  get wanted(): ConsoleConfig['compositor'] | null {
    return this.#config?.enabled ? this.#config.compositor : null;
  }

  /** @param config null: off */
  configure(config: ConsoleConfig | null): void {
    this.#config = config;
  }

  get state(): ConsoleState {
    if (this.#lacks !== null) return 'none';
    if (this.wanted !== 'weston') return 'off';
    return this.#holder === null ? 'free' : 'taken';
  }

  /** Only where the state is free. */
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
