import type { Cursor } from '@footlight/protocol/input';
import type { CursorShape } from '../../display/x11/cursor-shape.ts';
import { XClipboard } from '../../display/x11/x-clipboard.ts';
import type { XConnection } from '../../display/x11/x-connection.ts';
import { XCursor } from '../../display/x11/x-cursor.ts';
import { XPointerMode } from '../../display/x11/x-pointer-mode.ts';
import { XPresented } from '../../display/x11/x-presented.ts';
import type { ViewerChannels } from '../viewer/viewer-channels.ts';
import type { AppState } from '../worker/worker-messages.ts';

export interface SessionDesktopEvents {
  forEachViewer(visit: (channels: ViewerChannels) => void): void;
  /**
   * Called when an app window has drawn for the first time.
   * @param watch number of the watch that detected it, from 0
   */
  onPresented(watch: number): void;
}

/**
 * State of the desktop for viewers: the app's state, the pointer's shape and mode, the clipboard. Owner: the media
 * session, which opens it with the display connection and closes it before that connection.
 */
export class SessionDesktop {
  readonly #x: XConnection;
  readonly #events: SessionDesktopEvents;
  #cursor: XCursor | null = null;
  #clipboard: XClipboard | null = null;
  #presented: XPresented | null = null;
  #pointerMode: XPointerMode | null = null;
  #appState: AppState = 'starting';
  #closed = false;

  private constructor(x: XConnection, events: SessionDesktopEvents) {
    this.#x = x;
    this.#events = events;
  }

  /** @throws when the display lacks a required X extension */
  static async open(x: XConnection, events: SessionDesktopEvents): Promise<SessionDesktop> {
    const desktop = new SessionDesktop(x, events);
    desktop.#cursor = await XCursor.open(x, (shape) =>
      desktop.#notify((channels) => channels.cursor(cursorMessage(shape))),
    );
    desktop.#clipboard = await XClipboard.open(x, (text) =>
      desktop.#notify((channels) => channels.clipboard(text)),
    );
    desktop.#presented = await XPresented.open(x, () => desktop.#sawWindow(0));
    desktop.#pointerMode = new XPointerMode(
      x,
      () => desktop.#cursor?.shape === null,
      (relative) => desktop.#notify((channels) => channels.control({ type: 'pointer_mode', relative })),
    );
    return desktop;
  }

  /**
   * Restarts the watch for an app's first window.
   * @param onlyNew whether to ignore existing windows
   */
  async watchApp(watch: number, onlyNew: boolean): Promise<void> {
    this.#presented?.close();
    this.#presented = null;
    const seen = () => this.#sawWindow(watch);
    const presented = await (onlyNew ? XPresented.openForNew(this.#x, seen) : XPresented.open(this.#x, seen));
    if (this.#closed) presented.close();
    else this.#presented = presented;
  }

  setAppState(state: AppState): void {
    if (state === this.#appState) return;
    this.#appState = state;
    this.#notify((channels) => channels.control({ type: 'app', state }));
  }

  /** Called when a viewer copied text. */
  setClipboard(text: string): void {
    this.#clipboard?.set(text);
  }

  /** Sends the current state to a new viewer. */
  greet(channels: ViewerChannels): void {
    channels.control({ type: 'app', state: this.#appState });
    channels.cursor(cursorMessage(this.#cursor?.shape ?? null));
    if (this.#pointerMode?.relative) channels.control({ type: 'pointer_mode', relative: true });
  }

  close(): void {
    this.#closed = true;
    this.#presented?.close();
    this.#pointerMode?.close();
    this.#clipboard?.close();
    this.#cursor?.close();
  }

  #sawWindow(watch: number): void {
    this.setAppState('presented');
    this.#events.onPresented(watch);
  }

  #notify(visit: (channels: ViewerChannels) => void): void {
    this.#events.forEachViewer(visit);
  }
}

function cursorMessage(shape: CursorShape | null): Cursor | null {
  if (!shape) return null;
  const { id, width, height, hotX, hotY, png } = shape;
  return { type: 'cursor', id, width, height, hot_x: hotX, hot_y: hotY, png };
}
