/**
 * Serves the built web app with a fake API, under the same Content-Security-Policy as the real server, so that every
 * page can be looked at in every state without a fleet: `tsx packages/web/test/fixture-server.ts [port] [apps]`.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { extname, join, resolve } from 'node:path';
import { type OperationId, operations, type Session, type Success } from '@footlight/protocol/rest';
import { diagnosis } from './diagnosis-fixtures.ts';
import * as made from './fixtures.ts';
import * as upkeep from './upkeep-fixtures.ts';

const CSP =
  "default-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};
const dist = resolve(import.meta.dirname, '../dist');
const port = Number(process.argv[2] ?? 4173);
const appCount = Number(process.argv[3] ?? 40);
const apps = Array.from({ length: appCount }, (_none, n) => made.app(n));
const user = { id: made.id(9, 1), email: 'alice@example.net', username: 'alice', role: 'admin' as const };
const launched: Session = made.session(0, {
  id: made.id(2, 999),
  state: 'assigned',
  state_detail: null,
  created_at: made.ago(0),
  started_at: null,
});
/** An ended session with a report: made.session(6). */
const ended = made.session(6, { state: 'stopped', end_reason: 'user_requested', ended_at: made.ago(60_000) });
const STEPS = ['preparing home', 'starting display', 'starting app'];

/** `last` is the last segment of the path, which is the id of things without a uuid. */
type Answers = {
  [Id in OperationId]?: (at: { id: string; last: string; query: URLSearchParams }) => Success<Id>;
};

const answers: Answers = {
  'setup.status': () => ({ admin_exists: true, setup_completed: false }),
  'setup.complete': () => ({ admin_exists: true, setup_completed: true }),
  'me.read': () => ({ user: { ...user, created_at: made.ago(9e9) }, sign_in_methods: ['password'] }),
  'access.check': () => made.accessCheck,
  'admin.webhook.status': () => ({ configured: false, waiting: 0, oldest_at: null }),
  'apps.list': ({ query }) =>
    page(
      apps.filter((app) => app.enabled),
      query,
    ),
  'apps.read': ({ id }) => ({ app: apps.find((app) => app.id === id) ?? made.app(0, { id }) }),
  'admin.apps.list': ({ query }) => page([upkeep.launcher, ...apps], query),
  'entitlements.list': ({ id }) => ({ items: made.entitlements(id) }),
  'fleet.summary': () => ({
    hosts: {
      online: made.hosts.filter(({ status }) => status === 'online').length,
      draining: made.hosts.filter(({ status }) => status === 'draining').length,
      offline: made.hosts.filter(({ status }) => status === 'offline').length,
    },
    slots: {
      total: made.hosts.reduce((sum, { capacity }) => sum + (capacity?.slots_total ?? 0), 0),
      used: made.hosts.reduce((sum, { capacity }) => sum + (capacity?.slots_used ?? 0), 0),
    },
  }),
  'hosts.list': () => ({ items: made.hosts, next_cursor: null }),
  'hosts.read': ({ id }) => made.hosts.find((host) => host.id === id) ?? made.host(1),
  'hosts.gpus': ({ id }) => ({ items: gpusOfHost(id) }),
  'gpus.list': () => ({
    items: made.hosts.map(({ id }) => ({ host_id: id, gpus: gpusOfHost(id) })),
    next_cursor: null,
  }),
  'certification.list': ({ id }) => ({ host_id: id, certifications: made.certifications }),
  'certification.concurrency': ({ id }) => ({ host_id: id, items: made.concurrency }),
  'configCatalog.read': () => ({ knobs: made.configCatalog }),
  'hostSettings.read': () => made.hostSettings,
  'hostConsole.read': () => made.hostConsole,
  'enrollmentTokens.list': () => ({ items: made.tokens }),
  'enrollmentTokens.create': () => ({
    id: made.id(5, 3),
    token: 'kX2q'.repeat(10),
    expires_at: made.ago(-3_600_000),
    command: '',
  }),
  'sessions.list': () => ({
    items:
      appCount === 0
        ? []
        : [
            made.session(0, { idle_ends_at: made.ago(-420_000) }),
            made.session(4, { state: 'starting' }),
            made.session(5, {
              state: 'stopped',
              end_reason: 'idle_timeout',
              ended_at: made.ago(7_200_000),
            }),
            made.failedSession,
            made.session(6, { state: 'stopped' }),
          ],
    next_cursor: null,
  }),
  'highlights.list': () => ({
    items: apps.slice(0, 5).map(({ id }, n) => ({
      app_id: id,
      reason: n === 0 ? 'most_played' : n < 3 ? 'resume' : 'recently_added',
      session_id: null,
      session_started_at: null,
      play_seconds: n === 0 ? 9000 : 0,
      last_played_at: null,
    })),
  }),
  'sessions.launch': () => ({
    session: launched,
    signaling: {
      url: 'ws://127.0.0.1:9/v1/signal',
      token: 'x',
      expires_at: made.ago(-60_000),
      ice_servers: [],
    },
  }),
  'sessions.signalingToken': () => ({
    signaling: {
      url: 'ws://127.0.0.1:9/v1/signal',
      token: 'x',
      expires_at: made.ago(-60_000),
      ice_servers: [],
    },
  }),
  'sessions.read': ({ id }) => ({
    session:
      id === made.failedSession.id
        ? made.failedSession
        : id === launched.id
          ? launched
          : made.session(0, { id, ...(id === ended.id ? ended : {}) }),
  }),
  'sessions.verdict': () => diagnosis.verdict,
  'admin.jobs.list': () => ({ items: upkeep.jobs, next_cursor: null }),
  'admin.jobs.read': ({ last }) => upkeep.jobs.find((job) => job.id === last) ?? upkeep.job(),
  'admin.jobs.runs': ({ query }) => page(upkeep.jobRuns, query),
  'admin.jobs.run': () => ({
    run_id: made.id(20, 1),
    state: 'pending',
    scheduled_for: made.ago(0),
    eta_note: 'Starts within about 10 s.',
  }),
  'secrets.list': () => ({ secrets: [], master_key_configured: false, key_versions: [] }),
  'settings.read': () => ({ settings: operations['settings.read'].example.response.settings as never }),
  'users.passwordReset': () => ({
    url: `https://192.0.2.9:8443/reset?token=${'kX2q'.repeat(10)}`,
    address_source: 'machine',
    expires_at: made.ago(-86_400_000),
  }),
  'users.list': () => ({ items: [], next_cursor: null }),
  'activity.list': () => ({ items: upkeep.activity, next_cursor: null }),
  'images.list': () => upkeep.imageCatalog,
  'images.sync': () => upkeep.imageCatalog,
  'runtimePresets.read': () => ({ runtime_preset: made.preset() }),
  'admin.backups.list': () => ({
    items: upkeep.backups,
    folder: '/var/lib/service-control/backups',
    keep: 14,
  }),
  'admin.storage.homes.list': () => ({ items: upkeep.homes, next_cursor: null }),
  'library.status': () => upkeep.libraryStatus,
  'library.scan': () => ({ queued: 2, skipped: 1, eligible: 3, inert_reason: '' }),
  'libraryUnpublished.list': () => ({ items: upkeep.unpublished }),
  'libraryRules.list': () => ({ items: upkeep.libraryRules }),
  'users.update': () => ({
    user: {
      ...user,
      disabled: false,
      max_concurrent_sessions: 3,
      created_at: made.ago(9e9),
      last_seen_at: made.ago(0),
      sign_in_methods: ['password'],
      active_session_count: 1,
    },
  }),
  'admin.sessions.verdict': () => diagnosis.verdict,
  'admin.sessions.traceMetrics': () => ({ window: diagnosis.window, series: diagnosis.series }),
  'admin.sessions.traceEvents': () => ({ window: diagnosis.window, events: diagnosis.events }),
  'admin.sessions.list': ({ query }) => ({
    items: Array.from({ length: query.get('state') === 'failed' ? 1 : 7 }, (_none, n) =>
      query.get('state') === 'failed'
        ? { ...made.adminSession(n), ...made.failedSession }
        : made.adminSession(n, n === 2 ? { state: 'starting' } : n === 3 ? made.atFloor : {}),
    ),
    next_cursor: null,
    ...(query.get('count') === 'true' && { total: query.get('state') === 'failed' ? 1 : 7 }),
  }),
};

