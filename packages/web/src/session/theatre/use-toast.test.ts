// @vitest-environment happy-dom
import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { noteInput } from '../../focus/input-kind.ts';
import type { Touch } from '../touch/use-touch.ts';
import type { StreamView } from '../use-stream.ts';
import { HINT_MS, useToast } from './use-toast.ts';

beforeEach(() => {
  vi.useFakeTimers();
  noteInput('xbox');
});
afterEach(() => {
  cleanup();
  localStorage.clear();
  vi.useRealTimers();
});

const STREAM: StreamView = {
  client: null,
  state: { kind: 'live', signaling: 'connected', app_launch_state: null },
  history: [],
  audio: null,
  input: null,
  shown: true,
  app: null,
  notice: null,
  display: null,
  layout: null,
  windows: [],
  guests: [],
  ownerWatches: true,
};

const hint = (barAsked: boolean) =>
  renderHook(
    (asked: boolean) =>
      useToast(STREAM, undefined, {
        ...{ ending: false, recordAtMs: 0, barAsked: asked },
        touch: { kit: null, holds: false },
      }),
    {
      initialProps: barAsked,
    },
  );

test('the hint for a gamepad’s controls is shown for a while', () => {
  const { result } = hint(false);
  expect(result.current?.label).toMatch(/^Hold .+ for the controls$/);
  act(() => vi.advanceTimersByTime(HINT_MS));
  expect(result.current).toBeNull();
});

test('it disappears when the controls are opened, and does not come back', () => {
  const { result, rerender } = hint(false);
  rerender(true);
  expect(result.current).toBeNull();
  rerender(false);
  expect(result.current).toBeNull();
});

test('on a touch screen, the first session of a browser tells how a finger opens the controls', () => {
  noteInput('pointer');
  const touched = (holds: boolean) =>
    renderHook(() =>
      useToast(STREAM, undefined, {
        ...{ ending: false, recordAtMs: 0, barAsked: false },
        touch: { kit: {} as Touch['kit'], holds },
      }),
    );
  expect(touched(false).result.current?.label).toBe('Hold a finger on the picture for the controls');
  expect(touched(false).result.current).toBeNull();
  localStorage.clear();
  const { result } = touched(true);
  expect(result.current?.label).toBe('Press the handle at the edge for the controls');
  act(() => vi.advanceTimersByTime(6_000));
  expect(result.current).toBeNull();
});
