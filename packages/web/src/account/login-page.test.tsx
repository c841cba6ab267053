// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { saveLogin } from '../api/auth-store.ts';
import { LoginPage } from './login-page.tsx';

const answer = {
  access_token: 'ended-elsewhere',
  user: { id: '1', email: 'a@b', username: 'alice', role: 'user' as const },
};

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  vi.stubGlobal('fetch', async (url: string) =>
    url.startsWith('/v1/me')
      ? Response.json({ error: { code: 'unauthorized', message: '' } }, { status: 401 })
      : Response.json({ admin_exists: true }),
  );
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function open() {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <LoginPage next={undefined} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

test('explains why the login ended if the server no longer accepts it, until a new login', async () => {
  saveLogin(answer);
  open();
  expect(await screen.findByText(/^You were logged out: somebody ended the login/)).toBeDefined();
  cleanup();
  open();
  expect(screen.getByText(/^You were logged out/)).toBeDefined();
  saveLogin(answer);
  localStorage.clear();
  cleanup();
  open();
  expect(screen.queryByText(/^You were logged out/)).toBeNull();
});

test('shows the usual greeting to a person who opens the page themselves', async () => {
  open();
  expect(screen.getByText('Your apps are one step away.')).toBeDefined();
});
