// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, configure, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { session } from '../../test/fixtures.ts';
import { saveLogin } from '../api/auth-store.ts';
import QualityDialog from './quality-dialog.tsx';

/** The machine may build at the same time, so the default time limit of one second is too short. */
configure({ asyncUtilTimeout: 20_000 });

const profile = (id: string, part: object = {}) => ({
  id,
  display_name: id,
  nominal: { width: 1280, height: 720, fps: 60, bitrate_kbps: 5500 },
  eligibility: 'eligible',
  reasons: [],
  rungs: [],
  ...part,
});
const OFFER = {
  profiles: [
    profile('720p60'),
    profile('4k60', { eligibility: 'ineligible', reasons: [{ code: 'x', message: 'It is too far.' }] }),
  ],
  recommended_id: '',
  confidence: 'low',
  notes: [],
};
const PREFERENCES = {
  default_profile_id: null,
  global_default_profile_id: null,
  user_overrides_allowed: true,
};

beforeEach(() => {
  vi.stubGlobal('fetch', async (url: string) =>
    Response.json(url.includes('profile-preferences') ? PREFERENCES : OFFER),
  );
});
afterEach(() => {
  cleanup();
  localStorage.clear();
  vi.unstubAllGlobals();
});

function open(
  role: 'user' | 'admin',
  profile_policy: 'inherit' | 'force',
  current: string | null = '720p60',
) {
  saveLogin({ access_token: 't', user: { id: '1', email: 'a@example.org', username: 'a', role } });
  const onChoose = vi.fn();
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <QualityDialog
          app={{ id: '1', name: 'Blender', profile_policy }}
          title="Relaunch"
          action="End and relaunch Blender"
          current={current}
          stream={session(0).stream}
          pending={false}
          error={null}
          onChoose={onChoose}
          onClose={vi.fn()}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onChoose;
}
const choices = async () =>
  (await screen.findAllByRole<HTMLInputElement>('radio')).map(({ value, checked, disabled }) => ({
    ...{ value, checked, disabled },
  }));

describe('the choice of a quality', () => {
  test('is not offered if the app decides it, because a relaunch would be refused', async () => {
    const onChoose = open('user', 'force');
    expect(await choices()).toEqual([
      { value: '', checked: true, disabled: false },
      { value: '720p60', checked: false, disabled: true },
      { value: '4k60', checked: false, disabled: true },
    ]);
    expect(screen.getByText('Blender decides its picture quality itself.')).toBeDefined();
    screen.getByRole('button', { name: 'End and relaunch Blender' }).click();
    expect(onChoose).toHaveBeenCalledWith(null);
  });

  test.each([
    ['user', 'inherit'],
    ['admin', 'force'],
  ] as const)('is that of a person whose role is %s and an app whose policy is %s', async (role, policy) => {
    open(role, policy);
    expect(await choices()).toEqual([
      { value: '', checked: false, disabled: false },
      { value: '720p60', checked: true, disabled: false },
      { value: '4k60', checked: false, disabled: true },
    ]);
    expect(screen.queryByText(/decides its picture quality/)).toBeNull();
    expect(screen.getByText(/It is too far\./)).toBeDefined();
  });

  test.each([
    ['720p60', /^Now: 720p60, 1920 × 1080 at 60 frames a second, about 15 Mbit\/s\.$/],
    ['deleted', /^Now: 1920 × 1080 at 60 frames a second, about 15 Mbit\/s\.$/],
    [null, /^Now: Automatic, 1920 × 1080 at 60 frames a second, about 15 Mbit\/s\.$/],
  ])('says what runs now, with the profile %s', async (current, now) => {
    open('user', 'inherit', current);
    expect(await screen.findByText(now)).toBeDefined();
  });

  test('focuses the current choice when the choices are loaded', async () => {
    open('user', 'inherit');
    screen.getByRole('button', { name: 'Close', hidden: true }).focus();
    await choices();
    expect(document.activeElement).toBe(document.querySelector('input:checked'));
  });

  test('keeps the focus of a person who moved it before the choices were loaded', async () => {
    open('user', 'inherit');
    const cancel = screen.getByRole('button', { name: 'Cancel', hidden: true });
    cancel.focus();
    await choices();
    expect(document.activeElement).toBe(cancel);
  });
});
