import {
  coordinateToPixel,
  type InputMessage,
  isNewerSeq,
  POINTER_REL_MAX_PX,
  POINTER_REL_UNIT,
  RELEASE_ALL_AFTER_MS,
  WHEEL_NOTCH,
  wrappedDifference,
} from '@footlight/protocol/input';
import { isNeutral, NEUTRAL_PAD, type PadSnapshot } from '../../input/virtual-pad.ts';

export type InputAction =
  | { do: 'key'; code: number; down: boolean }
  | { do: 'button'; button: number; down: boolean }
  | { do: 'move_to'; x: number; y: number }
  | { do: 'move_by'; dx: number; dy: number }
  | { do: 'wheel'; clicksX: number; clicksY: number }
  | { do: 'text'; text: string }
  /** `at` is null if the contact was lifted. Used only if the session has a touch screen. */
  | { do: 'contact'; contact: number; at: { x: number; y: number } | null }
  | { do: 'pad_on'; index: number }
  | { do: 'pad_off'; index: number }
  | { do: 'pad'; index: number; snapshot: PadSnapshot };

export interface InputStateOptions {
  /** Width of the display in pixels. */
  width: number;
  height: number;
  /** Number of gamepads of the session; announcements of further gamepads are ignored. */
  maxPads: number;
  /** Whether contacts are sent to a touch screen; if not, the first contact drives the pointer. */
  hasTouchScreen: boolean;
}

interface AnnouncedPad {
  rumble: boolean;
  isNeutral: boolean;
}

const LOCK_CODES: readonly { bit: number; code: number }[] = [
  { bit: 1, code: 58 },
  { bit: 2, code: 69 },
  { bit: 4, code: 70 },
];

/**
 * Pressed keys and buttons of one viewer. Converts the viewer's messages to ordered actions for the display. Pure. One
 * instance per connection; release() is called when the connection ends or is replaced.
 *
 * Rules: "down" for a pressed key and "up" for a released key have no effect. Motion older than the applied motion is
 * dropped. If a move was sent before a click but arrives after the click, the move is dropped. After 3 s of silence,
 * all pressed keys and buttons are released.
 */
export class InputState {
  readonly #options: InputStateOptions;
  readonly #keys = new Set<number>();
  readonly #buttons = new Set<number>();
  readonly #contacts = new Set<number>();
  readonly #pads = new Map<number, AnnouncedPad>();
  /** Sequence number of the last applied message of each motion kind. */
  readonly #motion = new Map<string, number>();
  /** Time t of the last applied BUTTON or TOUCH of the ordered channel. */
  #orderedT: number | null = null;
  #base: { x: number; y: number } | null = null;
  /** Remaining movement in sixteenths of a pixel that was not applied yet. */
  #rest = { x: 0, y: 0 };
  #wheel = { x: 0, y: 0 };
  #pointerContact: number | null = null;
  #heardAtMs = 0;

  constructor(options: InputStateOptions) {
    this.#options = options;
  }

