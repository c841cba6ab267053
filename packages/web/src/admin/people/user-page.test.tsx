// @vitest-environment happy-dom
import type { AdminUser } from '@footlight/protocol/rest';
import { MantineProvider } from '@mantine/core';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { DisableUser } from './user-page.tsx';

afterEach(cleanup);

function show(active_session_count: number) {
  const onConfirm = vi.fn();
  const user = { username: 'alice', active_session_count, sign_in_methods: ['password'] } as AdminUser;
  render(
    <MantineProvider>
      <DisableUser user={user} opened pending={false} error={null} onConfirm={onConfirm} onClose={vi.fn()} />
    </MantineProvider>,
  );
  return onConfirm;
}
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));

describe('disabling an account', () => {
  test('offers to end the account’s sessions, with their number', () => {
    const onConfirm = show(2);
    const box = screen.getByRole('checkbox', { name: 'End the 2 sessions that run now' });
    expect((box as HTMLInputElement).checked).toBe(false);
    fireEvent.click(box);
    press('Disable and end 2 sessions');
    expect(onConfirm).toHaveBeenCalledExactlyOnceWith(true);
  });

  test('leaves sessions alone unless ending them was chosen', () => {
    const onConfirm = show(1);
    expect(screen.getByRole('checkbox', { name: 'End the session that runs now' })).toBeDefined();
    press('Disable the account');
    expect(onConfirm).toHaveBeenCalledExactlyOnceWith(false);
  });

  test('offers nothing if no session runs', () => {
    const onConfirm = show(0);
    expect(screen.queryByRole('checkbox')).toBeNull();
    press('Disable the account');
    expect(onConfirm).toHaveBeenCalledExactlyOnceWith(false);
  });
});
