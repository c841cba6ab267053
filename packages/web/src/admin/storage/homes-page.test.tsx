// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { id } from '../../../test/fixtures.ts';
import { type Answers, type Asked, answerBy, refusal, showPage } from '../../../test/show-page.tsx';
import { homes } from '../../../test/upkeep-fixtures.ts';
import { HomesPage, type HomesSearch } from './homes-page.tsx';

let answers: Answers;
let writes: Asked[];
let queries: string[];
beforeEach(() => {
  queries = [];
  answers = {
    'admin.storage.homes.list': ({ query }) => {
      queries.push(query.toString());
      return { items: homes, next_cursor: null };
    },
    'admin.storage.homes.delete': () => new Response(null, { status: 204 }),
    'users.list': () => ({
      items: [{ id: id(9, 1), username: 'bob', email: 'bob@example.org' }],
      next_cursor: null,
    }),
    'users.update': () => ({ user: { username: 'bob' } }),
  };
  writes = answerBy(answers);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function List() {
  const [search, setSearch] = useState<HomesSearch>({});
  return <HomesPage search={search} onSearch={setSearch} />;
}
const press = async (name: string | RegExp) => fireEvent.click(await screen.findByRole('button', { name }));

test('state and person are filtered by the server', async () => {
  showPage(<List />);
  await screen.findAllByText('SuperTux');
  await press('Being deleted');
  await waitFor(() => expect(queries.at(-1)).toBe('pending_gc=true'));
  await press(/^Person:/);
  await press('Show bob');
  await waitFor(() => expect(queries.at(-1)).toBe(`user_id=${id(9, 1)}&pending_gc=true`));
  await screen.findByRole('button', { name: /^Person: bob$/ });
  await press('Person: everybody');
  await waitFor(() => expect(queries.at(-1)).toBe('pending_gc=true'));
});

test('a deletion shows the size, the date, and who can stop it', async () => {
  showPage(<List />);
  await press('Delete alice’s files of SuperTux on gpu-01');
  await screen.findByText(/deletes 73\.4 MB a day from now, for good/);
  expect(screen.getByText('Until then a launch of the app by alice keeps everything.')).toBeDefined();
  await press('Delete 73.4 MB of files');
  await screen.findByText('alice’s files of SuperTux on gpu-01 will be deleted in a day');
  expect(writes).toMatchObject([
    { id: 'admin.storage.homes.delete', path: `/v1/admin/storage/homes/${homes[0]?.id}` },
  ]);
});

test('a home in use is kept, with a link to the session that uses it', async () => {
  answers['admin.storage.homes.delete'] = () =>
    refusal(409, 'home_in_use', 'A session uses it.', { session_id: id(2, 7) });
  showPage(<List />);
  await press('Delete alice’s files of SuperTux on gpu-01');
  await press('Delete 73.4 MB of files');
  const link = await screen.findByRole('link', { name: 'Open the session that uses it' });
  expect(link.getAttribute('href')).toBe(`/admin/sessions/${id(2, 7)}`);
});

test('a home that is already marked has no second deletion', async () => {
  showPage(<List />);
  await screen.findByText('deleted account');
  expect(screen.getAllByRole('button', { name: /^Delete / })).toHaveLength(3);
});
