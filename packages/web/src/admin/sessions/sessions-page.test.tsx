// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { adminSession } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import type { SessionSearch } from '../../search/session-search.ts';
import { SessionsPage } from './sessions-page.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** Shows the page with a service that has three pages of one session. @returns queries of the page, in order */
function showSessions(first: SessionSearch): Record<string, string>[] {
  const asked: Record<string, string>[] = [];
  answerBy({
    'admin.sessions.list': ({ query }) => {
      asked.push(Object.fromEntries(query));
      const place = Number(query.get('cursor') ?? 0);
      return {
        items: [adminSession(place, { app_name: `App ${place} by ${query.get('sort')}` })],
        next_cursor: place < 2 ? String(place + 1) : null,
        ...(query.get('count') === 'true' && { total: 2000 }),
      };
    },
  });
  showPage(<Page first={first} />);
  return asked;
}

function Page({ first }: { first: SessionSearch }) {
  const [search, setSearch] = useState(first);
  return <SessionsPage search={search} onSearch={setSearch} />;
}

test('another order is requested from the service, page by page', async () => {
  const asked = showSessions({});
  await screen.findByText('App 0 by null');
  fireEvent.click(screen.getByRole('button', { name: 'User' }));
  await screen.findByText('App 0 by user');
  fireEvent.click(screen.getByRole('button', { name: 'User' }));
  await screen.findByText('App 0 by -user');
  expect(screen.getByRole('columnheader', { name: 'User' }).getAttribute('aria-sort')).toBe('descending');
  expect(asked.map(({ sort, cursor }) => [sort, cursor])).toEqual([
    [undefined, undefined],
    ['user', undefined],
    ['-user', undefined],
  ]);
  fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  await screen.findByText('App 1 by -user');
  expect(asked.at(-1)).toMatchObject({ sort: '-user', cursor: '1', limit: '100' });
});

test('the number of sessions is the one of the service, not of the loaded pages', async () => {
  const asked = showSessions({ state: 'ended', q: 'chess' });
  expect(await screen.findByText('2,000 sessions')).toBeDefined();
  fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  await waitFor(() => expect(asked).toHaveLength(2));
  expect(asked.map(({ state, q, count }) => [state, q, count])).toEqual([
    ['ended', 'chess', 'true'],
    ['ended', 'chess', undefined],
  ]);
});

test('an order that the service does not have is not requested', async () => {
  const asked = showSessions({ sort: 'constructor' });
  await screen.findByText('App 0 by null');
  expect(asked[0]).not.toHaveProperty('sort');
});
