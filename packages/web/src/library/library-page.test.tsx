// @vitest-environment happy-dom
import { ManualClock } from '@footlight/platform/testing';
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
import { act, cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import '../../test/patience.ts';
import { app, session } from '../../test/fixtures.ts';
import { saveLogin } from '../api/auth-store.ts';
import { keys } from '../api/query-keys.ts';
import { clock, runIn } from '../clock.ts';
import { LibraryPage } from './library-page.tsx';

let answers: Record<string, () => Response | Promise<Response>>;

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  saveLogin({ access_token: 't', user: { id: '1', email: 'a@b', username: 'alice', role: 'user' } });
  answers = {
    'GET /v1/apps': () => Response.json({ items: [app(0), app(1), app(4)], next_cursor: null }),
    'GET /v1/sessions': () => Response.json({ items: [], next_cursor: null }),
  };
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const answer = answers[`${init.method} ${url.split('?')[0]}`];
    return answer?.() ?? Response.json({ error: { code: 'not_found', message: '' } }, { status: 404 });
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function open() {
  const root = createRootRoute({ component: Outlet });
  const library = createRoute({ getParentRoute: () => root, path: '/app', component: LibraryPage });
  const live = createRoute({ getParentRoute: () => root, path: '/app/session/$id', component: () => 'live' });
  const router = createRouter({
    routeTree: root.addChildren([library, live]),
    history: createMemoryHistory({ initialEntries: ['/app'] }),
  });
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return Object.assign(router, { queryClient });
}

describe('the library', () => {
  test('has one tab stop for its tiles, and a click launches the app and opens its session', async () => {
    const launched = session(0, { state: 'assigned' });
    answers['POST /v1/sessions'] = () =>
      Response.json(
        {
          session: launched,
          signaling: { url: '', token: '', expires_at: launched.created_at, ice_servers: [] },
        },
        { status: 201 },
      );
    const router = open();
    const tiles = await screen.findAllByRole('button', { name: /^Launch / });
    expect(tiles.map((tile) => tile.tabIndex)).toEqual([0, -1, -1]);
    fireEvent.focus(tiles[1]!);
    expect(tiles.map((tile) => tile.tabIndex)).toEqual([-1, 0, -1]);
    fireEvent.click(tiles[1]!);
    await waitFor(() => expect(router.state.location.pathname).toBe(`/app/session/${launched.id}`));
  });

  test('a click during a launch launches nothing, and the library sends no requests meanwhile', async () => {
    const asked: string[] = [];
    let answer: (response: Response) => void = () => {};
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      asked.push(`${init.method} ${url.split('?')[0]}`);
      if (init.method !== 'POST') return fetch(url, init);
      return new Promise<Response>((resolve) => {
        answer = resolve;
      });
    });
    const router = open();
    const [tile] = await screen.findAllByRole('button', { name: /^Launch / });
    await waitFor(() => expect(asked).toContain('GET /v1/sessions'));
    asked.length = 0;
    fireEvent.click(tile!);
    await waitFor(() => expect(asked).toEqual(['POST /v1/sessions']));
    fireEvent.click(tile!);
    const launched = session(0, { state: 'assigned' });
    const signaling = { url: '', token: '', expires_at: launched.created_at, ice_servers: [] };
    answer(Response.json({ session: launched, signaling }, { status: 201 }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/app/session/${launched.id}`));
    expect(asked).toEqual(['POST /v1/sessions']);
  });

  test('shows when the host will end a session without a viewer, and nothing while it has one', async () => {
    const idle_ends_at = new Date(clock.nowMs() + 8 * 60_000).toISOString();
    const items = [session(0, { idle_ends_at }), session(1, { idle_ends_at: null }), session(2)];
    answers['GET /v1/sessions'] = () => Response.json({ items, next_cursor: null });
    open();
    expect(await screen.findAllByText(/unless you return/)).toHaveLength(1);
    expect(screen.getByText(/unless you return/).textContent).toMatch(
      /^Ends in [78]:\d\d unless you return$/,
    );
  });

  test('explains a refused launch, and links back or to the session in the way', async () => {
    answers['POST /v1/sessions'] = () =>
      Response.json(
        { error: { code: 'home_in_use', message: '', session_id: session(3).id } },
        { status: 409 },
      );
    const router = open();
    fireEvent.click((await screen.findAllByRole('button', { name: /^Launch / }))[0]!);
    expect((await screen.findByRole('alert')).textContent).toContain('in use by another session');
    fireEvent.click(await screen.findByRole('button', { name: 'Resume it' }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/app/session/${session(3).id}`));
  });

  test('lists the sessions that fill the quota, and launches once the place of an ended one is free', async () => {
    const running = [session(0), session(1)];
    answers['GET /v1/sessions'] = () => Response.json({ items: running, next_cursor: null });
    answers['POST /v1/sessions'] = () =>
      Response.json({ error: { code: 'session_quota_exceeded', message: '' } }, { status: 409 });
    answers[`GET /v1/apps/${app(0).id}`] = () => Response.json({ app: app(0) });
    answers[`GET /v1/apps/${app(1).id}`] = () => Response.json({ app: app(1) });
    const router = open();
    await screen.findAllByRole('button', { name: /^Resume / });
    fireEvent.click((await screen.findAllByRole('button', { name: /^Launch / }))[0]!);
    const list = within(await screen.findByRole('region', { name: 'Your open apps' }));
    const end = await list.findByRole('button', { name: `End ${app(1).name}` });
    const launched = session(9, { state: 'assigned' });
    const signaling = { url: '', token: '', expires_at: launched.created_at, ice_servers: [] };
    answers[`DELETE /v1/sessions/${session(1).id}`] = () =>
      Response.json({ session: session(1, { state: 'stopping' }) }, { status: 202 });
    let launches = 0;
    answers['POST /v1/sessions'] = () => {
      launches++;
      return Response.json({ session: launched, signaling }, { status: 201 });
    };
    let state: 'stopping' | 'stopped' = 'stopping';
    answers[`GET /v1/sessions/${session(1).id}`] = () => Response.json({ session: session(1, { state }) });
    fireEvent.click(end);
    const dialog = within(await screen.findByRole('dialog', { name: `End ${app(1).name}?` }));
    fireEvent.click(dialog.getByRole('button', { name: `End ${app(1).name}` }));
    await screen.findByText('Waiting for the place to become free …');
    // No other app is offered to end meanwhile, and no launch is refused again.
    expect(screen.queryByRole('region', { name: 'Your open apps' })).toBeNull();
    expect(launches).toBe(0);
    state = 'stopped';
    await waitFor(() => expect(router.state.location.pathname).toBe(`/app/session/${launched.id}`));
  });

  test('a launch without an answer says so after 4 s, can be cancelled, and its late session is ended', async () => {
    const time = new ManualClock();
    const stop = runIn(time);
    try {
      const launched = session(9, { state: 'assigned' });
      const signaling = { url: '', token: '', expires_at: launched.created_at, ice_servers: [] };
      let answer: (response: Response) => void = () => undefined;
      answers['POST /v1/sessions'] = () =>
        new Promise<Response>((resolve) => {
          answer = resolve;
        });
      const ended: string[] = [];
      answers[`DELETE /v1/sessions/${launched.id}`] = () => {
        ended.push(launched.id);
        return Response.json({ session: { ...launched, state: 'stopping' } }, { status: 202 });
      };
      const router = open();
      fireEvent.click((await screen.findAllByRole('button', { name: /^Launch / }))[0]!);
      await act(() => time.advance(1_000));
      const step = (await screen.findAllByRole('listitem')).find((item) => item.hasAttribute('aria-current'));
      expect(step?.textContent).toContain('Finding a machine');
      await act(() => time.advance(3_000));
      await screen.findByText(/^The server does not answer/);
      fireEvent.click(screen.getByRole('button', { name: 'Cancel' }));
      await waitFor(() => expect(screen.queryByText(/^The server does not answer/)).toBeNull());
      answer(Response.json({ session: launched, signaling }, { status: 201 }));
      await waitFor(() => expect(ended).toEqual([launched.id]));
      expect(router.state.location.pathname).toBe('/app');
    } finally {
      stop();
    }
  });

  test('waits while the fleet is full, and launches by itself when a place is free', async () => {
    const time = new ManualClock();
    const stop = runIn(time);
    try {
      const full = () =>
        Response.json(
          { error: { code: 'capacity_exhausted', message: '' } },
          { status: 503, headers: { 'Retry-After': '5' } },
        );
      answers['POST /v1/sessions'] = full;
      const router = open();
      fireEvent.click((await screen.findAllByRole('button', { name: /^Launch / }))[0]!);
      await screen.findByText('This page waits with you, and tries again in 5 seconds.');
      const launched = session(9, { state: 'assigned' });
      const signaling = { url: '', token: '', expires_at: launched.created_at, ice_servers: [] };
      answers['POST /v1/sessions'] = () => Response.json({ session: launched, signaling }, { status: 201 });
      await act(() => time.advance(4_000));
      await screen.findByText('This page waits with you, and tries again in 1 second.');
      await act(() => time.advance(1_000));
      await waitFor(() => expect(router.state.location.pathname).toBe(`/app/session/${launched.id}`));
    } finally {
      stop();
    }
  });

  test('says once which session the idle time-out ended, until the message is dismissed', async () => {
    const items = [
      session(1, { state: 'stopped', end_reason: 'idle_timeout', ended_at: '2026-11-22T10:00:00Z' }),
    ];
    answers['GET /v1/sessions'] = () => Response.json({ items, next_cursor: null });
    open();
    const note = await screen.findByText(/was ended because nobody used it for a while/);
    expect(note.textContent).toContain(app(1).name);
    fireEvent.click(screen.getByRole('button', { name: `Dismiss: ${app(1).name} was ended` }));
    cleanup();
    open();
    await screen.findAllByRole('button', { name: /^Launch / });
    expect(screen.queryByText(/was ended because/)).toBeNull();
  });

  test('on return the launched tile has the focus', async () => {
    const router = open();
    const tiles = await screen.findAllByRole('button', { name: /^Launch / });
    tiles[2]!.focus();
    await act(() => router.navigate({ to: '/app/session/$id', params: { id: 'x' } } as never));
    await screen.findByText('live');
    await act(() => router.navigate({ to: '/app' } as never));
    await waitFor(() =>
      expect(document.activeElement?.getAttribute('aria-label')).toBe(tiles[2]!.getAttribute('aria-label')),
    );
  });

  test('requests the rest of a long list when its first tiles are shown', async () => {
    let answerSessions: (response: Response) => void = () => {};
    const tilesAtRest: number[] = [];
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      if (url.startsWith('/v1/sessions'))
        return new Promise<Response>((resolve) => {
          answerSessions = resolve;
        });
      if (!url.startsWith('/v1/apps?')) return fetch(url, init);
      const isFirst = !url.includes('cursor');
      if (!isFirst) tilesAtRest.push(screen.queryAllByRole('button', { name: /^Launch / }).length);
      return Promise.resolve(
        Response.json({ items: [app(isFirst ? 0 : 1)], next_cursor: isFirst ? 'rest' : null }),
      );
    });
    const { queryClient } = open();
    await waitFor(() => expect(queryClient.getQueryData(keys.apps)).toBeDefined());
    answerSessions(Response.json({ items: [], next_cursor: null }));
    expect(await screen.findAllByRole('button', { name: /^Launch / })).toHaveLength(1);
    await waitFor(() => expect(tilesAtRest).toEqual([1]));
  });

  test('shows running sessions first, with a button to resume', async () => {
    answers['GET /v1/sessions'] = () =>
      Response.json({ items: [session(0), session(1, { state: 'stopped' })], next_cursor: null });
    open();
    expect(await screen.findAllByRole('button', { name: /^Resume / })).toHaveLength(1);
  });

  test('offers only to end, not to resume, a session that is shown only on its host’s display', async () => {
    const beside = [
      session(0, { video_topology: 'local_only' }),
      session(1, { video_topology: 'dual_output' }),
    ];
    answers['GET /v1/sessions'] = () => Response.json({ items: beside, next_cursor: null });
    answers['POST /v1/sessions'] = () =>
      Response.json(
        { error: { code: 'home_in_use', message: '', session_id: session(0).id } },
        { status: 409 },
      );
    open();
    const names = async (act: RegExp) =>
      (await screen.findAllByRole('button', { name: act })).map((button) =>
        button.getAttribute('aria-label'),
      );
    expect(await names(/^End /)).toEqual([`End ${app(0).name}`, `End ${app(1).name}`]);
    expect(await names(/^Resume /)).toEqual([`Resume ${app(1).name}`]);
    expect(screen.getAllByText('on a display of its host')).toHaveLength(1);
    fireEvent.click((await screen.findAllByRole('button', { name: /^Launch / }))[0]!);
    expect((await screen.findByRole('alert')).textContent).toContain('in use by another session');
    expect(screen.queryByRole('button', { name: 'Resume it' })).toBeNull();
  });

  test('explains an empty library', async () => {
    answers['GET /v1/apps'] = () => Response.json({ items: [], next_cursor: null });
    open();
    expect(
      await screen.findByText('Apps appear here after an administrator has given you one.'),
    ).toBeDefined();
  });

  test('keeps its layout and offers to retry when the server is away', async () => {
    answers['GET /v1/apps'] = () =>
      Response.json({ error: { code: 'internal', message: '' } }, { status: 503 });
    open();
    expect((await screen.findByRole('alert')).textContent).toContain('The server had a problem');
    expect(screen.getByRole('button', { name: 'Try again' })).toBeDefined();
  });
});

