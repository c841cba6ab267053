import { CLIPBOARD_PER_SECOND, fitsClipboard } from '@footlight/protocol/input';
import type { Environment } from '../types.ts';

/**
 * Synchronises the clipboard in both directions. The page's text is sent to the session when the person pastes. The
 * app's text is written to the page's clipboard, at once if the browser allows this, otherwise at the next gesture. The
 * text is never logged. Keeps the app's newest text that waits for a gesture, and the times of the last
 * CLIPBOARD_PER_SECOND sent texts; nothing needs to be freed.
 */
export class ClipboardBridge {
  #environment: Environment;
  #send: (text: string) => boolean;
  #sentAtMs: number[] = [];
  /** newest text of the app, which waits for a gesture */
  #waiting: string | null = null;

  constructor(environment: Environment, send: (text: string) => boolean) {
    this.#environment = environment;
    this.#send = send;
  }

  /** @returns not_now: there is no connection, or the session's rate limit is reached */
  toSession(text: string): 'sent' | 'too_long' | 'not_now' {
    if (!fitsClipboard(text)) return 'too_long';
    const nowMs = this.#environment.monotonicMs();
    this.#sentAtMs = this.#sentAtMs.filter((atMs) => nowMs - atMs < 1000);
    if (this.#sentAtMs.length >= CLIPBOARD_PER_SECOND || !this.#send(text)) return 'not_now';
    this.#sentAtMs.push(nowMs);
    return 'sent';
  }

  /** @returns whether the page's clipboard was written */
  async fromSession(text: string): Promise<boolean> {
    this.#waiting = text;
    return this.onGesture();
  }

  /** Writes a waiting text at a gesture. @returns whether the page's clipboard was written */
  async onGesture(): Promise<boolean> {
    const text = this.#waiting;
    if (text === null || navigator.clipboard === undefined || !document.hasFocus()) return false;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return false;
    }
    if (this.#waiting === text) this.#waiting = null;
    return true;
  }
}
