// @vitest-environment happy-dom
import { ManualClock } from '@footlight/platform/testing';
import { QueryClient } from '@tanstack/react-query';
import { screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { saveLogin } from './api/auth-store.ts';
import { runIn } from './clock.ts';
import { mount } from './mount.tsx';

let time: ManualClock;
let stop: () => void;
beforeEach(() => {
  time = new ManualClock();
  stop = runIn(time);
  document.body.innerHTML = '<div id="root"></div>';
});
afterEach(() => stop());

test.each([
  ['/join', '/join'],
  ['/library', '/login'],
])('when the account signs out in another tab, the page %s goes to %s', async (path, after) => {
  const assign = vi.spyOn(window.location, 'assign').mockImplementation(() => undefined);
  window.history.replaceState(null, '', path);
  const user = { id: 'alice', email: 'alice@example.net', username: 'alice', role: 'user' as const };
  saveLogin({ access_token: 'x', user });
  await mount(new QueryClient(), <h1>Page</h1>);
  localStorage.clear();
  window.dispatchEvent(new Event('storage'));
  expect(assign.mock.calls.at(-1)?.[0] ?? path).toBe(after);
  assign.mockRestore();
});

test('a page that waits for its first data says so after a second, and is shown when it has them', async () => {
  let answer: () => void = () => undefined;
  const mounted = mount(
    new QueryClient(),
    <h1>Hosts</h1>,
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  await time.pass(999);
  expect(document.body.textContent).toBe('');
  await time.pass(1);
  expect(screen.getByRole('status').textContent).toBe('Waiting for the server');
  answer();
  await mounted;
  await screen.findByRole('heading', { name: 'Hosts' });
  expect(document.body.textContent).not.toContain('Waiting for the server');
});