describe('favourites', () => {
  test('are marked at once by the star or by F on the tile, and unmarked if the server refuses', async () => {
    let refused = false;
    const asked: string[] = [];
    for (const method of ['PUT', 'DELETE']) {
      answers[`${method} /v1/me/favourites/${app(0).id}`] = () => {
        asked.push(method);
        return refused
          ? Response.json({ error: { code: 'forbidden', message: '' } }, { status: 403 })
          : new Response(null, { status: 204 });
      };
    }
    open();
    const star = await screen.findByRole('button', { name: `Favourite: ${app(0).name}` });
    const pressed = () => star.getAttribute('aria-pressed');
    const before = pressed();
    fireEvent.click(star);
    await waitFor(() => expect(pressed()).not.toBe(before));
    fireEvent.keyDown(screen.getByRole('button', { name: `Launch ${app(0).name}` }), { key: 'f' });
    await waitFor(() => expect(pressed()).toBe(before));
    expect(asked.sort()).toEqual(['DELETE', 'PUT']);
    refused = true;
    fireEvent.click(star);
    await waitFor(() => expect(asked).toHaveLength(3));
    await waitFor(() => expect(pressed()).toBe(before));
  });

  test('stay marked when the rest of a long library is loaded later', async () => {
    const pages: (() => void)[] = [];
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      if (!url.startsWith('/v1/apps?')) return fetch(url, init);
      const isFirst = !url.includes('cursor');
      const items = isFirst ? [app(0)] : [app(1)];
      const answer = () => Response.json({ items, next_cursor: isFirst ? 'rest' : null });
      return isFirst
        ? Promise.resolve(answer())
        : new Promise<Response>((resolve, reject) => {
            pages.push(() => resolve(answer()));
            init.signal?.addEventListener('abort', () => reject(init.signal?.reason));
          });
    });
    answers[`PUT /v1/me/favourites/${app(0).id}`] = () => new Response(null, { status: 204 });
    answers[`DELETE /v1/me/favourites/${app(0).id}`] = () => new Response(null, { status: 204 });
    open();
    const star = () => screen.findByRole('button', { name: `Favourite: ${app(0).name}` });
    await waitFor(() => expect(pages).toHaveLength(1));
    const before = (await star()).getAttribute('aria-pressed');
    fireEvent.click(await star());
    await waitFor(async () => expect((await star()).getAttribute('aria-pressed')).not.toBe(before));
    await waitFor(() => {
      for (const come of pages) come();
      expect(screen.queryByRole('button', { name: `Launch ${app(1).name}` })).not.toBeNull();
    });
    expect((await star()).getAttribute('aria-pressed')).not.toBe(before);
  });
});
