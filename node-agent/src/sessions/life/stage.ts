import { errorText } from '@footlight/platform';
import type { AudioServer } from '../../display/audio-server.ts';
import { startAudioServer } from '../../display/audio-server.ts';
import type { HelperDeps, HelperOptions } from '../../display/helper.ts';
import { startWindowManager, type WindowManager } from '../../display/window-manager.ts';
import type { Display, StartDisplay } from '../../display/xvfb.ts';

export interface StageOptions extends HelperOptions {
  startDisplay: StartDisplay;
  /** Cookie of the display, as in the session's file. */
  cookie: Buffer;
  width: number;
  height: number;
  audio: boolean;
  /** Whether apps may hear the viewer. */
  microphone: boolean;
}

/**
 * Screen and sound of one session: display server, window manager, sound server.
 * Teardown order: window manager and sound, then the display, because its end would make them log errors.
 */
export class Stage {
  readonly display: Display;
  /** null = a session without sound. */
  readonly audio: AudioServer | null;
  /** Why the sound server failed; null = no problem. */
  readonly audioProblem: string | null;
  readonly #windowManager: WindowManager;

  private constructor(
    display: Display,
    windowManager: WindowManager,
    audio: AudioServer | null,
    audioProblem: string | null,
  ) {
    this.display = display;
    this.audio = audio;
    this.audioProblem = audioProblem;
    this.#windowManager = windowManager;
  }

  /**
   * Starts all parts in parallel. A session without sound is still useful, so only the display must start; it may not
   * answer yet. The window manager connects before any app.
   * @param onDisplay called when display and sound exist; open() waits for it in parallel with the window manager
   * @throws when the display does not start; nothing is left running
   */
  static async open(
    options: StageOptions,
    deps: HelperDeps,
    onDisplay: (display: Display) => Promise<void>,
  ): Promise<Stage> {
    // The display first, because it takes longer.
    const screen = options.startDisplay(options, options.cookie, deps);
    const sound =
      options.audio || options.microphone ? startAudioServer(options, deps) : Promise.resolve(null);
    const [screenResult, soundResult] = await Promise.allSettled([screen, sound]);
    const audio = soundResult.status === 'fulfilled' ? soundResult.value : null;
    if (screenResult.status === 'rejected') {
      await audio?.close();
      throw screenResult.reason;
    }
    const display = screenResult.value;
    const told = onDisplay(display);
    try {
      const windowManager = await startWindowManager({ ...options, display: display.name }, deps);
      await told;
      const problem = soundResult.status === 'rejected' ? errorText(soundResult.reason) : null;
      return new Stage(display, windowManager, audio, problem);
    } catch (error) {
      await Promise.allSettled([told, audio?.close()]);
      await display.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#windowManager.close(), this.audio?.close()]);
    await this.display.close();
  }
}
