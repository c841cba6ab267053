// @vitest-environment happy-dom
import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { callBegan, SLOW_AFTER_MS, useServerState } from './server-state.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  callBegan()(200);
  cleanup();
  vi.useRealTimers();
});

const state = () => renderHook(useServerState).result;

describe('how the server answers', () => {
  test('is slow while any call has been unanswered for three seconds', () => {
    const shown = state();
    const [first, second] = [callBegan(), callBegan()];
    act(() => vi.advanceTimersByTime(SLOW_AFTER_MS - 1));
    expect(shown.current).toBe('fine');
    act(() => vi.advanceTimersByTime(1));
    expect(shown.current).toBe('slow');
    act(() => first(200));
    expect(shown.current).toBe('slow');
    act(() => second(null));
    expect(shown.current).toBe('fine');
  });

  test.each([
    [0, 'away'],
    [500, 'failing'],
    [404, 'fine'],
  ] as const)('after the status %d is %s, until another answer', (status, expected) => {
    const shown = state();
    act(() => callBegan()(status));
    expect(shown.current).toBe(expected);
    // An aborted call does not change the state.
    act(() => callBegan()(null));
    expect(shown.current).toBe(expected);
    act(() => callBegan()(200));
    expect(shown.current).toBe('fine');
  });
});
