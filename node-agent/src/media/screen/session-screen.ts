import { type Clock, errorText } from '@footlight/platform';
import { XConnection } from '../../display/x11/x-connection.ts';
import { XDrawing } from '../../display/x11/x-drawing.ts';
import { XInput } from '../../display/x11/x-input.ts';
import { type ScreenSize, XScreenSize } from '../../display/x11/x-screen.ts';
import type { DeviceFile } from '../../input/device-file.ts';
import { TouchScreen } from '../../input/touch-screen.ts';
import type { SessionInput } from '../input/session-input.ts';
import { MediaFailure, type MediaReports } from '../session/media-reports.ts';
import type { ViewerChannels } from '../viewer/viewer-channels.ts';
import type { AppState, DisplayUpdate, PrepareMessage, WorkerMessage } from '../worker/worker-messages.ts';
import { SessionDesktop } from './session-desktop.ts';
import { SessionDisplay } from './session-display.ts';
import { SessionWindows } from './session-windows.ts';

export interface SessionScreenOptions {
  prepare: PrepareMessage;
  /** Device file of the session's touch screen; null: the first contact of a viewer drives the pointer. */
  touchFile: DeviceFile | null;
  input: SessionInput;
  reports: MediaReports;
  clock: Clock;
  send(message: WorkerMessage): void;
  forEachViewer(visit: (channels: ViewerChannels) => void): void;
  /** Runs a change of the screen while its capture is stopped. */
  withoutCapture(change: () => Promise<void>): Promise<void>;
  /** Applies another size of the picture; null: this encoder cannot resize while it runs. */
  resizePicture: (() => void) | null;
  /** Size of the picture that rate control chose. */
  ratePicture(): ScreenSize;
}

/**
 * The media worker's access to the display of one session: connection, input and touch screen, desktop state for
 * viewers, windows, and changes of size, one at a time.
 *
 * new → (open) → open → (freeze: windows are no longer watched) → (stop: touch screen and desktop are freed) → (close:
 * the connection is freed). Owner: the media session.
 */
export class SessionScreen {
  readonly #options: SessionScreenOptions;
  readonly #sizes: SessionDisplay;
  #connection: XConnection | null = null;
  #screen: XScreenSize | null = null;
  #drawing: XDrawing | null = null;
  #touchScreen: TouchScreen | null = null;
  #desktop: SessionDesktop | null = null;
  /** null: windows are not watched, because the display cannot be resized (console). */
  #windows: SessionWindows | null = null;
  /** Settles when the newest change of size has ended. */
  #resizing: Promise<void> = Promise.resolve();
  #frozen = false;

  constructor(options: SessionScreenOptions) {
    this.#options = options;
    const { width, height } = options.prepare.stream;
    this.#sizes = new SessionDisplay(
      { width, height },
      {
        resizeScreen: (size) => options.withoutCapture(async () => this.#screen?.resize(size)),
        screenSize: async () => this.#screen?.size() ?? null,
        setScale: async (scale) => this.#screen?.setScale(scale),
        resizePicture: options.resizePicture,
      },
    );
    options.input.toDisplay = (x, y) => this.#sizes.toDisplay(x, y);
  }

