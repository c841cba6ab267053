// @vitest-environment happy-dom
import { type ActivityEntry, operations } from '@footlight/protocol/rest';
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { app, id } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { putInForce } from '../../i18n/translate.ts';
import { ActivityPage, type ActivitySearch } from './activity-page.tsx';

const example = operations['activity.list'].example.response.items[0] as ActivityEntry;
const entry = (n: number, part: Partial<ActivityEntry>): ActivityEntry => ({ ...example, id: n, ...part });
let queries: URLSearchParams[];
let saved: Blob[];

beforeEach(() => {
  queries = [];
  saved = [];
  answerBy({
    'activity.list': ({ query }) => {
      queries.push(query);
      const first = !query.has('cursor');
      return {
        items: first
          ? [
              entry(9, {
                action: 'session.launched',
                target_type: 'session',
                target_id: id(2, 1),
                actor_user_id: id(9, 1),
                actor_username: 'alice',
                details: { app_id: id(1, 1), host_id: null },
              }),
              entry(8, { details: { name: '=HYPERLINK("http://evil.example")' } }),
            ]
          : [entry(7, { action: 'session.failed', actor_user_id: null, actor_username: null })],
        next_cursor: first ? 8 : null,
      };
    },
    'admin.apps.list': () => ({ items: [app(1, { id: id(1, 1), name: 'SuperTux' })], next_cursor: null }),
    'users.list': () => ({
      items: [{ id: id(9, 1), username: 'alice', email: 'alice@example.org' }],
      next_cursor: null,
    }),
    'users.update': () => ({ user: { username: 'alice' } }),
    'hosts.list': () => ({ items: [], next_cursor: null }),
  });
  vi.spyOn(URL, 'createObjectURL').mockImplementation((file) => {
    saved.push(file as Blob);
    return 'blob:1';
  });
  vi.spyOn(URL, 'revokeObjectURL').mockReturnValue();
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockReturnValue();
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  putInForce({}, 'en-GB');
});

function Log() {
  const [search, setSearch] = useState<ActivitySearch>({});
  return <ActivityPage search={search} onSearch={setSearch} />;
}

test('an entry says what happened to what, with links to it and to the person', async () => {
  showPage(<Log />);
  const thing = await screen.findByRole('link', { name: 'SuperTux' });
  expect(thing.getAttribute('href')).toBe(`/admin/sessions/${id(2, 1)}`);
  expect(screen.getByText('Launched an app')).toBeDefined();
  const person = screen.getByRole('link', { name: 'alice' });
  expect(person.getAttribute('href')).toBe(`/admin/users/${id(9, 1)}`);
});

test('kind, time and person are filtered by the server', async () => {
  showPage(<Log />);
  fireEvent.change(await screen.findByLabelText('Kind of object'), { target: { value: 'job' } });
  fireEvent.change(screen.getByLabelText('Time range'), { target: { value: '7' } });
  fireEvent.click(screen.getByRole('button', { name: /^By/ }));
  fireEvent.click(await screen.findByRole('button', { name: 'Show alice' }));
  await waitFor(() => {
    const last = queries.findLast((query) => query.has('actor_user_id'));
    expect([last?.get('target_type'), last?.get('actor_user_id'), last?.has('since')]).toEqual([
      'job',
      id(9, 1),
      true,
    ]);
  });
});

test('the entries of some days, and those about one thing, are requested from the server', async () => {
  showPage(<Log />);
  fireEvent.change(await screen.findByLabelText('Time range'), { target: { value: 'between' } });
  fireEvent.change(await screen.findByLabelText('First day'), { target: { value: '2026-11-20' } });
  fireEvent.change(screen.getByLabelText('Last day'), { target: { value: '2026-11-21' } });
  fireEvent.click(screen.getByRole('button', { name: /^Object/ }));
  fireEvent.click(await screen.findByRole('button', { name: 'Show SuperTux' }));
  await waitFor(() => {
    const last = queries.findLast((query) => query.has('target_id'));
    expect([last?.get('target_id'), last?.get('since'), last?.get('until')]).toEqual([
      id(1, 1),
      new Date('2026-11-20T00:00:00').toISOString(),
      new Date('2026-11-22T00:00:00').toISOString(),
    ]);
  });
});

test('the file contains all pages, and no cell is a formula', async () => {
  showPage(<Log />);
  await screen.findByRole('link', { name: 'SuperTux' });
  fireEvent.click(screen.getByRole('button', { name: 'Save as CSV' }));
  await screen.findByText('3 entries saved');
  const text = await saved[0]?.text();
  expect(text?.split('\r\n')).toHaveLength(5);
  expect(text).toContain('"alice","Launched an app","SuperTux"');
  expect(text).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
});

test('the heads of the file are in the language of the page', async () => {
  putInForce({ Time: 'Zeit', Severity: 'Schweregrad', Id: 'ID' }, 'de');
  showPage(<Log />);
  await screen.findByRole('link', { name: 'SuperTux' });
  fireEvent.click(screen.getByRole('button', { name: 'Save as CSV' }));
  await waitFor(() => expect(saved).toHaveLength(1));
  expect((await saved[0]?.text())?.split('\r\n')[0]).toContain(
    '"Zeit","Who","What","Object","Details","Schweregrad","Action","Kind","ID"',
  );
});
