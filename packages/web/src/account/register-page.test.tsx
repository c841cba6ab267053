// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { RegisterPage } from './register-page.tsx';

/** The machine may build at the same time, so the default time limit of one second is too short. */
configure({ asyncUtilTimeout: 20_000 });

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('a refused invite is shown at its field, which gets the focus at each attempt', async () => {
  const asked = vi.fn(async () =>
    Response.json({ error: { code: 'invalid_invite', message: 'no such invite' } }, { status: 403 }),
  );
  vi.stubGlobal('fetch', asked);
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <RegisterPage invite="used-up" />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const fill = (label: string, value: string) =>
    fireEvent.change(screen.getByLabelText(label), { target: { value } });
  fill('Email', 'grace@example.org');
  fill('Name', 'grace');
  fill('Password', 'a cobol compiler of 1959');
  const invite = screen.getByLabelText('Invite code');
  for (const attempt of [1, 2]) {
    const button = screen.getByRole('button', { name: 'Register' });
    button.focus();
    fireEvent.click(button);
    await waitFor(() => expect(document.activeElement).toBe(invite));
    expect(asked).toHaveBeenCalledTimes(attempt);
    expect(invite.getAttribute('aria-invalid')).toBe('true');
    expect(screen.getByText(/^This invite code cannot be used\. It may have expired/)).toBeDefined();
  }
});
