import { delay } from '@footlight/platform';
import type { KeyboardLayout } from '@footlight/protocol/input';
import type { XEvent, XKeyboard, XTest } from 'x11';
import { equalKeysyms, keysymOf } from './keysyms.ts';
import { LOCK_KEYS } from './lock-keys.ts';
import type { XConnection } from './x-connection.ts';
import { loadLayout } from './x-layout.ts';

/** X keycodes are evdev codes plus eight. */
const EVDEV_OFFSET = 8;
const SHIFT_LEFT = 42 + EVDEV_OFFSET;

/** X button numbers of the buttons left, middle, right, back, forward. */
const X_BUTTON = [1, 2, 3, 8, 9] as const;
const WHEEL_BUTTON = { up: 4, down: 5, left: 6, right: 7 } as const;

const LOCK_MASK = 0x02;
const NUM_LOCK_MASK = 0x10;
/** Mask of all parts of a keyboard map (XkbMapNotify). */
const ALL_MAP_PARTS = 0xff;
/** Events of the keyboard extension (XKB) that have no names in the library. Source: XKBproto, appendix D. */
const NEW_KEYBOARD_NOTIFY = 0;
const MAP_NOTIFY = 1;
/** Detail bit of XkbStateNotify: the locked modifiers changed. */
const MODIFIER_LOCK = 1 << 3;

/** Time for apps to read a changed keyboard map before its keys are pressed. */
const REMAP_SETTLE_MS = 30;
/** Largest number of wheel clicks per message, so that one message cannot keep the display busy. */
const MAX_CLICKS = 64;

/**
 * Largest number of characters that may wait. A keyboard map has only a few dozen spare keys, so a long text of
 * characters without a key needs many maps. A viewer could therefore send characters faster than the display can type
 * them.
 */
const MAX_WAITING_TEXT = 65_536;
/**
 * Largest number of other inputs that may wait behind a text, and their longest wait. Over either limit, the text is
 * dropped and the inputs are applied.
 */
const MAX_WAITING = 1_000;
const MAX_WAITING_MS = 3_000;

interface Text {
  text: string;
  /** The person who typed it; compared by identity. */
  typist: object | null;
}

/** Input that waits behind a text. Consecutive pointer moves are merged. */
type Waiting =
  | { kind: 'move'; atMs: number; x: number; y: number; relative: boolean }
  | ({ kind: 'text' } & Text)
  | { kind: 'other'; atMs: number; run(): void };

/**
 * Injects input into an X display by XTEST, in order. Typing a text may have to wait until apps have read a new
 * keyboard map. Later input waits behind the text up to a limit; then the text is dropped. Keys and buttons are never
 * dropped, because a key whose release is lost would stay down.
 *
 * idle ⇄ typing. Owner: the session's screen. It has no close(): timers and listeners end with the connection, and
 * InputState releases pressed keys before that.
 */
export class XInput {
  readonly #x: XConnection;
  readonly #test: XTest;
  readonly #xkb: XKeyboard;
  #keymap: KeyboardMap;
  /** Whether the display's keyboard map differs from `#keymap`. If so, the map is read before the next text. */
  #keymapIsStale = false;
  /** Identifies the text being typed; replaced when that text is dropped. */
  #typing: Text | null = null;
  #waiting: Waiting[] = [];
  #waitingText = 0;
  /** Settles when apps have had time to read the newest keyboard map. */
  #remapped: Promise<void> = Promise.resolve();
  /** Lock bits of the display. Scroll lock has no modifier in X, so its bit is tracked here. */
  #locks = 0;

  private constructor(x: XConnection, test: XTest, xkb: XKeyboard, keymap: KeyboardMap) {
    this.#x = x;
    this.#test = test;
    this.#xkb = xkb;
    this.#keymap = keymap;
  }

  /** @throws when the display has no XTEST or no XKB */
  static async open(x: XConnection): Promise<XInput> {
    const test = await x.request<XTest>((callback) => x.client.require('xtest', callback));
    const xkb = await x.request<XKeyboard>((callback) => x.client.require('xkb', callback));
    const input = new XInput(x, test, xkb, await KeyboardMap.read(x));
    await input.#followKeyboard();
    return input;
  }

  /** Current lock bits: 1 caps, 2 num, 4 scroll. */
  get locks(): number {
    return this.#locks;
  }

