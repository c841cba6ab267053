import type { Clock, Timer } from '@footlight/platform';
import type { KeyboardLayout } from '@footlight/protocol/input';
import type { XInput } from '../../display/x11/x-input.ts';
import { FIRST_LAYOUT } from '../../display/x11/x-layout.ts';
import type { Gamepads } from '../../input/gamepads.ts';
import type { TouchScreen } from '../../input/touch-screen.ts';
import type { InputAction } from './input-state.ts';
import { OWNER, type PageRights } from './page-rights.ts';
import { type DisplayAction, type DueAction, PressHold } from './press-hold.ts';

type LayoutListener = (inForce: KeyboardLayout, known: boolean) => void;

/** Sends the input of a session to its targets: the display (once it is open), the gamepads and the touch screen. */
export class SessionInput {
  readonly #clock: Clock;
  readonly size: { width: number; height: number };
  /** Maps a point of the picture (in pixels of the launch size) to the display. */
  toDisplay: (x: number, y: number) => { x: number; y: number } = (x, y) => ({ x, y });
  /** null: the session has no gamepads. */
  readonly #gamepads: Gamepads | null;
  #device: XInput | null = null;
  #touchScreen: TouchScreen | null = null;

  readonly #presses: PressHold;
  #layout = FIRST_LAYOUT;
  /** Number of layouts that the display is setting. */
  #setting = 0;
  /** The newest layout that a viewer chose before the display was open. */
  #chosen: { layout: KeyboardLayout; onSet: LayoutListener } | null = null;
  #timer: Timer | null = null;
  #closed = false;

  /** @param holdMs shortest time that a key or button stays down, or up */
  constructor(clock: Clock, size: { width: number; height: number }, gamepads: Gamepads | null, holdMs = 0) {
    this.#clock = clock;
    this.size = size;
    this.#gamepads = gamepads;
    this.#presses = new PressHold(holdMs);
  }

  /**
   * Must be called before the first viewer connects.
   * @param touchScreen null: the display does not read a touch screen
   */
  connect(device: XInput, touchScreen: TouchScreen | null): void {
    this.#device = device;
    this.#touchScreen = touchScreen;
    const chosen = this.#chosen;
    this.#chosen = null;
    if (chosen) this.setLayout(chosen.layout, chosen.onSet);
  }

  /**
   * Sets the display's keyboard map before later keys are applied. If the display is not open yet, the newest chosen
   * layout is set later.
   * @param onSet receives the display's current layout, and whether it is the chosen one
   */
  setLayout(layout: KeyboardLayout, onSet: LayoutListener): void {
    if (this.#device === null) {
      this.#chosen = { layout, onSet };
      return;
    }
    if (this.#setting === 0 && isSame(layout, this.#layout)) {
      onSet(this.#layout, true);
      return;
    }
    this.#setting++;
    void this.#device.layout(layout).then((known) => {
      this.#setting--;
      if (known) this.#layout = layout;
      onSet(this.#layout, known);
    });
  }

  get hasTouchScreen(): boolean {
    return this.#touchScreen !== null;
  }

  /** Lock bits of the display after all waiting actions were applied: 1 caps, 2 num, 4 scroll. */
  get locks(): number {
    return (this.#device?.locks ?? 0) ^ this.#presses.waitingLocks;
  }

  get maxPads(): number {
    return this.#gamepads?.max ?? 0;
  }

  /** Switches to another viewer of a person. @param pads indexes of the gamepads that this viewer announced */
  takeOver(pads: ReadonlySet<number>, person: PageRights = OWNER): void {
    this.#gamepads?.takeOver(pads, person);
  }

  /** Drops the waiting text of a person. */
  dropText(person: PageRights): void {
    this.#presses.dropText(person);
    this.#device?.dropText(person);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /**
   * Performs the actions of one message, in order. A press may have to wait behind a press that is being extended, or
   * behind text that is being typed.
   * @param onApplied called when the last action was injected; not called if it is dropped
   * @param person the person whose page sent the message
   */
  perform(
    actions: readonly InputAction[],
    onApplied: (() => void) | null = null,
    person: PageRights = OWNER,
  ): void {
    if (actions.length === 0) onApplied?.();
    for (const [index, action] of actions.entries()) {
      const onDone = index === actions.length - 1 ? onApplied : null;
      if (isOnDisplay(action)) {
        const shown = action.do === 'text' ? { ...action, typist: person } : action;
        if (this.#device)
          this.#performAll(this.#device, this.#presses.add(shown, this.#clock.monotonicMs(), onDone));
        continue;
      }
      if (action.do === 'pad_on') this.#gamepads?.on(action.index, person);
      else if (action.do === 'pad_off') this.#gamepads?.off(action.index, person);
      else if (action.do === 'pad') this.#gamepads?.apply(action.index, action.snapshot, person);
      else this.#touchScreen?.contact(action.contact, action.at && this.toDisplay(action.at.x, action.at.y));
      onDone?.();
    }
  }

  #performAll(device: XInput, due: readonly DueAction[]): void {
    for (const { action, onApplied } of due) this.#performOnDisplay(device, action, onApplied);
    this.#timer?.cancel();
    const atMs = this.#presses.nextAtMs;
    const performDue = () => this.#performAll(device, this.#presses.due(this.#clock.monotonicMs()));
    this.#timer =
      atMs === null ? null : this.#clock.setTimeout(performDue, Math.ceil(atMs - this.#clock.monotonicMs()));
  }

  #performOnDisplay(device: XInput, action: DisplayAction, onApplied: (() => void) | null): void {
    const onTaken = () => {
      if (this.#closed) return;
      const nowMs = this.#clock.monotonicMs();
      this.#presses.taken(action, nowMs);
      this.#performAll(device, this.#presses.due(nowMs));
    };
    switch (action.do) {
      case 'key':
        device.key(action.code, action.down, onApplied, onTaken);
        return;
      case 'button':
        device.button(action.button, action.down, onApplied, onTaken);
        return;
      case 'move_to': {
        const { x, y } = this.toDisplay(action.x, action.y);
        device.moveTo(x, y);
        break;
      }
      case 'move_by':
        device.moveBy(action.dx, action.dy);
        break;
      case 'wheel':
        device.wheel(action.clicksX, action.clicksY);
        break;
      case 'text':
        device.text(action.text, action.typist);
        break;
    }
    // Called at once, although moves, wheel and text may still wait behind a text. This is allowed, because no latency
    // is measured from them.
    onApplied?.();
  }
}

function isSame(a: KeyboardLayout, b: KeyboardLayout): boolean {
  return a.layout === b.layout && a.variant === b.variant;
}

function isOnDisplay(
  action: InputAction,
): action is Exclude<InputAction, { do: 'pad_on' | 'pad_off' | 'pad' | 'contact' }> {
  return action.do !== 'pad_on' && action.do !== 'pad_off' && action.do !== 'pad' && action.do !== 'contact';
}
