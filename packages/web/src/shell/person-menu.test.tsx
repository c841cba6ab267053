// @vitest-environment happy-dom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { session } from '../../test/fixtures.ts';
import { answerBy, showPage } from '../../test/show-page.tsx';
import { PersonMenu } from './person-menu.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('says next to the sign-out how many apps go on running', async () => {
  const items = [session(0), session(1, { state: 'starting' }), session(2, { state: 'stopped' })];
  answerBy({ 'sessions.list': () => ({ items, next_cursor: null }) });
  showPage(<PersonMenu />);
  fireEvent.click(await screen.findByRole('button', { name: /account and appearance$/ }));
  await screen.findByText(/^2 apps go on running after you log out/);
});

test('says nothing without a running app', async () => {
  let asked = false;
  answerBy({
    'sessions.list': () => {
      asked = true;
      return { items: [session(0, { state: 'stopping' })], next_cursor: null };
    },
  });
  showPage(<PersonMenu />);
  fireEvent.click(await screen.findByRole('button', { name: /account and appearance$/ }));
  await vi.waitFor(() => expect(asked).toBe(true));
  await screen.findByRole('button', { name: 'Log out' });
  expect(screen.queryByText(/after you log out/)).toBeNull();
});
