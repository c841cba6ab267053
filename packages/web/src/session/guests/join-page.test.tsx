// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, refusal } from '../../../test/show-page.tsx';
import { Route } from '../../routes/join.tsx';
import { JoinPage } from './join-page.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  localStorage.clear();
});

function show(secret: string) {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <JoinPage secret={secret} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

test('an address without a secret is no link', async () => {
  answerBy({});
  show('');
  await screen.findByText('This link does not work any more');
});

test('the name and the secret are sent; a link that has ended says so', async () => {
  const writes = answerBy({ 'guests.join': () => refusal(404, 'guest_link_invalid', 'x') });
  show('a-secret');
  const join = screen.getByRole('button', { name: 'Join' });
  fireEvent.click(join);
  await screen.findByText('Enter a name.');
  expect(writes).toEqual([]);
  fireEvent.change(screen.getByLabelText('Your name'), { target: { value: ' Ada ' } });
  fireEvent.click(join);
  await screen.findByText('This link does not work any more');
  expect(writes.map(({ body }) => body)).toEqual([{ secret: 'a-secret', name: 'Ada' }]);
});

test('another link that is opened in the tab of an old one replaces it', async () => {
  const writes = answerBy({ 'guests.join': () => refusal(404, 'guest_link_invalid', 'x') });
  const history = createMemoryHistory({ initialEntries: ['/join#old-secret'] });
  const routeTree = createRootRoute().addChildren([
    Route.update({ id: '/join', path: '/join', getParentRoute: () => routeTree } as never),
  ]);
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={createRouter({ routeTree, history }) as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  fireEvent.change(await screen.findByLabelText('Your name'), { target: { value: 'Ada' } });
  fireEvent.click(screen.getByRole('button', { name: 'Join' }));
  await screen.findByText('This link does not work any more');
  history.push('/join#new-secret');
  fireEvent.change(await screen.findByLabelText('Your name'), { target: { value: 'Ada' } });
  fireEvent.click(screen.getByRole('button', { name: 'Join' }));
  await vi.waitFor(() =>
    expect(writes.map(({ body }) => (body as { secret: string }).secret)).toEqual([
      'old-secret',
      'new-secret',
    ]),
  );
});
