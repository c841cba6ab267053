// @vitest-environment happy-dom
import type { StreamClient } from '@footlight/stream-client';
import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BarPlace } from './bar-place.ts';
import { useBar } from './use-bar.ts';

let theatre: HTMLElement;

beforeEach(() => {
  vi.useFakeTimers();
  theatre = document.createElement('div');
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function open(place: BarPlace = { edge: 'top', handle: false }) {
  const element = { current: theatre };
  return renderHook(() => useBar(element, null, place)).result;
}

function pointer(type: string, init: PointerEventInit): void {
  act(() => {
    theatre.dispatchEvent(new PointerEvent(type, { isPrimary: true, pointerType: 'touch', ...init }));
  });
}

const wait = (ms: number) => act(() => vi.advanceTimersByTime(ms));

const mouse = (clientX: number, clientY: number, more: PointerEventInit = {}) =>
  pointer('pointermove', { pointerType: 'mouse', clientX, clientY, ...more });

test('a mouse that rests at the top edge opens the bar, which closes after two seconds', () => {
  const bar = open();
  mouse(300, 200);
  mouse(300, 2);
  wait(299);
  expect(bar.current.shown).toBe(false);
  wait(1);
  expect(bar.current.shown).toBe(true);
  wait(2_000);
  expect(bar.current.shown).toBe(false);
});

test.each([
  ['moves on to a menu within 300 ms', () => mouse(300, 12)],
  ['drags something there', () => mouse(301, 1, { buttons: 1 })],
  ['presses a menu there', () => pointer('pointerdown', { pointerType: 'mouse', clientX: 300, clientY: 2 })],
  ['leaves the window', () => pointer('pointerleave', { pointerType: 'mouse' })],
])('a mouse that %s does not', (_what, happens) => {
  const bar = open();
  mouse(300, 2);
  wait(200);
  happens();
  wait(1_000);
  expect(bar.current.shown).toBe(false);
});

test.each([
  ['bottom', 300, window.innerHeight - 1],
  ['left', 0, 300],
  ['right', window.innerWidth - 1, 300],
] as const)('a bar that was moved to the %s edge opens only there', (edge, x, y) => {
  const bar = open({ edge, handle: false });
  mouse(300, 1);
  wait(1_000);
  expect(bar.current.shown).toBe(false);
  mouse(x, y);
  wait(300);
  expect(bar.current.shown).toBe(true);
});

test('with a handle no edge opens it', () => {
  const bar = open({ edge: 'top', handle: true });
  mouse(300, 1);
  wait(1_000);
  expect(bar.current.shown).toBe(false);
});

test('a press on the picture closes it, because it may cover what the person wants', () => {
  const bar = open();
  mouse(300, 1);
  wait(300);
  pointer('pointerdown', { pointerType: 'mouse', clientX: 300, clientY: 200 });
  expect(bar.current.shown).toBe(false);
});

test('it stays while the pointer is in it', () => {
  const bar = open();
  mouse(300, 2);
  wait(300);
  act(() => bar.current.hold('pointer', true));
  wait(10_000);
  expect(bar.current.shown).toBe(true);
  act(() => bar.current.hold('pointer', false));
  wait(2_000);
  expect(bar.current.shown).toBe(false);
});

test('a finger that rests opens it, even if it trembles', () => {
  const bar = open();
  pointer('pointerdown', { clientX: 100, clientY: 100 });
  pointer('pointermove', { clientX: 105, clientY: 104 });
  wait(600);
  expect(bar.current.shown).toBe(true);
});

test.each([
  ['drags', () => pointer('pointermove', { clientX: 140, clientY: 100 })],
  ['is joined by another', () => pointer('pointerdown', { isPrimary: false, clientX: 300, clientY: 100 })],
  ['leaves early', () => pointer('pointerup', { clientX: 100, clientY: 100 })],
])('a finger that %s does not', (_what, happens) => {
  const bar = open();
  pointer('pointerdown', { clientX: 100, clientY: 100 });
  wait(300);
  happens();
  wait(1_000);
  expect(bar.current.shown).toBe(false);
});

test('keys and a pad request the focus until the bar closes; a finger does not', () => {
  let asks: (from: { source: 'keyboard' | 'pad' | 'touch' }) => void = () => {};
  const client = {
    on(_name: string, listener: typeof asks) {
      asks = listener;
      return () => {};
    },
  } as unknown as StreamClient;
  const element = { current: theatre };
  const place: BarPlace = { edge: 'top', handle: false };
  const { result: bar } = renderHook(() => useBar(element, client, place));
  act(() => asks({ source: 'touch' }));
  expect(bar.current).toMatchObject({ shown: true, focusAsked: 0 });
  act(() => asks({ source: 'keyboard' }));
  act(() => asks({ source: 'pad' }));
  expect(bar.current).toMatchObject({ shown: true, focusAsked: 2 });
  wait(2_000);
  expect(bar.current).toMatchObject({ shown: false, focusAsked: 0 });
});
