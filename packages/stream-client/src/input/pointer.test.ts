// @vitest-environment happy-dom
import type { InputMessage } from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Finger } from '../types.ts';
import { Pointer } from './pointer.ts';
import { recordingSender } from './recording-sender.ts';

const WIDTH = 640;
const HEIGHT = 480;

let surface: HTMLElement;
let overlay: HTMLElement;
let pointer: Pointer;
let sent: InputMessage[];
let enabled: boolean;
let wantsLock: boolean;
let locked: Element | null;
let lockOptions: unknown[];

beforeEach(() => {
  [sent, enabled, wantsLock, locked, lockOptions] = [[], true, false, null, []];
  const environment = {
    monotonicMs: () => 0,
    setTimeout: (work: () => void) => {
      work();
      return { cancel: () => undefined };
    },
  };
  const sender = recordingSender(environment, (message) => sent.push(message));
  surface = document.createElement('div');
  overlay = document.createElement('button');
  overlay.dataset.streamOverlay = '';
  const video = document.createElement('video');
  Object.defineProperties(video, {
    // The picture has twice as many pixels as its element has CSS pixels.
    videoWidth: { value: WIDTH * 2 },
    videoHeight: { value: HEIGHT * 2 },
    getBoundingClientRect: { value: () => ({ left: 0, top: 0, width: WIDTH, height: HEIGHT }) },
  });
  surface.append(video, overlay);
  document.body.append(surface);
  Object.defineProperty(document, 'pointerLockElement', { configurable: true, get: () => locked });
  Object.assign(document, { exitPointerLock: () => lock(null) });
  Object.assign(surface, {
    requestPointerLock: (options: unknown) => {
      lockOptions.push(options);
      lock(surface);
      return Promise.resolve();
    },
  });
  pointer = new Pointer(sender, surface, video, {
    isEnabled: () => enabled,
    onGesture: () => undefined,
    onPress: () => undefined,
    wantsLock: () => wantsLock && locked === null,
    onLockChange: () => undefined,
  });
});

afterEach(() => {
  pointer.dispose();
  surface.remove();
});

function lock(element: Element | null): void {
  locked = element;
  document.dispatchEvent(new Event('pointerlockchange'));
}

const MOVE = 'onpointerrawupdate' in window ? 'pointerrawupdate' : 'pointermove';

function fire(target: EventTarget, type: string, fields: Record<string, unknown> = {}): Event {
  const event = new Event(type, { bubbles: true, cancelable: true });
  Object.assign(event, {
    clientX: 0,
    clientY: 0,
    pointerType: 'mouse',
    pointerId: 1,
    pressure: 0.5,
    ...fields,
  });
  target.dispatchEvent(event);
  return event;
}
const finger = (type: string, pointerId: number, clientX: number, clientY: number) =>
  fire(surface, type, { pointerType: 'touch', pointerId, clientX, clientY });

describe('fingers on the picture', () => {
  test('a tap is down and up of contact 0 at its position, and sends no mouse click', () => {
    const down = finger('pointerdown', 7, WIDTH, 0);
    finger('pointerup', 7, WIDTH, 0);
    expect(down.defaultPrevented).toBe(true);
    expect(sent).toMatchObject([
      { kind: 'touch', action: 'down', contact: 0, x: 65_535, y: 0, pressure: 128 },
      { kind: 'touch', action: 'up', contact: 0, x: 65_535, y: 0, pressure: 0 },
    ]);
  });

  test('a drag moves the contact that came down, and only while it is down', () => {
    finger(MOVE, 7, 10, 10);
    finger('pointerdown', 7, 0, 0);
    finger(MOVE, 7, WIDTH, HEIGHT);
    finger('pointerup', 7, WIDTH, HEIGHT);
    finger(MOVE, 7, 0, 0);
    expect(sent.map((message) => message.kind === 'touch' && message.action)).toEqual(['down', 'move', 'up']);
  });

  test('two fingers are two contacts, and a free number is reused', () => {
    finger('pointerdown', 7, 0, 0);
    finger('pointerdown', 8, 0, 0);
    finger('pointerup', 7, 0, 0);
    finger('pointerdown', 9, 0, 0);
    expect(sent.map((message) => message.kind === 'touch' && [message.action, message.contact])).toEqual([
      ['down', 0],
      ['down', 1],
      ['up', 0],
      ['down', 0],
    ]);
  });

  test('a touch that the system takes over is cancelled', () => {
    finger('pointerdown', 7, 0, 0);
    finger('pointercancel', 7, 0, 0);
    expect(sent.at(-1)).toMatchObject({ kind: 'touch', action: 'cancel', contact: 0 });
  });

  test('an eleventh finger is ignored', () => {
    for (let id = 1; id <= 11; id++) finger('pointerdown', id, 0, 0);
    finger('pointerup', 11, 0, 0);
    expect(sent).toHaveLength(10);
  });

  test('after the session released everything, a finger that is still down sends nothing', () => {
    finger('pointerdown', 7, 0, 0);
    pointer.forget();
    finger(MOVE, 7, 5, 5);
    finger('pointerup', 7, 5, 5);
    expect(sent).toHaveLength(1);
  });
});

