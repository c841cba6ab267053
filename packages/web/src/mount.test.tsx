// @vitest-environment happy-dom
import { ManualClock } from '@footlight/platform/testing';
import { QueryClient } from '@tanstack/react-query';
import { screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, test } from 'vitest';
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
