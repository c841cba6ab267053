import type { AgentHello, PointerMode } from '@footlight/protocol/input';
import { Cleanup } from '../environment.ts';
import type { Environment, FingerReader, InputStatus, PointerOutput } from '../types.ts';
import { Gamepads } from './gamepads.ts';
import { Keyboard } from './keyboard.ts';
import { Pointer } from './pointer.ts';
import type { InputSender } from './sender.ts';

export interface ControlsHooks {
  /** whether a picture is shown, so that input is sent to the session */
  isLive(): boolean;
  onGesture(): void;
  onPaste(text: string): void;
  onMenu(source: 'keyboard' | 'pad' | 'touch'): void;
  onChange(status: InputStatus): void;
  /** label of the text area that gets the keys; undefined: English */
  inputLabel?: string | undefined;
}

interface LockableKeyboard {
  lock?(): Promise<void>;
  unlock?(): void;
}

/**
 * All input of one client: its listeners, whether they are active, and the status for the page.
 *
 * Input is sent to the session while it is enabled (the page's choice) and live (a picture is shown). Owns keyboard,
 * pointer, pads and their listeners; dispose() releases held keys and the pointer, and frees everything.
 */
export class Controls {
  readonly keyboard: Keyboard;
  readonly pads: Gamepads;
  #surface: HTMLElement;
  #pointer: Pointer;
  #sender: InputSender;
  #hooks: ControlsHooks;
  #cleanup = new Cleanup();
  #enabled = true;
  #relative = false;
  #keyboardLocked = false;
  #padCount = 0;
  #maxPads = 0;
  #touchScreen = false;

  constructor(
    environment: Pick<Environment, 'monotonicMs' | 'setInterval' | 'setTimeout'>,
    sender: InputSender,
    surface: HTMLElement,
    video: HTMLVideoElement,
    hooks: ControlsHooks,
  ) {
    this.#sender = sender;
    this.#surface = surface;
    this.#hooks = hooks;
    const isEnabled = () => this.#enabled && hooks.isLive();
    this.keyboard = new Keyboard(environment, sender, surface, {
      isEnabled,
      onGesture: hooks.onGesture,
      onPaste: hooks.onPaste,
      onEscape: () => {
        this.#pointer.unlock();
        hooks.onMenu('keyboard');
      },
      onRelease: () => this.#pointer.forget(),
      label: hooks.inputLabel,
    });
    this.#pointer = new Pointer(sender, surface, video, {
      isEnabled,
      onGesture: hooks.onGesture,
      onPress: () => this.keyboard.focus(),
      wantsLock: () => this.#relative && !this.#pointer.isLocked,
      onLockChange: () => this.#report(),
    });
    this.pads = new Gamepads(environment, sender, {
      isEnabled,
      onCount: (pads) => {
        this.#padCount = pads;
        this.#report();
      },
      onMenu: (drawn) => hooks.onMenu(drawn ? 'touch' : 'pad'),
    });
    this.#cleanup.listen(document, 'fullscreenchange', () => this.#onFullscreenChange());
  }

  get status(): InputStatus {
    return {
      enabled: this.#enabled,
      pointer_locked: this.#pointer?.isLocked ?? false,
      pointer_lock_wanted: this.#relative,
      fullscreen: this.#isFullscreen,
      keyboard_locked: this.#keyboardLocked,
      pads: this.#padCount,
      max_pads: this.#maxPads,
      touch_screen: this.#touchScreen,
    };
  }

  get pointer(): PointerOutput {
    return this.#pointer;
  }

  setFingers(reader: FingerReader | null): void {
    this.#pointer.setFingers(reader);
  }

  /** The host of a new connection has sent its hello. No keys are held on this connection yet. */
  greeted(hello: AgentHello): void {
    this.#maxPads = hello.max_pads;
    this.#touchScreen = hello.touch_screen ?? false;
    this.pads.announce(hello.max_pads, hello.pad_indexes);
  }

  /** Another connection becomes current. The host released all keys at the end of the old connection. */
  forget(): void {
    this.#relative = false;
    this.#pointer.forget();
    this.#report();
  }

  setEnabled(enabled: boolean): void {
    if (enabled === this.#enabled) return;
    if (!enabled) this.releaseAll();
    this.#enabled = enabled;
    this.#report();
  }

  setPointerMode(mode: PointerMode): void {
    this.#relative = mode.relative;
    if (!mode.relative) this.#pointer.releaseAppLock();
    this.#report();
  }

  releaseAll(): void {
    this.keyboard.releaseAll();
  }

  lockPointer(): Promise<boolean> {
    return this.#pointer.lock();
  }

  unlockPointer(): void {
    this.#pointer.unlock();
  }

  async enterFullscreen(): Promise<boolean> {
    try {
      await this.#surface.requestFullscreen({ navigationUI: 'hide' });
    } catch {
      return false;
    }
    this.keyboard.focus();
    const keyboard = lockableKeyboard();
    if (keyboard?.lock !== undefined) {
      // Without the keyboard lock, only the keys that the operating system reserves do not reach the session.
      this.#keyboardLocked = await keyboard.lock().then(
        () => true,
        () => false,
      );
      this.#report();
    }
    return true;
  }

  async exitFullscreen(): Promise<void> {
    if (this.#isFullscreen) await document.exitFullscreen().catch(() => undefined);
  }

  async toggleFullscreen(): Promise<void> {
    if (this.#isFullscreen) await this.exitFullscreen();
    else await this.enterFullscreen();
  }

  get #isFullscreen(): boolean {
    return document.fullscreenElement?.contains(this.#surface) ?? false;
  }

  dispose(): void {
    this.#cleanup.run();
    this.keyboard.dispose();
    this.#pointer.dispose();
    this.pads.dispose();
    this.#sender.attach(null);
  }

  #onFullscreenChange(): void {
    if (!this.#isFullscreen && this.#keyboardLocked) {
      lockableKeyboard()?.unlock?.();
      this.#keyboardLocked = false;
    }
    this.#report();
  }

  #report(): void {
    this.#hooks.onChange(this.status);
  }
}

function lockableKeyboard(): LockableKeyboard | undefined {
  return (navigator as unknown as { keyboard?: LockableKeyboard }).keyboard;
}