describe('fingers that are read by the page', () => {
  let read: string[];
  const reader = {
    finger: ({ action, id, x, y }: Finger) => read.push(`${action} ${id} ${x} ${y}`),
    forget: () => read.push('forget'),
  };
  beforeEach(() => {
    read = [];
    pointer.setFingers(reader);
  });

  test('are reported from down to up, and nothing is sent to the session', () => {
    finger('pointerdown', 7, 1, 2);
    finger(MOVE, 7, 3, 4);
    finger('pointerup', 7, 5, 6);
    finger(MOVE, 7, 7, 8);
    finger('pointercancel', 7, 9, 9);
    expect(read).toEqual(['down 7 1 2', 'move 7 3 4', 'up 7 5 6']);
    expect(sent).toEqual([]);
  });

  test('are no longer reported after the session released everything, or when the reader changes', () => {
    finger('pointerdown', 7, 1, 2);
    pointer.forget();
    finger(MOVE, 7, 3, 4);
    finger('pointerdown', 8, 0, 0);
    pointer.setFingers(null);
    finger('pointerup', 8, 0, 0);
    expect(read).toEqual(['down 7 1 2', 'forget', 'down 8 0 0', 'forget']);
    finger('pointerdown', 9, 0, 0);
    expect(sent).toMatchObject([{ kind: 'touch', action: 'down' }]);
  });

  test('the reader sends moves, buttons, scrolls and a touch, at points of the page', () => {
    pointer.moveTo(WIDTH, HEIGHT);
    pointer.button(2, true, { x: 0, y: 0 });
    pointer.button(2, false, null);
    pointer.scroll(0, -100);
    pointer.touch({ action: 'down', x: WIDTH / 2, y: 0, pressure: 9 });
    expect(sent).toMatchObject([
      { kind: 'pointer_abs', x: 65_535, y: 65_535 },
      { kind: 'button', button: 2, down: true, position: { x: 0, y: 0 } },
      { kind: 'button', button: 2, down: false, position: null },
      { kind: 'wheel', dx: 0, dy: -120 },
      { kind: 'touch', action: 'down', contact: 0, x: 32_768, y: 0, pressure: 9 },
    ]);
    // One CSS pixel of the page is two pixels of the picture.
    pointer.moveBy(3, 0);
    expect(sent.at(-1)).toMatchObject({ kind: 'pointer_rel', sum_x: 96 });
  });
});

describe('buttons', () => {
  test('carry their position, and are released wherever the pointer is', () => {
    fire(surface, 'mousedown', { button: 2, clientX: WIDTH / 2, clientY: HEIGHT / 2 });
    fire(window, 'mouseup', { button: 2, clientX: WIDTH * 3, clientY: 0 });
    expect(sent).toMatchObject([
      { kind: 'button', button: 2, down: true, position: { x: 32_768, y: 32_768 } },
      { kind: 'button', button: 2, down: false, position: { x: 65_535, y: 0 } },
    ]);
  });

  test('a release without a press, a sixth button and a click outside the picture send nothing', () => {
    fire(window, 'mouseup', { button: 0 });
    fire(surface, 'mousedown', { button: 5 });
    fire(surface, 'mousedown', { button: 0, clientX: WIDTH + 1 });
    expect(sent).toEqual([]);
  });

  test("the page's own controls, and a page that has the input to itself, send nothing", () => {
    fire(overlay, 'mousedown', { button: 0 });
    fire(overlay, 'wheel', { deltaY: 100, deltaX: 0, deltaMode: 0 });
    enabled = false;
    fire(surface, 'mousedown', { button: 0 });
    fire(surface, MOVE, { clientX: 3 });
    expect(sent).toEqual([]);
  });

  test('the wheel sends whole units and keeps the rest', () => {
    for (let turn = 0; turn < 3; turn++) fire(surface, 'wheel', { deltaX: 0, deltaY: 0.5, deltaMode: 0 });
    fire(surface, 'wheel', { deltaX: -3, deltaY: 0, deltaMode: 1 });
    expect(sent).toMatchObject([
      { kind: 'wheel', dx: 0, dy: 1 },
      { kind: 'wheel', dx: -120, dy: 0 },
    ]);
  });
});

describe('the pointer lock', () => {
  test('is requested with the next click when the app wants it, without acceleration', () => {
    fire(surface, 'mousedown', { button: 0 });
    expect(locked).toBeNull();
    wantsLock = true;
    fire(surface, 'mousedown', { button: 0 });
    expect(locked).toBe(surface);
    expect(lockOptions).toEqual([{ unadjustedMovement: true }]);
  });

  test('while locked, motion is sent as totals in 1/16 stream pixel, and clicks have no position', () => {
    lock(surface);
    fire(surface, MOVE, { movementX: 2, movementY: -1 });
    fire(surface, MOVE, { movementX: 1, movementY: 0 });
    fire(surface, 'mousedown', { button: 0 });
    expect(sent.filter(({ kind }) => kind === 'pointer_rel').at(-1)).toMatchObject({ sum_x: 96, sum_y: -32 });
    expect(sent.at(-1)).toMatchObject({ kind: 'button', down: true, position: null });
  });

  test('is released when the app releases it, unless the person locked it', () => {
    lock(surface);
    pointer.releaseAppLock();
    expect(locked).toBe(surface);
    pointer.unlock();
    wantsLock = true;
    fire(surface, 'mousedown', { button: 0 });
    pointer.releaseAppLock();
    expect(locked).toBeNull();
  });
});