  /** Reads caps lock, num lock and the keyboard map, and observes their changes, because apps change them too. */
  async #followKeyboard(): Promise<void> {
    const xkb = this.#xkb;
    const { NewKeyboardNotify, MapNotify, StateNotify } = xkb.EventType;
    this.#x.client.on('event', (event: XEvent) => {
      if (event.type !== xkb.firstEvent) return;
      if (event.lockedMods !== undefined) this.#setLocks(event.lockedMods);
      const { xkbType } = event;
      if (xkbType === MAP_NOTIFY || xkbType === NEW_KEYBOARD_NOTIFY) this.#keymapIsStale = true;
    });
    const affected = NewKeyboardNotify | MapNotify | StateNotify;
    xkb.SelectEvents(
      xkb.UseCoreKbd,
      affected,
      0,
      NewKeyboardNotify | MapNotify,
      ALL_MAP_PARTS,
      ALL_MAP_PARTS,
      { stateNotify: [MODIFIER_LOCK, MODIFIER_LOCK] },
    );
    const { keyMask } = await this.#x.request<{ keyMask: number }>((callback) =>
      this.#x.client.QueryPointer(this.#x.root, callback),
    );
    this.#setLocks(keyMask);
  }

  #setLocks(modifiers: number): void {
    this.#locks = (modifiers & LOCK_MASK ? 1 : 0) | (modifiers & NUM_LOCK_MASK ? 2 : 0) | (this.#locks & 4);
  }

  /**
   * @param code evdev code
   * @param onInjected called when the event was sent to the display; a text that is being typed delays the event
   * @param onTaken called later, when the display has processed the event
   */
  key(
    code: number,
    down: boolean,
    onInjected: (() => void) | null = null,
    onTaken: (() => void) | null = null,
  ): void {
    this.#run(() => {
      const lock = LOCK_KEYS.find((entry) => entry.code === code);
      if (lock && down) this.#locks ^= lock.bit;
      this.#fakeKey(code + EVDEV_OFFSET, down);
      onInjected?.();
      this.#tellTaken(onTaken);
    });
  }

  /**
   * @param button 0 left, 1 middle, 2 right, 3 back, 4 forward
   * @param onInjected see key()
   * @param onTaken see key()
   */
  button(
    button: number,
    down: boolean,
    onInjected: (() => void) | null = null,
    onTaken: (() => void) | null = null,
  ): void {
    const number = X_BUTTON[button];
    if (number === undefined) return;
    this.#run(() => {
      this.#fakeButton(number, down);
      onInjected?.();
      this.#tellTaken(onTaken);
    });
  }

  /** Moves the pointer to a position in pixels of the display. */
  moveTo(x: number, y: number): void {
    this.#move(x, y, false);
  }

  moveBy(dx: number, dy: number): void {
    this.#move(dx, dy, true);
  }

  /** Turns the wheel by a number of clicks; positive is right and down. */
  wheel(clicksX: number, clicksY: number): void {
    this.#run(() => {
      this.#click(clicksY < 0 ? WHEEL_BUTTON.up : WHEEL_BUTTON.down, Math.abs(clicksY));
      this.#click(clicksX < 0 ? WHEEL_BUTTON.left : WHEEL_BUTTON.right, Math.abs(clicksX));
    });
  }

  /**
   * Types characters. A character without a key gets a spare key temporarily. A text is dropped if more than
   * MAX_WAITING_TEXT characters would then wait.
   * @param typist the person who typed the text
   */
  text(text: string, typist: object | null = null): void {
    if (this.#x.closed || this.#waitingText + text.length > MAX_WAITING_TEXT) return;
    this.#waitingText += text.length;
    const last = this.#waiting.at(-1);
    if (last?.kind === 'text' && last.typist === typist) last.text += text;
    else if (this.#typing) this.#waiting.push({ kind: 'text', text, typist });
    else this.#startTyping({ text, typist });
  }

  /**
   * Sets the keyboard map, in order with keys and text.
   * @returns false: the display has no such layout or does not answer; the old map stays
   */
  layout(layout: KeyboardLayout): Promise<boolean> {
    if (this.#x.closed) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#run(() => {
        // Set now, because the display may announce the new map only after the next text.
        this.#keymapIsStale = true;
        loadLayout(this.#x, this.#xkb, layout).then(resolve, () => resolve(false));
      });
    });
  }

  /**
   * Drops text that was not typed yet; input that waits only behind this text is applied at once.
   * @param typist the person whose text is dropped; missing: everybody's
   */
  dropText(typist?: object): void {
    const stays = (text: Text) => typist !== undefined && text.typist !== typist;
    if (this.#typing && !stays(this.#typing)) this.#typing = null;
    this.#waiting = this.#waiting.filter((entry) => entry.kind !== 'text' || stays(entry));
    const texts = this.#waiting.map((entry) => (entry.kind === 'text' ? entry.text.length : 0));
    this.#waitingText = texts.reduce((sum, length) => sum + length, this.#typing?.text.length ?? 0);
    this.#resume();
  }

  #tellTaken(onTaken: (() => void) | null): void {
    // Errors are ignored, because the connection itself reports a lost display.
    if (onTaken) this.#x.settle().then(onTaken, () => undefined);
  }

  #run(run: () => void): void {
    this.#inOrder({ kind: 'other', atMs: this.#x.clock.monotonicMs(), run });
  }

  #move(x: number, y: number, relative: boolean): void {
    const last = this.#waiting.at(-1);
    if (last?.kind !== 'move') {
      this.#inOrder({ kind: 'move', atMs: this.#x.clock.monotonicMs(), x, y, relative });
    } else if (relative) {
      last.x += x;
      last.y += y;
    } else {
      Object.assign(last, { x, y, relative });
    }
  }

  #inOrder(entry: Exclude<Waiting, { kind: 'text' }>): void {
    if (this.#x.closed) return;
    if (this.#typing && this.#waiting.length >= MAX_WAITING) this.dropText();
    if (this.#typing) this.#waiting.push(entry);
    else this.#perform(entry);
  }

  #perform(entry: Waiting): void {
    if (entry.kind === 'text') this.#startTyping(entry);
    else if (entry.kind === 'other') entry.run();
    else {
      const [x, y] = [clampInt16(entry.x), clampInt16(entry.y)];
      this.#test.FakeInput(this.#test.MotionNotify, entry.relative ? 1 : 0, 0, this.#x.root, x, y);
    }
  }

  #resume(): void {
    while (!this.#typing) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#perform(next);
    }
  }

  #startTyping({ text, typist }: Text): void {
    const typing = { text, typist };
    this.#typing = typing;
    void this.#type(typing)
      // Errors are ignored, because the connection itself reports a lost display.
      .catch(() => undefined)
      .finally(() => {
        if (this.#typing !== typing) return;
        this.#typing = null;
        this.#waitingText -= text.length;
        this.#resume();
      });
  }

  async #type(typing: { text: string }): Promise<void> {
    const keysyms = [...typing.text].map(keysymOf).filter((keysym): keysym is number => keysym !== null);
    let start = 0;
    while (start < keysyms.length && this.#typing === typing) {
      await this.#readNewKeymap();
      // Prepares as many characters as the map can contain, including new characters on spare keys.
      const { taken, changed } = this.#keymap.prepare(keysyms.slice(start));
      // Errors are ignored, because the connection itself reports a display that does not answer.
      if (changed) this.#remapped = this.#remap().catch(() => undefined);
      await this.#remapped;
      this.#giveUpWhenLate();
      if (this.#typing !== typing || this.#x.closed) return;
      for (const keysym of keysyms.slice(start, start + taken)) this.#typeOne(keysym);
      await this.#x.settle();
      start += taken;
    }
  }

  /** Reads the map once before the next text, even if apps changed it several times. */
  async #readNewKeymap(): Promise<void> {
    if (!this.#keymapIsStale) return;
    this.#keymapIsStale = false;
    this.#keymap = await KeyboardMap.read(this.#x, this.#keymap);
  }

  async #remap(): Promise<void> {
    this.#keymap.apply(this.#x);
    await this.#x.settle();
    await delay(this.#x.clock, REMAP_SETTLE_MS);
  }

  #giveUpWhenLate(): void {
    const oldest = this.#waiting.find((entry) => entry.kind !== 'text');
    if (oldest && this.#x.clock.monotonicMs() - oldest.atMs > MAX_WAITING_MS) this.dropText();
  }

  #typeOne(keysym: number): void {
    const key = this.#keymap.find(keysym);
    if (!key) return;
    // Caps lock swaps the case of letters, so it is switched off while text is typed.
    const isLetter = isCased(keysym);
    const shift = isLetter && this.#locks & 1 ? !key.shift : key.shift;
    if (shift) this.#fakeKey(SHIFT_LEFT, true);
    this.#fakeKey(key.keycode, true);
    this.#fakeKey(key.keycode, false);
    if (shift) this.#fakeKey(SHIFT_LEFT, false);
  }

  #click(button: number, times: number): void {
    for (let count = 0; count < Math.min(times, MAX_CLICKS); count++) {
      this.#fakeButton(button, true);
      this.#fakeButton(button, false);
    }
  }

  #fakeKey(keycode: number, down: boolean): void {
    this.#test.FakeInput(down ? this.#test.KeyPress : this.#test.KeyRelease, keycode, 0, 0, 0, 0);
  }

  #fakeButton(button: number, down: boolean): void {
    this.#test.FakeInput(down ? this.#test.ButtonPress : this.#test.ButtonRelease, button, 0, 0, 0, 0);
  }
}