function gpusOfHost(id: string): ReturnType<typeof made.gpu>[] {
  if (id === made.id(3, 3)) return [];
  return id === made.id(3, 2) ? [made.software] : [made.gpu(0), made.gpu(1)];
}

function page<Item>(
  items: readonly Item[],
  query: URLSearchParams,
): { items: Item[]; next_cursor: string | null } {
  const from = Number(query.get('cursor') ?? 0);
  const limit = Number(query.get('limit') ?? 50);
  return {
    items: items.slice(from, from + limit),
    next_cursor: from + limit < items.length ? String(from + limit) : null,
  };
}

function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Security-Policy': CSP,
    'Cache-Control': 'no-store',
  });
  response.end(body);
}

function follow(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Security-Policy': CSP });
  let at = 0;
  const tell = () => {
    const session: Session = { ...launched, state: 'starting', state_detail: STEPS[at] ?? null };
    response.write(`event: session\ndata: ${JSON.stringify({ session })}\n\n`);
    at += 1;
    if (at >= STEPS.length) clearInterval(timer);
  };
  const timer = setInterval(tell, 400);
  response.on('close', () => clearInterval(timer));
  tell();
}

createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  const operation = Object.values(operations).find(
    ({ method, path }) =>
      method === request.method && new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(url.pathname),
  );
  if (operation?.id === 'sessions.events') return follow(response);
  if (operation !== undefined) {
    const parts = decodeURIComponent(url.pathname).split('/');
    const id = parts.find((part) => /^[0-9a-f-]{36}$/.test(part)) ?? '';
    const answer = answers[operation.id]?.({ id, last: parts.at(-1) ?? '', query: url.searchParams });
    const refused = { error: { code: 'not_found', message: 'There is no such resource.' } };
    return send(
      response,
      answer === undefined ? 404 : 200,
      'application/json',
      JSON.stringify(answer ?? refused),
    );
  }
  const file =
    // An id in a page's path may contain a dot.
    TYPES[extname(url.pathname)] === undefined
      ? /^\/admin(\/|$)/.test(url.pathname)
        ? 'admin/index.html'
        : /^\/(login|register|reset|setup)/.test(url.pathname)
          ? 'sign-in/index.html'
          : 'index.html'
      : url.pathname;
  const body = await readFile(join(dist, file)).catch(() => null);
  if (body === null) return send(response, 404, 'text/plain', 'no such file');
  return send(response, 200, TYPES[extname(file)] ?? 'application/octet-stream', body);
}).listen(port, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${port}\n`));
