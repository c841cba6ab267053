// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from '@tanstack/react-router';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import '../../../test/patience.ts';
import { saveLogin } from '../../api/auth-store.ts';
import { addOperations } from '../../api/client.ts';
import { adminOperationTable } from '../frame/admin-operation-table.ts';
import { NewAppPage } from './new-app-page.tsx';

const ME = '00000000-0000-4000-8000-000000000001';
const APP = '00000000-0000-4000-8000-000000000002';
let writes: { url: string; body: { entitle?: string } }[];
let grantStatus: number;

beforeEach(() => {
  addOperations(adminOperationTable);
  localStorage.clear();
  saveLogin({ access_token: 't', user: { id: ME, email: 'a@b', username: 'alice', role: 'admin' } });
  writes = [];
  grantStatus = 201;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (init.method !== 'POST')
      return Response.json({ items: [], global_default_profile_id: null, user_overrides_allowed: true });
    writes.push({ url, body: JSON.parse(String(init.body)) as { entitle?: string } });
    if (url.endsWith('/entitlements'))
      return Response.json({ error: { code: 'internal', message: '' } }, { status: grantStatus });
    return Response.json({ app: { id: APP, name: 'Paint' } }, { status: 201 });
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function open(): Promise<HTMLElement> {
  const root = createRootRoute({ component: Outlet });
  const page = createRoute({ getParentRoute: () => root, path: '/admin/apps/new', component: NewAppPage });
  const apps = createRoute({ getParentRoute: () => root, path: '/admin/apps', component: () => 'apps' });
  const app = createRoute({
    getParentRoute: () => root,
    path: '/admin/apps/$id',
    component: () => 'the app',
  });
  const router = createRouter({
    routeTree: root.addChildren([page, apps, app]),
    history: createMemoryHistory({ initialEntries: ['/admin/apps/new'] }),
  });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return screen.findByLabelText('Name');
}
test('a command on one line is explained as one program, and a button splits it into lines', async () => {
  await open();
  const command = () => screen.getByLabelText<HTMLTextAreaElement>(/^Command/);
  fireEvent.change(command(), { target: { value: 'xterm -e "top -d 1"' } });
  screen.getByText(/A single line is the name of a program, here/);
  fireEvent.click(screen.getByRole('button', { name: 'Make it 3 lines' }));
  expect(command().value).toBe('xterm\n-e\ntop -d 1');
  expect(screen.queryByText(/A single line/)).toBeNull();
});

async function fillIn(): Promise<HTMLSelectElement> {
  fireEvent.change(await open(), { target: { value: 'Paint' } });
  fireEvent.change(screen.getByLabelText(/^Command/), { target: { value: 'paint' } });
  return screen.getByLabelText('Who gets it');
}
// Found by text: a search by role computes the name of every control in this long form, which takes seconds.
const add = () => fireEvent.click(screen.getByText('Add app').closest('button') as HTMLElement);

test('a new app with the choice "only me" is granted only to the administrator', async () => {
  expect((await fillIn()).value).toBe('me');
  add();
  await screen.findByText('the app');
  expect(writes.map(({ url }) => url)).toEqual(['/v1/apps', `/v1/admin/apps/${APP}/entitlements`]);
  expect(writes[0]?.body.entitle).toBe('none');
  expect(writes[1]?.body).toEqual({ subject_type: 'user', subject_id: ME });
});

test('an app without a name is not added: the name field, maybe out of view, gets the focus', async () => {
  const name = await open();
  add();
  await expect.poll(() => document.activeElement).toBe(name);
  expect(writes).toEqual([]);
});

test.each([
  ['all', 'all'],
  ['none', 'none'],
])('"%s" grants nothing besides', async (choice, entitle) => {
  fireEvent.change(await fillIn(), { target: { value: choice } });
  add();
  await screen.findByText('the app');
  expect(writes.map(({ body }) => body.entitle)).toEqual([entitle]);
});

test('if granting fails, the app exists: its page opens, where it can be granted', async () => {
  grantStatus = 500;
  await fillIn();
  add();
  await screen.findByText('the app');
  expect(writes.filter(({ url }) => url === '/v1/apps')).toHaveLength(1);
});
