// @vitest-environment happy-dom
import type { Session } from '@footlight/protocol/rest';
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
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import '../../../test/patience.ts';
import { diagnosis } from '../../../test/diagnosis-fixtures.ts';
import { ago, app, failedSession, host, session } from '../../../test/fixtures.ts';
import { addOperations } from '../../api/client.ts';
import { parseDiagnosisSearch } from '../../search/diagnosis-search.ts';
import { adminOperationTable } from '../frame/admin-operation-table.ts';
import { SessionPage } from './session-page.tsx';

addOperations(adminOperationTable);

let answers: Record<string, () => Response>;
let asked: { what: string; query: URLSearchParams; body: unknown }[];
let subject: Session;

beforeEach(() => {
  localStorage.clear();
  asked = [];
  subject = session(0, { state: 'stopped', ended_at: ago(60_000) });
  const admin = `/v1/admin/sessions/${subject.id}`;
  answers = {
    [`GET /v1/sessions/${subject.id}`]: () => Response.json({ session: subject }),
    [`GET ${admin}/verdict`]: () => Response.json(diagnosis.verdict),
    [`GET ${admin}/trace/metrics`]: () =>
      Response.json({ window: diagnosis.window, series: diagnosis.series }),
    [`GET ${admin}/trace/events`]: () =>
      Response.json({ window: diagnosis.window, events: diagnosis.events }),
    [`POST ${admin}/trace/annotations`]: () => Response.json({ id: subject.id }, { status: 201 }),
    [`GET /v1/apps/${subject.app_id}`]: () => Response.json({ app: app(0) }),
    [`GET /v1/hosts/${subject.host_id}`]: () => Response.json(host(1)),
    'GET /v1/admin/activity': () => Response.json({ items: [], next_cursor: null }),
    [`PATCH /v1/users/${subject.user_id}`]: () => Response.json({ user: { username: 'ada' } }),
  };
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const [path = '', query = ''] = url.split('?');
    const what = `${init.method} ${path}`;
    asked.push({
      what,
      query: new URLSearchParams(query),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
    });
    return answers[what]?.() ?? Response.json({ error: { code: 'not_found', message: '' } }, { status: 404 });
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function open(address = '') {
  const root = createRootRoute({ component: Outlet });
  const page = createRoute({
    getParentRoute: () => root,
    path: '/admin/sessions/$id',
    validateSearch: parseDiagnosisSearch,
    component: function Route() {
      const search = page.useSearch();
      const navigate = page.useNavigate();
      return (
        <SessionPage id={subject.id} search={search} onSearch={(next) => void navigate({ search: next })} />
      );
    },
  });
  const list = createRoute({ getParentRoute: () => root, path: '/admin/sessions', component: () => 'list' });
  const hosts = createRoute({
    getParentRoute: () => root,
    path: '/admin/hosts/$id',
    component: () => 'host',
  });
  const router = createRouter({
    routeTree: root.addChildren([page, list, hosts]),
    history: createMemoryHistory({ initialEntries: [`/admin/sessions/${subject.id}${address}`] }),
  });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return router;
}
const verdictAsked = () =>
  asked.filter(({ what }) => what.endsWith('/verdict')).map(({ query }) => Object.fromEntries(query));
/** Requests without the one for the first picture. */
const tracesAsked = (kind = '(metrics|events)') =>
  asked.filter(
    ({ what, query }) =>
      new RegExp(`trace/${kind}$`).test(what) && query.get('types') !== 'client.first_frame',
  );
const table = (name: string) => screen.findByRole('region', { name: `${name}, table` });

describe('the story', () => {
  test('of a failed session shows reason, remedy, step, place and the app’s last output', async () => {
    subject = { ...failedSession, id: subject.id };
    answers[`GET /v1/admin/sessions/${subject.id}/placement`] = () =>
      Response.json({
        outcome: 'placed',
        status: 201,
        candidates: [
          {
            host_id: subject.host_id,
            node_name: host(1).node_name,
            gpu_id: subject.id,
            gpu_index: 0,
            free_slots: 2,
            vram_mb_free: null,
            active_sessions: 0,
          },
        ],
        refusals: [],
        codec_decision: null,
      });
    open();
    const story = within(await screen.findByRole('region', { name: 'The story' }));
    expect(story.getByText('The app ended before it showed anything.')).toBeDefined();
    expect(story.getByText(failedSession.error_message ?? '')).toBeDefined();
    expect(story.getByText(/^The last output of the app/)).toBeDefined();
    expect(story.getByText('Failed')).toBeDefined();
    expect(
      await story.findByText('The only GPU that could run it, 2 slots free at the launch.'),
    ).toBeDefined();
    expect(screen.getByRole('log', { name: 'Last output of the app' }).textContent).toContain('libGL.so.1');
  });

  test.each([1e18, -1e18, 600_001])(
    'stands, whatever the viewer says of its first picture: %d',
    async (since_launch_ms) => {
      const first = {
        source: 'browser' as const,
        ts_unix_ms: Date.parse(subject.created_at),
        type: 'client.first_frame',
        payload: { since_launch_ms },
      };
      answers[`GET /v1/admin/sessions/${subject.id}/trace/events`] = () =>
        Response.json({ window: diagnosis.window, events: [first] });
      open();
      const story = within(await screen.findByRole('region', { name: 'The story' }));
      await screen.findByText('Probably the network');
      expect(story.getByText('Launched')).toBeDefined();
      expect(story.queryByText('First picture seen')).toBeNull();
    },
  );

  test('of a running session keeps counting, and offers to stop it by its app', async () => {
    subject = { ...subject, state: 'running', ended_at: null };
    answers[`DELETE /v1/sessions/${subject.id}`] = () => Response.json({ session: subject }, { status: 202 });
    open();
    await screen.findByRole('heading', { level: 1, name: app(0).name });
    fireEvent.click(await screen.findByRole('button', { name: 'Stop session' }));
    fireEvent.click(await screen.findByRole('button', { name: `Stop ${app(0).name}` }));
    await waitFor(() => expect(asked.some(({ what }) => what.startsWith('DELETE'))).toBe(true));
  });
});

describe('why it was bad', () => {
  test('names person, host and app, and shows what limited it with a remedy', async () => {
    open();
    expect(await screen.findByRole('heading', { level: 1, name: app(0).name })).toBeDefined();
    expect(await screen.findByText('Probably the network')).toBeDefined();
    expect(screen.getByText(diagnosis.verdict.reason)).toBeDefined();
    expect(screen.getByText(/A wired or closer connection/)).toBeDefined();
    expect(screen.getByText(/the viewer 35 ms ahead, ±4 ms/)).toBeDefined();
    const links = [
      ['ada', `/admin/users/${subject.user_id}`],
      [app(0).name, `/admin/apps/${subject.app_id}`],
      [host(1).node_name, `/admin/hosts/${subject.host_id}`],
    ] as const;
    for (const [name, href] of links)
      expect((await screen.findByRole('link', { name })).getAttribute('href')).toBe(href);
  });

  test('each condition has its value, its bound and whether it is met', async () => {
    open();
    const rows = within(await table('Conditions of the verdict')).getAllByRole('row');
    expect(
      rows.map((row) =>
        within(row)
          .queryAllByRole('cell')
          .map((cell) => cell.textContent),
      ),
    ).toEqual([
      [],
      ['Lost packets, in the window', 'Holds', 'Decides', '87', 'more than 5', '300', ''],
      ['Round trip, 95th percentile', 'Holds', 'Decides', '104.21 ms', 'more than 50 ms', '300', ''],
      [
        'Encoding of a frame, 95th percentile',
        'Holds',
        'For comparison',
        '8.91 ms',
        'less than 16 ms',
        '60',
        '',
      ],
      ['Page shown the whole time', 'Does not hold', 'For comparison', 'no', 'yes', '300', ''],
    ]);
  });

  test('a verdict of a newer service is shown unchanged', async () => {
    const newer = { ...diagnosis.verdict, verdict: 'likely_moon_phase', falsifiers: [] };
    answers[`GET /v1/admin/sessions/${subject.id}/verdict`] = () => Response.json(newer);
    open();
    expect(await screen.findByText('likely moon phase')).toBeDefined();
  });
});

describe('the window', () => {
  test('is the last five minutes of an ended session; other requests use the returned window', async () => {
    open();
    await screen.findByText('Probably the network');
    const endMs = Date.parse(subject.ended_at ?? '');
    expect(verdictAsked()).toEqual([{ from: String(endMs - 300_000), to: String(endMs) }]);
    const { from_ms, to_ms } = diagnosis.window;
    for (const { query } of tracesAsked())
      expect([query.get('from'), query.get('to')]).toEqual([String(from_ms), String(to_ms)]);
  });

  test('is around the chosen moment, which is kept in the URL', async () => {
    const router = open();
    await screen.findByText('Probably the network');
    fireEvent.change(screen.getByLabelText('Moment'), { target: { value: '2026-11-20T14:03:00' } });
    fireEvent.click(screen.getByRole('button', { name: 'Show' }));
    const at = new Date('2026-11-20T14:03:00').getTime();
    await waitFor(() => expect(router.state.location.search).toEqual({ at }));
    await waitFor(() =>
      expect(verdictAsked().at(-1)).toEqual({ from: String(at - 150_000), to: String(at + 150_000) }),
    );
    fireEvent.click(screen.getByRole('button', { name: '2 min' }));
    await waitFor(() => expect(router.state.location.search).toEqual({ at, minutes: 2 }));
    fireEvent.click(screen.getByRole('button', { name: 'Go to the end' }));
    await waitFor(() => expect(router.state.location.search).toEqual({ minutes: 2 }));
  });

  test('moves by its length', async () => {
    const router = open();
    await screen.findByText('Probably the network');
    fireEvent.click(screen.getByRole('button', { name: 'One window earlier' }));
    await waitFor(() =>
      expect(router.state.location.search).toEqual({ at: diagnosis.window.from_ms - 150_000 }),
    );
  });
});

describe('what was measured', () => {
  const slider = () => screen.findByRole<HTMLInputElement>('slider', { name: 'Time in the window' });
  const figure = (name: string) =>
    screen.getAllByRole('figure').find((each) => each.textContent?.startsWith(name))?.textContent;

  test('has a chart for each series, and the slider selects their values', async () => {
    open();
    const at = diagnosis.window.from_ms + 170_000;
    fireEvent.change(await slider(), { target: { value: String(at) } });
    expect(screen.getAllByRole('figure')).toHaveLength(7);
    expect(figure('Round trip')).toMatch(/network1\d\d ms/);
    fireEvent.change(await slider(), { target: { value: String(diagnosis.window.from_ms) } });
    expect(figure('Round trip')).toMatch(/network\d\d ms/);
    expect(screen.getByText('Shaded: the page was hidden.')).toBeDefined();
  });

  test('a press on an event’s time moves the cursor there', async () => {
    open();
    const rows = within(await table('Events')).getAllByRole('row');
    expect(rows[1]?.textContent).toContain('9400 → 14800 kbit/s, network up');
    const note = rows.find((row) => row.textContent?.includes('Ada called'));
    expect(note?.textContent).toContain('administrator');
    fireEvent.click(within(note as HTMLElement).getByRole('button'));
    expect((await slider()).value).toBe(String(diagnosis.window.from_ms + 180_000));
  });

  test('without samples and events it explains what would appear there', async () => {
    const { window } = diagnosis;
    answers[`GET /v1/admin/sessions/${subject.id}/trace/metrics`] = () =>
      Response.json({ window, series: {} });
    answers[`GET /v1/admin/sessions/${subject.id}/trace/events`] = () =>
      Response.json({ window, events: [] });
    open();
    expect(await screen.findByText('Nothing was measured in this window')).toBeDefined();
    expect(screen.getByText('Nothing happened in this window')).toBeDefined();
  });

  test('a refusal is shown, and can be retried', async () => {
    const path = `GET /v1/admin/sessions/${subject.id}/trace/metrics`;
    const answer = answers[path];
    answers[path] = () => Response.json({ error: { code: 'internal', message: '' } }, { status: 500 });
    open();
    fireEvent.click(await screen.findByRole('button', { name: 'Try again' }));
    if (answer !== undefined) answers[path] = answer;
    fireEvent.click(await screen.findByRole('button', { name: 'Try again' }));
    expect(await slider()).toBeDefined();
  });
});

test('a note is added at the cursor', async () => {
  open();
  fireEvent.change(await screen.findByLabelText(/^Note at /), { target: { value: '  Ada called ' } });
  fireEvent.click(screen.getByRole('button', { name: 'Add note' }));
  await waitFor(() =>
    expect(asked.find(({ what }) => what.endsWith('/trace/annotations'))?.body).toEqual({
      ts_unix_ms: diagnosis.window.to_ms - 5_000,
      label: 'Ada called',
    }),
  );
  // The events are requested again.
  await waitFor(() => expect(tracesAsked('events')).toHaveLength(2));
});