  get holdsAnything(): boolean {
    const isPadHeld = [...this.#pads.values()].some((pad) => !pad.isNeutral);
    return isPadHeld || this.#keys.size + this.#buttons.size + this.#contacts.size > 0;
  }

  /** Indexes of the announced gamepads. */
  get pads(): ReadonlySet<number> {
    return new Set(this.#pads.keys());
  }

  /** Whether the viewer can play rumble on this gamepad. */
  canRumble(index: number): boolean {
    return this.#pads.get(index)?.rumble ?? false;
  }

  /** Records that a message arrived on any channel. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
  }

  /** Whether pressed keys must be released because the viewer sends nothing. */
  isSilent(nowMs: number): boolean {
    return this.holdsAnything && nowMs - this.#heardAtMs >= RELEASE_ALL_AFTER_MS;
  }

  /**
   * @param displayLocks current lock bits of the display
   * @returns null: the message is ignored; an empty list: the message is applied, but has no effect
   */
  apply(message: InputMessage, displayLocks: number): InputAction[] | null {
    switch (message.kind) {
      case 'key':
        return this.#key(message.code, message.down, message.locks, displayLocks);
      case 'text':
        return [{ do: 'text', text: message.text }];
      case 'release_all':
        return this.release();
      case 'button':
        return this.#button(message);
      case 'wheel':
        return this.#turnWheel(message.dx, message.dy);
      case 'touch':
        return this.#touch(message);
      case 'pointer_abs':
        if (!this.#isFresh('pointer', message.seq) || this.#isLate(message.t)) return null;
        // Totals of relative movement sent before an absolute move are useless after it.
        this.#base = null;
        return [this.#moveTo(message.x, message.y)];
      case 'pointer_rel':
        return this.#isFresh('pointer', message.seq) ? this.#moveBy(message.sum_x, message.sum_y) : null;
      case 'pad_on':
        if (message.index >= this.#options.maxPads) return null;
        this.#pads.set(message.index, {
          rumble: message.rumble,
          isNeutral: this.#pads.get(message.index)?.isNeutral ?? true,
        });
        return [{ do: 'pad_on', index: message.index }];
      case 'pad_off':
        return this.#pads.delete(message.index) ? [{ do: 'pad_off', index: message.index }] : null;
      case 'pad_state':
        return this.#pad(message);
      default:
        return null;
    }
  }

  /** Releases all keys and buttons. Gamepads stay connected, with nothing pressed. */
  release(): InputAction[] {
    const actions: InputAction[] = [];
    for (const code of this.#keys) actions.push({ do: 'key', code, down: false });
    for (const button of this.#buttons) actions.push({ do: 'button', button, down: false });
    if (this.#options.hasTouchScreen) {
      for (const contact of this.#contacts) actions.push({ do: 'contact', contact, at: null });
    }
    for (const [index, pad] of this.#pads) {
      if (!pad.isNeutral) actions.push({ do: 'pad', index, snapshot: NEUTRAL_PAD });
      pad.isNeutral = true;
    }
    this.#keys.clear();
    this.#buttons.clear();
    this.#contacts.clear();
    this.#pointerContact = null;
    return actions;
  }

  #key(code: number, down: boolean, locks: number, displayLocks: number): InputAction[] | null {
    if (down === this.#keys.has(code)) return null;
    const actions: InputAction[] = [];
    // Lock bits of this message are ignored, because the press of a lock key changes the lock itself, and browsers
    // differ in whether they send the bit from before or after the press.
    const isLockKey = LOCK_CODES.some((lock) => lock.code === code);
    if (!isLockKey) {
      for (const lock of LOCK_CODES) {
        if ((locks & lock.bit) === (displayLocks & lock.bit) || this.#keys.has(lock.code)) continue;
        actions.push({ do: 'key', code: lock.code, down: true }, { do: 'key', code: lock.code, down: false });
      }
    }
    if (down) this.#keys.add(code);
    else this.#keys.delete(code);
    actions.push({ do: 'key', code, down });
    return actions;
  }

  #button(message: Extract<InputMessage, { kind: 'button' }>): InputAction[] | null {
    if (message.down === this.#buttons.has(message.button)) return null;
    this.#orderedT = message.t;
    // A real press of the left button ends the press that a touch contact emulates.
    if (message.button === 0) this.#pointerContact = null;
    if (message.down) this.#buttons.add(message.button);
    else this.#buttons.delete(message.button);
    const press: InputAction = { do: 'button', button: message.button, down: message.down };
    if (!message.position) return [press];
    return [this.#moveTo(message.position.x, message.position.y), press];
  }

  #turnWheel(dx: number, dy: number): InputAction[] {
    this.#wheel.x += dx;
    this.#wheel.y += dy;
    const clicksX = Math.trunc(this.#wheel.x / WHEEL_NOTCH);
    const clicksY = Math.trunc(this.#wheel.y / WHEEL_NOTCH);
    this.#wheel.x -= clicksX * WHEEL_NOTCH;
    this.#wheel.y -= clicksY * WHEEL_NOTCH;
    return clicksX === 0 && clicksY === 0 ? [] : [{ do: 'wheel', clicksX, clicksY }];
  }

  #touch(message: Extract<InputMessage, { kind: 'touch' }>): InputAction[] | null {
    const { contact, action } = message;
    const isDown = this.#contacts.has(contact);
    if (action === 'move') {
      if (!isDown || !this.#isFresh(`touch ${contact}`, message.seq) || this.#isLate(message.t)) return null;
      if (this.#options.hasTouchScreen) return [{ do: 'contact', contact, at: this.#pixel(message) }];
      return this.#pointerContact === contact ? [this.#moveTo(message.x, message.y)] : [];
    }
    if (isDown === (action === 'down')) return null;
    this.#orderedT = message.t;
    if (this.#options.hasTouchScreen) {
      if (action === 'down') this.#contacts.add(contact);
      else this.#contacts.delete(contact);
      return [{ do: 'contact', contact, at: action === 'down' ? this.#pixel(message) : null }];
    }
    if (action === 'down') {
      this.#contacts.add(contact);
      if (this.#pointerContact !== null || this.#buttons.has(0)) return [];
      this.#pointerContact = contact;
      this.#buttons.add(0);
      return [this.#moveTo(message.x, message.y), { do: 'button', button: 0, down: true }];
    }
    this.#contacts.delete(contact);
    if (this.#pointerContact !== contact) return [];
    this.#pointerContact = null;
    this.#buttons.delete(0);
    const release: InputAction = { do: 'button', button: 0, down: false };
    // A cancelled touch contains no position, so the pointer is not moved.
    return action === 'cancel' ? [release] : [this.#moveTo(message.x, message.y), release];
  }

  #pad(message: Extract<InputMessage, { kind: 'pad_state' }>): InputAction[] | null {
    const pad = this.#pads.get(message.index);
    if (!pad || !this.#isFresh(`pad ${message.index}`, message.seq)) return null;
    const { left_trigger, right_trigger, buttons, axes } = message;
    const snapshot = { left_trigger, right_trigger, buttons, axes };
    pad.isNeutral = isNeutral(snapshot);
    return [{ do: 'pad', index: message.index, snapshot }];
  }

  #moveTo(x: number, y: number): InputAction {
    this.#rest = { x: 0, y: 0 };
    return { do: 'move_to', ...this.#pixel({ x, y }) };
  }

  #pixel({ x, y }: { x: number; y: number }): { x: number; y: number } {
    const { width, height } = this.#options;
    return { x: coordinateToPixel(x, width), y: coordinateToPixel(y, height) };
  }

  #moveBy(sumX: number, sumY: number): InputAction[] {
    const base = this.#base;
    this.#base = { x: sumX, y: sumY };
    if (!base) return [];
    const dx = wrappedDifference(sumX, base.x);
    const dy = wrappedDifference(sumY, base.y);
    const limit = POINTER_REL_MAX_PX * POINTER_REL_UNIT;
    if (Math.abs(dx) > limit || Math.abs(dy) > limit) return [];
    const x = this.#rest.x + dx;
    const y = this.#rest.y + dy;
    const pixelsX = Math.trunc(x / POINTER_REL_UNIT);
    const pixelsY = Math.trunc(y / POINTER_REL_UNIT);
    this.#rest = { x: x - pixelsX * POINTER_REL_UNIT, y: y - pixelsY * POINTER_REL_UNIT };
    return pixelsX === 0 && pixelsY === 0 ? [] : [{ do: 'move_by', dx: pixelsX, dy: pixelsY }];
  }

  #isFresh(kind: string, seq: number): boolean {
    const last = this.#motion.get(kind);
    if (last !== undefined && !isNewerSeq(seq, last)) return false;
    this.#motion.set(kind, seq);
    return true;
  }

  /** Whether a message is older than the last click or touch, by the sender's clock. */
  #isLate(t: number): boolean {
    return this.#orderedT !== null && wrappedDifference(t, this.#orderedT) < 0;
  }
}
