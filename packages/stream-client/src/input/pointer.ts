import { MAX_CONTACTS } from '@footlight/protocol/input';
import { Cleanup } from '../environment.ts';
import type { Finger, FingerReader, PointerOutput } from '../types.ts';
import { type Box, isInside, pictureBox, toWire, wheelUnits } from './geometry.ts';
import { isPageControl } from './overlay.ts';
import type { InputSender } from './sender.ts';

export interface PointerHooks {
  isEnabled(): boolean;
  onGesture(): void;
  /** a button was pressed in the picture: the stream gets the focus */
  onPress(): void;
  /** whether the app wants relative motion, but the pointer is not locked yet */
  wantsLock(): boolean;
  onLockChange(locked: boolean): void;
}

const INT16_MAX = 32_767;
/** Buttons in wire order, the same as MouseEvent.button: left, middle, right, back, forward. */
const BUTTONS = 5;

/**
 * Sends mouse, pen, wheel and touch over the picture. Locks the pointer when the app wants relative motion. Fingers are
 * sent as touches, or are passed to a reader, which translates them into input.
 *
 * Owner: Controls. Runs from its construction; dispose() unlocks the pointer, frees the listeners and restores the
 * surface's touch action. The keyboard's release_all releases held buttons and contacts.
 */
export class Pointer implements PointerOutput {
  #sender: InputSender;
  #surface: HTMLElement;
  #video: HTMLVideoElement;
  #hooks: PointerHooks;
  #cleanup = new Cleanup();
  /** browser's pointer id → contact number */
  #contacts = new Map<number, number>();
  /** browser's pointer ids of fingers that are passed to the reader */
  #fingers = new Set<number>();
  #reader: FingerReader | null = null;
  #buttons = new Set<number>();
  #wheelX = 0;
  #wheelY = 0;
  #lockedByApp = false;

