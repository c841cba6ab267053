// @vitest-environment happy-dom
import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { app } from '../../test/fixtures.ts';
import { useSpotlight } from './use-spotlight.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

test('the spotlight shows the app on which the pointer rests, not those that it crosses', () => {
  const { result } = renderHook(() => useSpotlight(false));
  const [, rest] = result.current;
  act(() => {
    rest(app(0));
    vi.advanceTimersByTime(50);
    rest(app(1));
    vi.advanceTimersByTime(119);
  });
  expect(result.current[0]).toBeNull();
  act(() => {
    vi.advanceTimersByTime(1);
  });
  expect(result.current[0]?.id).toBe(app(1).id);
});

test('a launch does not change it', () => {
  const { result, rerender } = renderHook(({ held }) => useSpotlight(held), {
    initialProps: { held: false },
  });
  act(() => result.current[1](app(0)));
  rerender({ held: true });
  act(() => {
    vi.runAllTimers();
  });
  expect(result.current[0]).toBeNull();
});
