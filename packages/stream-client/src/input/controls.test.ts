// @vitest-environment happy-dom
import type { InputMessage } from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Controls } from './controls.ts';
import { recordingSender } from './recording-sender.ts';

let surface: HTMLElement;
let controls: Controls;
let sent: InputMessage[];
let locked: Element | null;

beforeEach(() => {
  [sent, locked] = [[], null];
  const environment = {
    monotonicMs: () => 0,
    setTimeout: () => ({ cancel: () => undefined }),
    setInterval: () => ({ cancel: () => undefined }),
  };
  const sender = recordingSender(environment, (message) => sent.push(message));
  surface = document.createElement('div');
  const video = document.createElement('video');
  Object.defineProperties(video, {
    videoWidth: { value: 640 },
    videoHeight: { value: 480 },
    getBoundingClientRect: { value: () => ({ left: 0, top: 0, width: 640, height: 480 }) },
  });
  surface.append(video);
  document.body.append(surface);
  Object.defineProperty(document, 'pointerLockElement', { configurable: true, get: () => locked });
  Object.assign(document, { exitPointerLock: () => lock(null) });
  Object.assign(surface, {
    requestPointerLock: () => {
      lock(surface);
      return Promise.resolve();
    },
  });
  controls = new Controls(environment, sender, surface, video, {
    isLive: () => true,
    onGesture: () => undefined,
    onPaste: () => undefined,
    onMenu: () => undefined,
    onChange: () => undefined,
  });
});

afterEach(() => {
  controls.dispose();
  surface.remove();
});

function lock(element: Element | null): void {
  locked = element;
  document.dispatchEvent(new Event('pointerlockchange'));
}

function mouse(target: EventTarget, type: string): void {
  const place = { button: 0, clientX: 10, clientY: 10, pointerType: 'mouse', pointerId: 1 };
  target.dispatchEvent(Object.assign(new Event(type, { bubbles: true, cancelable: true }), place));
}
const kinds = () =>
  sent.map((message) => (message.kind === 'button' ? `button ${message.down}` : message.kind));

describe('the window loses the focus', () => {
  test('while the pointer is locked: everything is released, and a later button release is not sent', () => {
    controls.setPointerMode({ type: 'pointer_mode', relative: true });
    mouse(surface, 'mousedown');
    expect(controls.status).toMatchObject({ pointer_locked: true, pointer_lock_wanted: true });
    window.dispatchEvent(new Event('blur'));
    // Browsers end the pointer lock themselves.
    lock(null);
    mouse(window, 'mouseup');
    expect(kinds().at(-1)).toBe('release_all');
    expect(kinds()).not.toContain('button false');
    expect(controls.status.pointer_locked).toBe(false);
  });

  test('and the next click in the picture locks the pointer again', () => {
    controls.setPointerMode({ type: 'pointer_mode', relative: true });
    mouse(surface, 'mousedown');
    window.dispatchEvent(new Event('blur'));
    lock(null);
    mouse(surface, 'mousedown');
    expect(controls.status.pointer_locked).toBe(true);
  });
});

test('when the page disables input, held keys are released and nothing more is sent', () => {
  mouse(surface, 'mousedown');
  controls.setEnabled(false);
  mouse(window, 'mouseup');
  mouse(surface, 'mousedown');
  expect(kinds()).toEqual(['button true', 'release_all']);
});