/** Limits a number to 16 bits, because merged moves can exceed the range of a request. */
function clampInt16(value: number): number {
  return Math.max(-0x8000, Math.min(value, 0x7fff));
}

function isCased(keysym: number): boolean {
  return (keysym >= 0x41 && keysym <= 0x5a) || (keysym >= 0x61 && keysym <= 0x7a);
}

interface FoundKey {
  keycode: number;
  shift: boolean;
}

/** The display's keyboard map. Its unused keys can be assigned to characters. */
class KeyboardMap {
  readonly #keys = new Map<number, FoundKey>();
  readonly #spare: number[];
  readonly #lent = new Map<number, number>();
  readonly #toApply = new Map<number, number>();
  #nextSpare = 0;

  /** @param before former map; its assigned keys count as spare, unless the display has changed them */
  private constructor(first: number, rows: readonly number[][], before: KeyboardMap | null) {
    this.#spare = [];
    rows.forEach((row, index) => {
      const keycode = first + index;
      const lent = before === null ? undefined : before.#lent.get(keycode);
      const isLent = lent !== undefined && row.every((keysym) => keysym === 0 || keysym === lent);
      if (isLent || row.every((keysym) => keysym === 0)) this.#spare.push(keycode);
      if (isLent && row[0] === lent) this.#lent.set(keycode, lent);
      // The first two columns are the plain and the shifted character.
      [row[0], row[1]].forEach((keysym, column) => {
        if (keysym && !this.#keys.has(keysym)) this.#keys.set(keysym, { keycode, shift: column === 1 });
      });
    });
  }

  /** @param before former map; its spare keys may be reused */
  static async read(x: XConnection, before: KeyboardMap | null = null): Promise<KeyboardMap> {
    const first = x.display.min_keycode;
    const rows = await x.request<number[][]>((callback) =>
      x.client.GetKeyboardMapping(first, x.display.max_keycode - first + 1, callback),
    );
    return new KeyboardMap(first, rows, before);
  }

  find(keysym: number): FoundKey | undefined {
    for (const equal of equalKeysyms(keysym)) {
      const key = this.#keys.get(equal);
      if (key) return key;
    }
    return undefined;
  }

  /** Assigns spare keys to characters without a key. Stops at the first character for which no spare key is left. */
  prepare(keysyms: readonly number[]): { taken: number; changed: boolean } {
    const inUse = new Set<number>();
    let taken = 0;
    for (const keysym of keysyms) {
      const found = this.find(keysym);
      if (found) inUse.add(found.keycode);
      else if (!this.#lend(keysym, inUse)) break;
      taken++;
    }
    // At least one character counts as taken: a character that can get no key is skipped.
    return { taken: Math.max(1, taken), changed: this.#toApply.size > 0 };
  }

  #lend(keysym: number, inUse: Set<number>): boolean {
    for (let tries = 0; tries < this.#spare.length; tries++) {
      const keycode = this.#spare[this.#nextSpare++ % this.#spare.length];
      if (keycode === undefined || inUse.has(keycode)) continue;
      const former = this.#lent.get(keycode);
      if (former !== undefined) this.#keys.delete(former);
      this.#lent.set(keycode, keysym);
      this.#keys.set(keysym, { keycode, shift: false });
      this.#toApply.set(keycode, keysym);
      inUse.add(keycode);
      return true;
    }
    return false;
  }

  apply(x: XConnection): void {
    for (const [keycode, keysym] of this.#toApply) {
      x.client.ChangeKeyboardMapping(keycode, 2, [keysym, keysym]);
    }
    this.#toApply.clear();
  }
}
