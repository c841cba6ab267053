// @vitest-environment happy-dom
import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { useNextLaunch } from './use-next-launch.ts';

const app = { id: 'blender', name: 'Blender', profileId: '1080p60' };

afterEach(cleanup);

function opened() {
  const launch = vi.fn();
  const hook = renderHook(({ over }) => useNextLaunch(over, launch), { initialProps: { over: false } });
  return { launch, current: hook.result, end: () => hook.rerender({ over: true }) };
}

test('a relaunch starts once, when the session is over', () => {
  const { launch, current, end } = opened();
  act(() => current.current.launchNext(app));
  expect(launch).not.toHaveBeenCalled();
  end();
  end();
  expect(launch.mock.calls).toEqual([[app]]);
});

test('a relaunch whose end failed launches nothing when the session ends later', () => {
  const { launch, current, end } = opened();
  act(() => current.current.launchNext(app));
  act(() => current.current.forget());
  end();
  expect(launch).not.toHaveBeenCalled();
});
