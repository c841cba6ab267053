import type { Timer } from '@footlight/platform/timer';
import { LOCK, MAX_TEXT_BYTES } from '@footlight/protocol/input';
import { Cleanup } from '../environment.ts';
import type { Environment } from '../types.ts';
import { HeldKeys, type KeyAction, type KeyFacts } from './held-keys.ts';
import { isPageControl } from './overlay.ts';
import type { InputSender } from './sender.ts';

/**
 * Time limit for the browser's `paste` event after its key event; without a `paste` event only the key is sent. Chosen,
 * not measured.
 */
const PASTE_WAIT_MS = 60;

export interface KeyboardHooks {
  isEnabled(): boolean;
  /** the person made a gesture: actions that need a gesture may run */
  onGesture(): void;
  /** the person pressed the key combination that releases the keyboard from the session */
  onEscape(): void;
  /** all keys were released: the listener clears its own records of held keys */
  onRelease(): void;
  /** the person pasted this text */
  onPaste(text: string): void;
  /** label of the text area for screen readers; undefined: English */
  label?: string | undefined;
}

/**
 * Physical keys of the focused surface, text of input methods, and the paste key.
 *
 * A hidden text area in the surface has the focus, because only an editable element gets composition events and opens
 * the keyboard of a touch screen. Keys are handled before the page handles them; keys of an input method arrive as
 * text.
 *
 * Owner: Controls. dispose() releases held keys, and frees the listeners, the text area and the wait for a paste.
 */
export class Keyboard {
  /** the element that has the focus for the surface; null: the surface cannot have children */
  readonly field: HTMLTextAreaElement | null;
  #environment: Pick<Environment, 'setTimeout'>;
  #sender: InputSender;
  #surface: HTMLElement;
  #hooks: KeyboardHooks;
  #held = new HeldKeys();
  #cleanup = new Cleanup();
  #pasting: { key: KeyFacts; timer: Timer } | null = null;
  #isApple = /Mac|iPhone|iPad/.test(navigator.platform);
  #isWindows = /^Win/.test(navigator.platform);