  constructor(sender: InputSender, surface: HTMLElement, video: HTMLVideoElement, hooks: PointerHooks) {
    this.#sender = sender;
    this.#surface = surface;
    this.#video = video;
    this.#hooks = hooks;
    const touchAction = surface.style.touchAction;
    surface.style.touchAction = 'none';
    this.#cleanup.add(() => {
      surface.style.touchAction = touchAction;
    });
    // pointerrawupdate arrives at once; pointermove is delayed until the next frame of the page.
    const move = 'onpointerrawupdate' in window ? 'pointerrawupdate' : 'pointermove';
    const listen = (target: EventTarget, type: string, listener: (event: never) => void) =>
      this.#cleanup.listen(target, type, listener as (event: Event) => void, { passive: false });
    listen(surface, move, (event: PointerEvent) => this.#onMove(event));
    listen(surface, 'pointerdown', (event: PointerEvent) => this.#onDown(event));
    listen(surface, 'pointerup', (event: PointerEvent) => this.#onTouchEnd(event, 'up'));
    listen(surface, 'pointercancel', (event: PointerEvent) => this.#onTouchEnd(event, 'cancel'));
    listen(surface, 'mousedown', (event: MouseEvent) => this.#onButton(event, true));
    listen(window, 'mouseup', (event: MouseEvent) => this.#onButton(event, false));
    listen(surface, 'wheel', (event: WheelEvent) => this.#onWheel(event));
    for (const type of ['contextmenu', 'auxclick', 'dragstart', 'selectstart']) {
      listen(surface, type, (event: Event) => {
        if (this.#hooks.isEnabled() && !isPageControl(event)) event.preventDefault();
      });
    }
    listen(document, 'pointerlockchange', () => this.#hooks.onLockChange(this.isLocked));
  }

  get isLocked(): boolean {
    return document.pointerLockElement === this.#surface;
  }

  /**
   * Locks the pointer. Call it from a gesture. Uses raw movement if available, because games apply their own
   * acceleration.
   */
  async lock(): Promise<boolean> {
    const request = this.#surface.requestPointerLock?.bind(this.#surface) as
      | ((options?: { unadjustedMovement: boolean }) => Promise<void> | undefined)
      | undefined;
    if (request === undefined) return false;
    try {
      await request({ unadjustedMovement: true });
    } catch {
      try {
        await request();
      } catch {
        return false;
      }
    }
    return true;
  }

  unlock(): void {
    if (this.isLocked) document.exitPointerLock();
  }

  /** The app no longer wants relative motion: unlocks the pointer if it was locked for the app. */
  releaseAppLock(): void {
    if (this.#lockedByApp) this.unlock();
    this.#lockedByApp = false;
  }

  /** Sets the reader of fingers. The previous reader forgets all fingers that are down. */
  setFingers(reader: FingerReader | null): void {
    this.#reader?.forget();
    this.#fingers.clear();
    this.#reader = reader;
  }

  box(): Box {
    return this.#box();
  }

  moveTo(clientX: number, clientY: number): void {
    const { x, y } = toWire(this.#box(), clientX, clientY);
    this.#sender.moveTo(x, y);
  }

  moveBy(dx: number, dy: number): void {
    const box = this.#box();
    const scale = box.width > 0 && this.#video.videoWidth > 0 ? this.#video.videoWidth / box.width : 1;
    this.#sender.moveBy(dx * scale, dy * scale);
  }

  button(button: number, down: boolean, at: { x: number; y: number } | null): void {
    const position = at === null ? null : toWire(this.#box(), at.x, at.y);
    this.#sender.send({ kind: 'button', button, down, position });
  }

  scroll(dx: number, dy: number): void {
    this.#wheelX += wheelUnits(dx, 0);
    this.#wheelY += wheelUnits(dy, 0);
    this.#sendWheel();
  }

  touch({ action, x: clientX, y: clientY, pressure }: Omit<Finger, 'id' | 'atMs'>): void {
    const { x, y } = toWire(this.#box(), clientX, clientY);
    if (action === 'move') this.#sender.moveTouch(0, x, y, pressure);
    else this.#sender.send({ kind: 'touch', action, contact: 0, x, y, pressure });
  }

  /** The receiver has released all buttons and contacts. */
  forget(): void {
    this.#reader?.forget();
    this.#fingers.clear();
    this.#buttons.clear();
    this.#contacts.clear();
    this.#wheelX = 0;
    this.#wheelY = 0;
  }

  dispose(): void {
    this.unlock();
    this.#cleanup.run();
  }

  #box(): Box {
    const size = { width: this.#video.videoWidth, height: this.#video.videoHeight };
    return pictureBox(this.#video.getBoundingClientRect(), size, getComputedStyle(this.#video).objectFit);
  }

  #onMove(event: PointerEvent): void {
    if (!this.#hooks.isEnabled()) return;
    if (this.#fingers.has(event.pointerId)) this.#reader?.finger(finger(event, 'move'));
    else if (event.pointerType === 'touch') {
      const contact = this.#contacts.get(event.pointerId);
      if (contact === undefined) return;
      const { x, y } = toWire(this.#box(), event.clientX, event.clientY);
      this.#sender.moveTouch(contact, x, y, pressure(event));
    } else if (this.isLocked) {
      this.moveBy(event.movementX, event.movementY);
    } else {
      this.moveTo(event.clientX, event.clientY);
    }
  }

  #onDown(event: PointerEvent): void {
    if (!this.#hooks.isEnabled() || isPageControl(event)) return;
    this.#hooks.onGesture();
    if (event.pointerType !== 'touch') {
      // While a button is down, moves outside the element must also arrive.
      if (!this.isLocked) this.#surface.setPointerCapture?.(event.pointerId);
      return;
    }
    // Without this call the browser also sends the touch as mouse events.
    event.preventDefault();
    this.#hooks.onPress();
    if (this.#reader !== null) {
      this.#fingers.add(event.pointerId);
      this.#reader.finger(finger(event, 'down'));
      return;
    }
    const taken = new Set(this.#contacts.values());
    const contact = Array.from({ length: MAX_CONTACTS }, (_, index) => index).find(
      (index) => !taken.has(index),
    );
    if (contact === undefined) return;
    this.#contacts.set(event.pointerId, contact);
    const { x, y } = toWire(this.#box(), event.clientX, event.clientY);
    this.#sender.send({ kind: 'touch', action: 'down', contact, x, y, pressure: pressure(event) });
  }

  #onTouchEnd(event: PointerEvent, action: 'up' | 'cancel'): void {
    if (this.#fingers.delete(event.pointerId)) this.#reader?.finger(finger(event, action));
    const contact = this.#contacts.get(event.pointerId);
    if (contact === undefined) return;
    this.#contacts.delete(event.pointerId);
    const { x, y } = toWire(this.#box(), event.clientX, event.clientY);
    this.#sender.send({ kind: 'touch', action, contact, x, y, pressure: 0 });
  }

  #onButton(event: MouseEvent, down: boolean): void {
    const { button } = event;
    if (button < 0 || button >= BUTTONS) return;
    // A button that was pressed in the picture may be released outside it.
    if (!down && !this.#buttons.has(button)) return;
    if (down && (!this.#hooks.isEnabled() || isPageControl(event))) return;
    event.preventDefault();
    const box = this.#box();
    if (down) {
      this.#hooks.onPress();
      if (!this.isLocked && !isInside(box, event.clientX, event.clientY)) return;
      this.#buttons.add(button);
    } else {
      this.#buttons.delete(button);
    }
    const position = this.isLocked ? null : toWire(box, event.clientX, event.clientY);
    this.#sender.send({ kind: 'button', button, down, position });
    if (down && this.#hooks.wantsLock()) {
      this.#lockedByApp = true;
      void this.lock();
    }
  }

  #onWheel(event: WheelEvent): void {
    if (!this.#hooks.isEnabled() || isPageControl(event)) return;
    event.preventDefault();
    this.#wheelX += wheelUnits(event.deltaX, event.deltaMode);
    this.#wheelY += wheelUnits(event.deltaY, event.deltaMode);
    this.#sendWheel();
  }

  #sendWheel(): void {
    const dx = clamp(Math.trunc(this.#wheelX));
    const dy = clamp(Math.trunc(this.#wheelY));
    if (dx === 0 && dy === 0) return;
    this.#wheelX -= dx;
    this.#wheelY -= dy;
    this.#sender.send({ kind: 'wheel', dx, dy });
  }
}

const clamp = (value: number) => Math.max(-INT16_MAX, Math.min(INT16_MAX, value));

function finger(event: PointerEvent, action: Finger['action']): Finger {
  const { pointerId: id, clientX: x, clientY: y, timeStamp: atMs } = event;
  return { action, id, x, y, pressure: action === 'up' ? 0 : pressure(event), atMs };
}

const pressure = (event: PointerEvent) => Math.round(Math.min(1, Math.max(0, event.pressure)) * 255);
