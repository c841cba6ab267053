import { errorText } from '@footlight/platform';
import type { AudioServer } from '../../display/audio-server.ts';
import { startAudioServer } from '../../display/audio-server.ts';
import type { HelperDeps, HelperOptions } from '../../display/helper.ts';
import { startWindowManager, type WindowManager } from '../../display/window-manager.ts';
import type { Display, StartDisplay } from '../../display/xvfb.ts';

export interface ScreenAndSoundOptions extends HelperOptions {
  startDisplay: StartDisplay;
  /** Cookie of the display, the same as in the session's Xauthority file. */
  cookie: Buffer;
  width: number;
  height: number;
  audio: boolean;
  /** Whether apps may hear the viewer's microphone. */
  microphone: boolean;
}

/**
 * Screen and sound of one session: display server, window manager, sound server. Teardown order: window manager and
 * sound server, then the display; in another order, the first two would log errors.
 */
export class ScreenAndSound {
  readonly display: Display;
  /** null: the session has no sound. */
  readonly audio: AudioServer | null;
  /** Why the sound server failed; null: no problem. */
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
   * Starts display and sound in parallel. The window manager starts as soon as the display listens, so that it connects
   * before any app. Display and window manager are required; sound is not, because a session without sound is still
   * useful. When the promise resolves, the display perhaps does not answer yet.
   * @param onDisplay called as soon as the display listens; open() waits for its result
   * @throws when display or window manager do not start, or onDisplay fails; then no process is left running
   */
  static async open(
    options: ScreenAndSoundOptions,
    deps: HelperDeps,
    onDisplay: (display: Display) => Promise<void>,
  ): Promise<ScreenAndSound> {
    // The display is started first, because it takes longer.
    const screen = options.startDisplay(options, options.cookie, deps);
    const sound = startSound(options, deps);
    let display: Display;
    try {
      display = await screen;
    } catch (error) {
      await (await sound).audio?.close();
      throw error;
    }
    const [recorded, managed, { audio, problem }] = await Promise.all([
      settled(onDisplay(display)),
      settled(startWindowManager({ ...options, display: display.name }, deps)),
      sound,
    ]);
    if (recorded.status === 'fulfilled' && managed.status === 'fulfilled')
      return new ScreenAndSound(display, managed.value, audio, problem);
    const windowManager = managed.status === 'fulfilled' ? managed.value : null;
    await Promise.allSettled([windowManager?.close(), audio?.close()]);
    await display.close();
    throw [recorded, managed].find((result) => result.status === 'rejected')?.reason;
  }

  async close(): Promise<void> {
    await Promise.all([this.#windowManager.close(), this.audio?.close()]);
    await this.display.close();
  }
}

async function startSound(
  options: ScreenAndSoundOptions,
  deps: HelperDeps,
): Promise<{ audio: AudioServer | null; problem: string | null }> {
  if (!options.audio && !options.microphone) return { audio: null, problem: null };
  try {
    return { audio: await startAudioServer(options, deps), problem: null };
  } catch (error) {
    return { audio: null, problem: errorText(error) };
  }
}

async function settled<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([promise]);
  return result;
}
