import { errorText } from '@footlight/platform';
import { MAX_CONTACTS } from '@footlight/protocol/input';
import type { DeviceFile } from './device-file.ts';
import { ABS, EV, encodeEvents, type InputEvent, KEY, PROPERTY } from './uinput-layout.ts';
import { createDevice, type DeviceDescription, destroyDevice } from './virtual-device.ts';

/** Tracking ids have 16 bits, as in the kernel, and then start again at 0. */
const TRACKING_IDS = 0x1_0000;
const LIFTED = -1;

export interface Point {
  x: number;
  y: number;
}

/**
 * Describes a touch screen with width × height pixels. It also has the axes and the key of a single-touch screen, which
 * libinput requires.
 */
export function describeTouchScreen(phys: string, width: number, height: number): DeviceDescription {
  const axis = (code: number, maximum: number) => ({ code, minimum: 0, maximum, fuzz: 0, flat: 0 });
  return {
    identity: { name: 'Footlight touch screen', vendor: 0, product: 0, version: 1, maxEffects: 0 },
    phys,
    keys: [KEY.touch],
    axes: [
      axis(ABS.x, width - 1),
      axis(ABS.y, height - 1),
      axis(ABS.mtSlot, MAX_CONTACTS - 1),
      axis(ABS.mtPositionX, width - 1),
      axis(ABS.mtPositionY, height - 1),
      axis(ABS.mtTrackingId, TRACKING_IDS - 1),
    ],
    effects: [],
    properties: [PROPERTY.direct],
  };
}

export interface TouchScreenOptions {
  sessionId: string;
  size: { width: number; height: number };
  /** Called after a device error, which lifts the contacts but does not end the session. */
  onProblem(why: string): void;
}

/**
 * The touch screen of one session, as its display server sees it: each contact has its own slot. Owner: the media
 * session. close() removes the device; if the process dies, the kernel removes it. Source:
 * Documentation/input/multi-touch-protocol.rst of Linux, "Protocol Type B".
 */
export class TouchScreen {
  readonly #file: DeviceFile;
  readonly #onProblem: (why: string) => void;
  /** Position of each contact, oldest contact first. */
  readonly #contacts = new Map<number, Point>();
  #slot = 0;
  #nextTrackingId = 0;

  /**
   * @param options.size of the display, in pixels
   * @throws when the kernel refuses the device
   */
  constructor(file: DeviceFile, { sessionId, size, onProblem }: TouchScreenOptions) {
    this.#file = file;
    this.#onProblem = onProblem;
    createDevice(file, describeTouchScreen(`footlight/${sessionId}/touch`, size.width, size.height));
  }

  /** @param at position in pixels of the screen; null: the finger was lifted */
  contact(contact: number, at: Point | null): void {
    const before = this.#contacts.get(contact);
    if (contact < 0 || contact >= MAX_CONTACTS || (at === null && before === undefined)) return;
    const events: InputEvent[] = [];
    const put = (type: number, code: number, value: number) => events.push({ type, code, value });
    if (contact !== this.#slot) put(EV.abs, ABS.mtSlot, contact);
    this.#slot = contact;
    if (at === null) {
      this.#contacts.delete(contact);
      put(EV.abs, ABS.mtTrackingId, LIFTED);
      if (this.#contacts.size === 0) put(EV.key, KEY.touch, 0);
    } else {
      if (before === undefined) put(EV.abs, ABS.mtTrackingId, this.#nextTrackingId++ % TRACKING_IDS);
      put(EV.abs, ABS.mtPositionX, at.x);
      put(EV.abs, ABS.mtPositionY, at.y);
      if (this.#contacts.size === 0) put(EV.key, KEY.touch, 1);
      this.#contacts.set(contact, at);
    }
    const [oldest] = this.#contacts.values();
    if (oldest !== undefined) {
      put(EV.abs, ABS.x, oldest.x);
      put(EV.abs, ABS.y, oldest.y);
    }
    try {
      this.#file.write(encodeEvents(events));
    } catch (error) {
      this.#onProblem(errorText(error));
    }
  }

  close(): void {
    try {
      destroyDevice(this.#file);
    } catch {
      // Nothing to do: closing the file removes the device as well.
    }
    this.#file.close();
  }
}