  constructor(
    environment: Pick<Environment, 'setTimeout'>,
    sender: InputSender,
    surface: HTMLElement,
    hooks: KeyboardHooks,
  ) {
    this.#environment = environment;
    this.#sender = sender;
    this.#surface = surface;
    this.#hooks = hooks;
    this.field = surface instanceof HTMLVideoElement ? null : this.#createField();
    if (surface.tabIndex < 0) surface.tabIndex = 0;
    const { field } = this;
    if (field !== null) this.#cleanup.listen(surface, 'focus', () => field.focus({ preventScroll: true }));
    this.#cleanup.listen(surface, 'keydown', (event) => this.#onKeyDown(event as KeyboardEvent));
    this.#cleanup.listen(surface, 'keyup', (event) => this.#onKeyUp(event as KeyboardEvent));
    this.#cleanup.listen(surface, 'paste', (event) => this.#onPaste(event as ClipboardEvent));
    this.#cleanup.listen(surface, 'compositionend', (event) => {
      if (!isPageControl(event)) this.#onComposed((event as CompositionEvent).data);
    });
    this.#cleanup.listen(surface, 'beforeinput', (event) => this.#onBeforeInput(event as InputEvent));
    this.#cleanup.listen(surface, 'focusout', () => this.releaseAll());
    this.#cleanup.listen(window, 'blur', () => this.releaseAll());
    this.#cleanup.listen(document, 'visibilitychange', () => {
      if (document.hidden) this.releaseAll();
    });
    // A page in the back/forward cache gets no key events and would miss releases.
    this.#cleanup.listen(window, 'pagehide', () => this.releaseAll());
  }

  focus(): void {
    if (
      document.activeElement?.closest('[data-stream-typing]') &&
      this.#surface.contains(document.activeElement)
    )
      return;
    (this.field ?? this.#surface).focus({ preventScroll: true });
  }

  /** Releases all keys, buttons, contacts and pads, in the page and in the session. */
  releaseAll(): void {
    this.#held.clear();
    this.#pasting?.timer.cancel();
    this.#pasting = null;
    this.#sender.send({ kind: 'release_all' });
    this.#hooks.onRelease();
  }

  /**
   * Types characters independently of the keyboard layout. A long text is sent in several messages, split between
   * characters.
   */
  sendText(text: string): void {
    const encoder = new TextEncoder();
    const buffer = new Uint8Array(MAX_TEXT_BYTES);
    for (let rest = text; rest.length > 0; ) {
      const { read } = encoder.encodeInto(rest, buffer);
      if (read === 0) return;
      this.#sender.send({ kind: 'text', text: rest.slice(0, read) });
      rest = rest.slice(read);
    }
  }

  /** Presses the keys in order and releases them in reverse order. */
  sendKeys(codes: string[]): void {
    const facts = codes.map((code): KeyFacts => ({ code, repeat: false, locks: 0 }));
    const held = new HeldKeys();
    for (const key of facts) this.#send(held.down(key));
    for (const key of facts.reverse()) this.#send(held.up(key));
  }

  dispose(): void {
    this.releaseAll();
    this.#cleanup.run();
    this.field?.remove();
  }

  #createField(): HTMLTextAreaElement {
    const field = document.createElement('textarea');
    field.setAttribute('aria-label', this.#hooks.label ?? 'Stream input');
    field.autocapitalize = 'off';
    field.autocomplete = 'off';
    field.spellcheck = false;
    // Touching the picture must not open the on-screen keyboard.
    field.inputMode = 'none';
    field.tabIndex = -1;
    Object.assign(field.style, {
      position: 'absolute',
      left: '0',
      top: '0',
      width: '1px',
      height: '1px',
      padding: '0',
      border: '0',
      opacity: '0',
      resize: 'none',
      pointerEvents: 'none',
    });
    this.#surface.append(field);
    return field;
  }

  #onKeyDown(event: KeyboardEvent): void {
    if (!this.#hooks.isEnabled() || isPageControl(event)) return;
    this.#hooks.onGesture();
    // Key code 229: an input method handles the key, and its text arrives by composition.
    if (event.isComposing || event.keyCode === 229) return;
    if (isEscapeChord(event)) {
      event.preventDefault();
      this.releaseAll();
      (document.activeElement as HTMLElement | null)?.blur();
      this.#hooks.onEscape();
      return;
    }
    const key = facts(event);
    if (this.#isApple && key.code === 'CapsLock') {
      event.preventDefault();
      this.#send(this.#held.tap(key));
      return;
    }
    event.stopPropagation();
    // Sends a waiting paste first, so that later keys do not overtake it.
    if (!event.repeat) this.#finishPaste();
    // On-screen keyboards send keys without a code; the text of these keys arrives as input.
    if (event.code === '') return;
    // For AltGr, Windows reports Ctrl and Alt in many layouts, although the person did not press Ctrl.
    if (this.#isWindows && event.code === 'AltRight' && event.key === 'AltGraph')
      this.#send(this.#held.up({ ...key, code: 'ControlLeft' }));
    if (isPasteKey(event) && !event.repeat) {
      // The clipboard must reach the session before the key that pastes it.
      this.#pasting = { key, timer: this.#environment.setTimeout(() => this.#finishPaste(), PASTE_WAIT_MS) };
      return;
    }
    event.preventDefault();
    this.#send(this.#held.down(key));
  }

  #onKeyUp(event: KeyboardEvent): void {
    if (!this.#hooks.isEnabled() || isPageControl(event)) return;
    const key = facts(event);
    event.preventDefault();
    event.stopPropagation();
    this.#finishPaste();
    if (this.#isApple && key.code === 'CapsLock') this.#send(this.#held.tap(key));
    else this.#send(this.#held.up(key));
  }

  #onPaste(event: ClipboardEvent): void {
    if (!this.#hooks.isEnabled() || isPageControl(event)) return;
    event.preventDefault();
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (text !== '') this.#hooks.onPaste(text);
    this.#finishPaste();
  }

  #finishPaste(): void {
    const pasting = this.#pasting;
    if (pasting === null) return;
    this.#pasting = null;
    pasting.timer.cancel();
    this.#send(this.#held.down(pasting.key));
  }

  #onComposed(text: string): void {
    if (this.#hooks.isEnabled() && text !== '') this.sendText(text);
    if (this.field !== null) this.field.value = '';
  }

  #onBeforeInput(event: InputEvent): void {
    // Handles only text of touch keyboards: the field itself handles a composition, and other input was handled as
    // keys.
    if (isPageControl(event) || event.isComposing || event.inputType.startsWith('insertComposition')) return;
    event.preventDefault();
    if (!this.#hooks.isEnabled()) return;
    if (event.inputType === 'insertText' && event.data !== null) this.sendText(event.data);
    else if (event.inputType === 'insertLineBreak') this.sendKeys(['Enter']);
    else if (event.inputType === 'deleteContentBackward') this.sendKeys(['Backspace']);
  }

  #send(actions: KeyAction[]): void {
    for (const action of actions) this.#sender.send({ kind: 'key', ...action });
  }
}

function facts(event: KeyboardEvent): KeyFacts {
  const locks =
    (event.getModifierState('CapsLock') ? LOCK.caps : 0) |
    (event.getModifierState('NumLock') ? LOCK.num : 0) |
    (event.getModifierState('ScrollLock') ? LOCK.scroll : 0);
  return { code: event.code, repeat: event.repeat, locks };
}

/**
 * Whether the event is the key combination that releases the keyboard from the session. All other keys are sent to the
 * session.
 */
function isEscapeChord(event: KeyboardEvent): boolean {
  return event.code === 'KeyZ' && event.ctrlKey && event.altKey && event.shiftKey;
}

function isPasteKey(event: KeyboardEvent): boolean {
  const withV = event.code === 'KeyV' && (event.ctrlKey || event.metaKey) && !event.altKey;
  return withV || (event.code === 'Insert' && event.shiftKey);
}
