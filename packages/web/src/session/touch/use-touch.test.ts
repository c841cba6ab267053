// @vitest-environment happy-dom
import { act, cleanup, renderHook, waitFor } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import '../../../test/patience.ts';
import { useTouch } from './use-touch.ts';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('a gamepad that is chosen after “None” does not open while its parts are moved', async () => {
  vi.stubGlobal('navigator', { ...navigator, maxTouchPoints: 5 });
  const { result } = renderHook(useTouch);
  // The code for touch screens is loaded on demand.
  await waitFor(() => expect(result.current.choice).not.toBeNull());
  const choose = (gamepad: 'full' | null) =>
    act(() => result.current.choose({ mode: 'direct', gamepad, shift: {} }));
  choose('full');
  act(() => result.current.setMoving(true));
  choose(null);
  choose('full');
  expect(result.current.moving).toBe(false);
});
