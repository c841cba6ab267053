// @vitest-environment happy-dom
import type { Session, SessionVerdict } from '@footlight/protocol/rest';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import '../../test/patience.ts';
import { ago, app, session } from '../../test/fixtures.ts';
import { saveLogin } from '../api/auth-store.ts';
import { ApiFailure } from '../api/client.ts';
import { EndedPage } from './ended-page.tsx';

const MINUTE_MS = 60_000;
type Report = NonNullable<SessionVerdict['report']>;

const REPORT: Report = {
  played_ms: 7 * MINUTE_MS + 4_000,
  seconds: 400,
  smooth_fraction: 0.9975,
  clicks: 12,
  click_to_photon_ms: 47.6,
  limit: 'The picture was smooth.',
  remedy: null,
};

let asked: string[];
let report: Partial<Report> | undefined;
beforeEach(() => {
  asked = [];
  report = {};
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return Response.json(report === undefined ? {} : { report: { ...REPORT, ...report } });
  });
});
afterEach(() => {
  cleanup();
  localStorage.clear();
  vi.unstubAllGlobals();
});

const STARTED = ago(10 * MINUTE_MS);
function open(part: Partial<Session> = {}, refused: unknown = null) {
  const ended = session(0, { state: 'stopped', started_at: STARTED, ended_at: ago(MINUTE_MS), ...part });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <EndedPage
          session={ended}
          app={app(0)}
          endedHere={false}
          launching={false}
          refused={refused}
          onLaunch={vi.fn()}
          onRetry={vi.fn()}
          onLibrary={vi.fn()}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
const card = () => screen.findByRole('region', { name: 'How it was' });

describe('the report after the end', () => {
  test('shows how long the app was open, smooth seconds, click to picture and the limit', async () => {
    report = { limit: 'The machine was slow.', remedy: 'Choose a lower quality.' };
    open();
    const { textContent } = await card();
    expect(textContent).toContain('Time the app was open7:04');
    expect(textContent).toContain('Seconds with a smooth picture99 %');
    expect(textContent).toContain('Click to picture48 ms');
    expect(screen.getByRole('heading', { name: 'The machine was slow.' })).toBeDefined();
    expect(textContent).toContain('Choose a lower quality.');
    expect(textContent).not.toContain('last 10 minutes');
    expect(asked[0]).toContain(`from=${encodeURIComponent(STARTED)}`);
  });

  test('omits figures that were not measured', async () => {
    report = { smooth_fraction: null, click_to_photon_ms: null };
    open();
    expect((await card()).textContent).toBe('Time the app was open7:04The picture was smooth.');
  });

  test('of a session of more than ten minutes names the part that the figures are about', async () => {
    report = { played_ms: 11 * MINUTE_MS };
    open();
    expect((await card()).textContent).toContain(
      'Everything except the time the app was open is about the last 10 minutes.',
    );
  });

  test('is not shown without a picture', async () => {
    report = undefined;
    open();
    await waitFor(() => expect(asked).toHaveLength(1));
    expect(screen.queryByRole('region', { name: 'How it was' })).toBeNull();
  });

  test('is not requested for a session that never ran', async () => {
    open({ started_at: null });
    expect(await screen.findByRole('button', { name: 'Launch again' })).toBeDefined();
    expect(asked).toEqual([]);
  });
});

describe('after a failure', () => {
  const failed = { id: '9f940531-ad8c-4e13-91b5-1aa8f7f3a8c8', state: 'failed', started_at: null } as const;

  test('a person is told what to report', () => {
    open(failed);
    expect(screen.getByText(/tell an administrator\. Session: 9f940531$/)).toBeDefined();
    expect(screen.queryByRole('link', { name: /session’s page/ })).toBeNull();
  });

  test('an administrator can open the page of the session', () => {
    saveLogin({
      access_token: 'token',
      user: { id: 'a', username: 'ada', email: 'ada@example.org', role: 'admin' },
    });
    open(failed);
    expect(screen.getByRole('link', { name: /session’s page/ }).getAttribute('href')).toBe(
      `/admin/sessions/${failed.id}`,
    );
  });

  test('an end without a failure asks for no report', () => {
    open();
    expect(screen.queryByText(/tell an administrator/)).toBeNull();
  });
});

test('a launch refused on this page is shown here, and retried as in the library', async () => {
  open({}, new ApiFailure(503, 'capacity_exhausted', 'No place.', { retryAfterSecs: 7 }));
  await screen.findByText('Every machine is busy');
  await screen.findByText('This page waits with you, and tries again in 7 seconds.');
});
