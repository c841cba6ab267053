// @vitest-environment happy-dom
import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
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

function open() {
  const place = { current: theatre };
  return renderHook(() => useBar(place, null, () => {})).result;
}

function pointer(type: string, init: PointerEventInit): void {
  act(() => {
    theatre.dispatchEvent(new PointerEvent(type, { isPrimary: true, pointerType: 'touch', ...init }));
  });
}

const wait = (ms: number) => act(() => vi.advanceTimersByTime(ms));

test('the mouse at the top edge brings the bar, and it leaves after two seconds', () => {
  const bar = open();
  pointer('pointermove', { pointerType: 'mouse', clientY: 200 });
  expect(bar.current.shown).toBe(false);
  pointer('pointermove', { pointerType: 'mouse', clientY: 2 });
  expect(bar.current.shown).toBe(true);
  wait(2_000);
  expect(bar.current.shown).toBe(false);
});

test('it stays while the pointer is in it', () => {
  const bar = open();
  pointer('pointermove', { pointerType: 'mouse', clientY: 2 });
  act(() => bar.current.hold('pointer', true));
  wait(10_000);
  expect(bar.current.shown).toBe(true);
  act(() => bar.current.hold('pointer', false));
  wait(2_000);
  expect(bar.current.shown).toBe(false);
});

test('a finger that rests brings it, trembling included', () => {
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
