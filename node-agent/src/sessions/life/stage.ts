import { errorText } from '@footlight/platform';
import type { AudioServer } from '../../display/audio-server.ts';
import { startAudioServer } from '../../display/audio-server.ts';
import type { HelperDeps, HelperOptions } from '../../display/helper.ts';
import { startWindowManager, type WindowManager } from '../../display/window-manager.ts';
import type { Display, StartDisplay } from '../../display/xvfb.ts';

export interface StageOptions extends HelperOptions {
  startDisplay: StartDisplay;
  /** What the display asks of its clients, as in the session's file. */
  cookie: Buffer;
  width: number;
  height: number;
  audio: boolean;
  /** Whether apps may hear the viewer. */
  microphone: boolean;
}

/**
 * The screen and sound of one session: display server, window manager and sound server.
 * Order of teardown: window manager and sound, then the display, since its end would only make the others complain.
 */
export class Stage {
  readonly display: Display;
  /** null = a session without sound. */
  readonly audio: AudioServer | null;
  /** Why a session that wants sound has none; null = nothing is wrong. */
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
   * Starts everything at once. A session without its sound is still worth having, so only the display must come up; it
   * may not answer yet. The window manager connects to it before any app can.
   * @param onDisplay called as soon as display and sound stand; open() waits for it beside the window manager
   * @throws when the display does not come up; nothing is left running then
   */
  static async open(
    options: StageOptions,
    deps: HelperDeps,
    onDisplay: (display: Display) => Promise<void>,
  ): Promise<Stage> {
    // The display before the sound, because it takes longer.
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