  /** @throws MediaFailure */
  async open(): Promise<void> {
    const { prepare, input, clock, reports, forEachViewer, send } = this.#options;
    try {
      this.#connection = await XConnection.open(prepare.display, clock, () =>
        reports.fail('display_failed', 'the display went away'),
      );
      const device = await XInput.open(this.#connection);
      this.#screen = await XScreenSize.open(this.#connection);
      this.#drawing = await XDrawing.open(this.#connection);
      const size = await this.#screen.size();
      this.#sizes.found(size);
      this.#touchScreen = this.#buildTouchScreen(size);
      input.connect(device, this.#touchScreen);
      this.#desktop = await SessionDesktop.open(this.#connection, {
        forEachViewer,
        onPresented: (watch) => send({ type: 'app_presented', watch }),
      });
    } catch (error) {
      throw new MediaFailure('display_failed', errorText(error));
    }
  }

  /** Size of the picture: requested, set by a window, or chosen by rate control. */
  get picture(): ScreenSize {
    const { width, height } = this.#sizes.picture ?? this.#options.ratePicture();
    return { width, height };
  }

  /** Whether a request or a window, not rate control, decides the size of the picture. */
  get isPicturePinned(): boolean {
    return this.#sizes.picture !== null;
  }

  metrics(): Record<string, number | string | boolean> {
    return this.#sizes.metrics();
  }

  /** See XDrawing.next(). @returns false: the display is closed */
  async nextDrawing(): Promise<boolean> {
    return (await this.#drawing?.next()) ?? false;
  }

  restDrawing(): void {
    this.#drawing?.rest();
  }

  /** Sends the current state to a new viewer. */
  greet(channels: ViewerChannels): void {
    channels.control(this.#sizes.message(this.picture));
    this.#desktop?.greet(channels);
    this.#listWindows(channels);
  }

  reportSizes(): void {
    this.#options.forEachViewer((channels) => {
      channels.control(this.#sizes.message(this.picture));
    });
  }

  setAppState(state: AppState): void {
    this.#desktop?.setAppState(state);
  }

  setClipboard(text: string): void {
    this.#desktop?.setClipboard(text);
  }

  /** Raises and focuses an app's window; an unknown id is ignored. */
  useWindow(id: number): void {
    this.#windows?.use(id);
  }

  watchApp(watch: number, onlyNew: boolean): void {
    const { reports, send } = this.#options;
    this.#desktop?.watchApp(watch, onlyNew).then(
      () => send({ type: 'watching', watch }),
      (error: unknown) => reports.fail('display_failed', errorText(error)),
    );
  }

  /** Changes sizes after all earlier changes; the result is sent to the agent. */
  change(update: DisplayUpdate): void {
    this.#enqueue(() => this.#change(update));
  }

  /** Withdraws the change with this number, or undoes it. */
  withdraw(request: number): void {
    this.#sizes.withdraw(request);
    this.#enqueue(async () => {
      if (await this.#sizes.undo(request)) this.reportSizes();
    });
  }

  /** Starts to watch windows, so that the display adopts the size of an app's only window. */
  followWindows(): void {
    const { prepare, clock, send, forEachViewer } = this.#options;
    this.#windows = new SessionWindows({
      display: prepare.display,
      clock,
      base: () => this.#sizes.base,
      onCount: (count) => send({ type: 'windows', count }),
      onList: () => forEachViewer((channels) => this.#listWindows(channels)),
      onFit: (size) => this.#enqueue(() => this.#fitWindow(size)),
    });
    this.#windows.open().catch((error: unknown) => this.#logNotFitted(error));
  }

  freeze(): void {
    this.#frozen = true;
    this.#windows?.close();
  }

  /** Must be called after the viewers are closed and the input has released its keys. */
  stop(): void {
    this.#touchScreen?.close();
    this.#desktop?.close();
  }

  close(): void {
    this.#connection?.close();
  }

  #listWindows(channels: ViewerChannels): void {
    if (this.#windows !== null) channels.control({ type: 'windows', windows: [...this.#windows.list] });
  }

  /** @param change never throws */
  #enqueue(change: () => Promise<void>): void {
    this.#resizing = this.#resizing.then(change);
  }

  /** Runs one change. Never throws; the result is sent to the agent. */
  async #change(update: DisplayUpdate): Promise<void> {
    const { send } = this.#options;
    const { request } = update;
    try {
      await this.#sizes.apply(update);
    } catch (error) {
      // Reported again, because a screen that could not be restored may have neither the old nor the new size.
      this.reportSizes();
      send({ type: 'display_done', request, error: errorText(error).slice(0, 256) });
      return;
    }
    this.reportSizes();
    send({ type: 'display_done', request, error: null });
  }

  /** Sets the display to a window's size. Never throws. @param size null: the display's own size */
  async #fitWindow(size: ScreenSize | null): Promise<void> {
    if (this.#frozen) return;
    try {
      if (await this.#sizes.fitTo(size)) this.reportSizes();
    } catch (error) {
      this.reportSizes();
      this.#logNotFitted(error);
    }
  }

  #logNotFitted(error: unknown): void {
    this.#options.reports.log('warn', 'media.window_not_fitted', { error: errorText(error) });
  }

  #buildTouchScreen(size: ScreenSize): TouchScreen | null {
    const { touchFile, prepare, reports } = this.#options;
    if (touchFile === null) return null;
    const onProblem = (error: string) => reports.log('warn', 'media.touch_screen_failed', { error });
    try {
      return new TouchScreen(touchFile, { sessionId: prepare.session_id, size, onProblem });
    } catch (error) {
      touchFile.close();
      onProblem(errorText(error));
      return null;
    }
  }
}
