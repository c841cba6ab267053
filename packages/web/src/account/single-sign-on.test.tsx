// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { type ReactNode, StrictMode } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readToken } from '../api/auth-store.ts';
import { LoginPage } from './login-page.tsx';
import { SignOnPage } from './sign-on-page.tsx';

const STATE = 'code=the-code&state=the-state';
const sent: { url: string; body: unknown }[] = [];
const opened: string[] = [];
let answer: () => Response;

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  sent.length = 0;
  opened.length = 0;
  vi.stubGlobal('fetch', async (url: string, { body }: RequestInit) => {
    sent.push({ url, body: typeof body === 'string' ? JSON.parse(body) : null });
    return url.startsWith('/v1/auth/oidc') ? answer() : Response.json({ admin_exists: true });
  });
  for (const open of ['assign', 'replace'] as const)
    vi.spyOn(window.location, open).mockImplementation((url) => void opened.push(String(url)));
});
afterEach(() => {
  cleanup();
  document.head.replaceChildren();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function show(page: ReactNode) {
  render(
    <StrictMode>
      <MantineProvider>
        <QueryClientProvider client={new QueryClient()}>{page}</QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}

function offer(name: string) {
  const meta = document.createElement('meta');
  meta.name = 'single-sign-on';
  meta.content = name;
  document.head.append(meta);
}

/** Comes back from the provider. */
function comeBack(role: 'user' | 'admin') {
  window.history.replaceState(null, '', `/login/callback?${STATE}`);
  answer = () =>
    Response.json({ access_token: 'a-token', user: { id: '1', email: 'a@b', username: 'alice', role } });
  show(<SignOnPage />);
}

test('without a provider, the login page has no button for it', () => {
  show(<LoginPage next={undefined} />);
  expect(screen.queryByRole('button', { name: /^Log in with/ })).toBeNull();
});

test('the button opens the provider, and the login then returns to the page that was asked for', async () => {
  offer('Castle & <Co>');
  answer = () => Response.json({ url: 'https://id.example/authorize?state=s' });
  show(<LoginPage next="/app/account" />);
  fireEvent.click(screen.getByRole('button', { name: 'Log in with Castle & <Co>' }));
  await vi.waitFor(() => expect(opened).toEqual(['https://id.example/authorize?state=s']));
  cleanup();
  comeBack('user');
  await vi.waitFor(() => expect(opened[1]).toBe('/app/account'));
  expect(readToken()).toBe('a-token');
});

test('sends the answer once, and removes it from the address', async () => {
  comeBack('user');
  expect(window.location.href).not.toContain('the-code');
  await vi.waitFor(() => expect(opened).toEqual(['/app']));
  const finished = sent.filter(({ url }) => url === '/v1/auth/oidc/finish');
  expect(finished).toEqual([
    {
      url: '/v1/auth/oidc/finish',
      body: { answer: STATE, device_key: localStorage.getItem('service.device.key') },
    },
  ]);
});

test.each(['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)'])(
  'never opens %s after a login',
  async (target) => {
    sessionStorage.setItem('footlight.sign-on-target', target);
    comeBack('user');
    await vi.waitFor(() => expect(opened).toEqual(['/app']));
  },
);

test('a user who asked for a page of administrators comes to the login page, which explains it', async () => {
  sessionStorage.setItem('footlight.sign-on-target', '/admin/users');
  comeBack('user');
  await vi.waitFor(() => expect(opened).toEqual(['/login?next=%2Fadmin%2Fusers']));
});

test('a refused login says why, and leads back to the login', async () => {
  window.history.replaceState(null, '', `/login/callback?${STATE}`);
  answer = () => Response.json({ error: { code: 'account_disabled', message: '' } }, { status: 403 });
  show(<SignOnPage />);
  expect(await screen.findByText('Your account is disabled')).toBeDefined();
  expect(screen.getByRole('link', { name: 'Go to the login' }).getAttribute('href')).toBe('/login');
  expect(readToken()).toBeNull();
});

test('while the provider is down, the login page says so and keeps the form for passwords', async () => {
  offer('Castle');
  answer = () => Response.json({ error: { code: 'provider_unavailable', message: '' } }, { status: 502 });
  show(<LoginPage next={undefined} />);
  fireEvent.click(screen.getByRole('button', { name: 'Log in with Castle' }));
  expect(await screen.findByText('The other service did not answer')).toBeDefined();
  expect(screen.getByLabelText('Password')).toBeDefined();
});
