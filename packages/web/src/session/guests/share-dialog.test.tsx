// @vitest-environment happy-dom
import type { WatchingGuest } from '@footlight/protocol/input';
import type { SessionGuest } from '@footlight/protocol/rest';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, refusal } from '../../../test/show-page.tsx';
import ShareDialog from './share-dialog.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const SESSION = '11111111-1111-4111-8111-111111111111';
const SECRET = 'a'.repeat(64);

const guest = (id: string, over: Partial<SessionGuest> = {}): SessionGuest => ({
  id,
  role: 'watch',
  pad_index: null,
  name: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2036-01-01T00:00:00.000Z',
  ...over,
});

function show(
  guests: SessionGuest[],
  watching: WatchingGuest[] = [],
  can_share = true,
  url: string | null = null,
) {
  const writes = answerBy({
    'guests.list': () => ({ guests, can_share, max_guests: 4 }),
    'guests.create': () => {
      guests.push(guest('made', { role: 'full' }));
      return { guest: guest('made', { role: 'full' }), secret: SECRET, url };
    },
    'guests.remove': ({ path }) => {
      guests.splice(
        guests.findIndex(({ id }) => path.endsWith(id)),
        1,
      );
      return new Response(null, { status: 204 });
    },
  });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <ShareDialog sessionId={SESSION} watching={watching} onClose={() => {}} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return writes;
}

test('a link is made for the chosen role and time, and shown with its secret in the fragment', async () => {
  const writes = show([]);
  fireEvent.click(await screen.findByRole('button', { name: 'Full control' }));
  fireEvent.click(screen.getByRole('button', { name: '4 hours' }));
  fireEvent.click(screen.getByRole('button', { name: 'Make a link' }));
  const field = (await screen.findByLabelText('Link for the guest')) as HTMLInputElement;
  expect(field.value).toBe(`${window.location.origin}/join#${SECRET}`);
  expect(writes.map(({ body }) => body)).toEqual([{ role: 'full', minutes: 240 }]);
});

test('a link at the address that the server names is shown as it is', async () => {
  const url = `https://play.example.org/join#${SECRET}`;
  show([], [], true, url);
  fireEvent.click(await screen.findByRole('button', { name: 'Make a link' }));
  expect(((await screen.findByLabelText('Link for the guest')) as HTMLInputElement).value).toBe(url);
});

test('guests and unused links are listed apart, with who is here; a guest is removed, a link revoked', async () => {
  const ada = guest('ada', { name: 'Ada', role: 'gamepad', pad_index: 1 });
  const writes = show([ada, guest('unused')], [{ id: 'ada', name: 'Ada', role: 'gamepad', pad_index: 1 }]);
  const row = (await screen.findByRole('button', { name: 'Remove Ada' })).closest('li') as HTMLElement;
  expect(within(row).getByText(/Gamepad 2 · is here/)).toBeDefined();
  fireEvent.click(screen.getByRole('button', { name: 'Revoke' }));
  await vi.waitFor(() => expect(screen.queryByRole('button', { name: 'Revoke' })).toBeNull());
  fireEvent.click(screen.getByRole('button', { name: 'Remove Ada' }));
  await vi.waitFor(() => expect(writes.map(({ path }) => path.split('/').at(-1))).toEqual(['unused', 'ada']));
});

test('a removal that the host did not confirm says so, and only its button was busy', async () => {
  show([guest('ada', { name: 'Ada' }), guest('bob', { name: 'Bob' })]);
  const fetchList = fetch;
  let answer: (response: Response) => void = () => undefined;
  vi.stubGlobal('fetch', (address: string, init: RequestInit) =>
    init.method === 'DELETE' ? new Promise((resolve) => (answer = resolve)) : fetchList(address, init),
  );
  const busy = (name: string) => screen.getByRole('button', { name }).hasAttribute('data-loading');
  fireEvent.click(await screen.findByRole('button', { name: 'Remove Ada' }));
  await vi.waitFor(() => expect([busy('Remove Ada'), busy('Remove Bob')]).toEqual([true, false]));
  answer(refusal(503, 'agent_not_connected', 'x'));
  await screen.findByText(/has not confirmed that the guest is disconnected/);
});

test('where nothing can be shared the dialog says why, and offers no link', async () => {
  show([], [], false);
  await screen.findByText(/This app cannot be shared/);
  expect(screen.queryByRole('button', { name: 'Make a link' })).toBeNull();
});
