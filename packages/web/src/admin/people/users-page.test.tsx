// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { UsersPage } from './users-page.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const user = (username: string, active_session_count: number) => ({
  ...{ id: username, username, email: `${username}@example.org`, role: 'user', disabled: false },
  ...{ max_concurrent_sessions: 3, active_session_count, last_seen_at: null },
  created_at: '2026-01-01T00:00:00.000Z',
});
const PAGES: Record<string, object> = {
  '': { items: [user('carol', 1), user('alice', 0)], next_cursor: '2' },
  2: { items: [user('dave', 3)], next_cursor: '3' },
  3: { items: [user('bob', 2)], next_cursor: null },
};

test('the state of an account does not depend on its sessions', async () => {
  answerBy({ 'users.list': () => ({ ...PAGES[''], next_cursor: null }) });
  showPage(<UsersPage />);
  expect(await screen.findAllByText('Enabled')).toHaveLength(2);
});

test('sorting loads the further pages and includes all of them', async () => {
  answerBy({ 'users.list': ({ query }) => PAGES[query.get('cursor') ?? ''] ?? {} });
  showPage(<UsersPage />);
  const names = () =>
    screen.getAllByRole('link', { name: /^(alice|bob|carol|dave)$/ }).map((a) => a.textContent);
  await screen.findByRole('link', { name: 'carol' });
  expect(names()).toEqual(['carol', 'alice']);
  fireEvent.click(screen.getByRole('button', { name: 'Name' }));
  await waitFor(() => expect(names()).toEqual(['alice', 'bob', 'carol', 'dave']));
  fireEvent.click(screen.getByRole('button', { name: 'Sessions' }));
  await waitFor(() => expect(names()).toEqual(['alice', 'carol', 'bob', 'dave']));
  expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
});
