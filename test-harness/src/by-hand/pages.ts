/** scripts/fake pages: an instance whose pages show every state, without a fleet. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock, type Timer } from '@footlight/platform';
import { FAILURE_CODES, LAUNCH_STEPS } from '@footlight/protocol';
import { prepare } from '../../../scripts/lib/prepare.mjs';
import {
  type Behaviour,
  displayCapacity,
  FakeAgent,
  gpuCapacity,
  honest,
  softwareCapacity,
} from '../fake-agent/index.ts';
import { publishImages } from '../published-images.ts';
import { ApiClient } from '../stack/api-client.ts';
import { takesSessions } from '../stack/host-ready.ts';
import { eventually, freePort, startProgram } from '../stack/program.ts';
import { ContactSheet, type SheetPage } from './contact-sheet.ts';
import { say } from './options.ts';
import { addCatalog, addHomes, addImages, addPeople, certify, diagnose, tellLoad } from './page-content.ts';

const STAGES = {
  unclaimed: 'nobody has claimed the instance yet',
  empty: 'claimed, without hosts, apps or sessions',
  full: 'hosts, apps and sessions in every state (default)',
} as const;
type Stage = keyof typeof STAGES;

export const pagesUsage = `Usage: scripts/fake pages [STAGE] [--port N]

Starts a control plane with the built web app and a database of its own, fills it by fake hosts, and prints the address
of each state. Ctrl-C ends it and removes everything. Sessions have no picture.

${Object.entries(STAGES)
  .map(([word, does]) => `  ${word.padEnd(10)} ${does}`)
  .join('\n')}

  --port N     HTTPS port (8444)
  --sheet FILE writes every page of the stage 'full', at every size and in both schemes, into one JPEG, and ends
`;

const ENROLLMENT = 'an-enrollment-token-for-fake-hosts';
const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };
/** The only page of an instance that nobody has claimed. */
const CLAIM: SheetPage = { name: '/setup', path: '/setup' };
/** Pages that are shown to people who are not signed in. */
const SIGN_IN: readonly SheetPage[] = [
  { name: '/login', path: '/login' },
  { name: '/register', path: '/register?invite=a-code' },
  { name: '/reset', path: '/reset?token=a-token' },
];
/** Maximum number of sessions of one person at the same time. */
const MAX_SESSIONS = 16;
const ANSWER_LIMIT_MS = 60_000;
/** Interval at which agents report their load. */
const LOAD_EVERY_MS = 5_000;

/** Runs until the signal aborts or the control plane ends. @param args after the word `pages` */
export async function runPages(args: readonly string[], until: AbortSignal): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { port: { type: 'string', default: '8444' }, sheet: { type: 'string' } },
  });
  const stage = stageOf(positionals);
  const { sheet } = values;
  if (sheet !== undefined && stage !== 'full') throw new Error("--sheet shows the stage 'full'.");
  await prepare({ packages: [], say });
  const directory = mkdtempSync(path.join(os.tmpdir(), 'footlight-pages-'));
  const setupToken = path.join(directory, 'setup-token');
  const httpPort = await freePort();
  mkdirSync(path.join(directory, 'data'), { mode: 0o700 });
  const published = await publishImages(
    { id: 'paint', displayName: 'Paint' },
    { id: 'steam', displayName: 'Steam' },
    { id: 'emulators', displayName: 'Emulators of old consoles' },
    { id: 'office', displayName: 'Office' },
  );
  const control = startProgram(
    'control-plane',
    [],
    {
      CONTROL_PORT: String(httpPort),
      SERVICE_TLS_PORT: values.port,
      SERVICE_DATA_DIR: path.join(directory, 'data'),
      SERVICE_SETUP_TOKEN_PATH: setupToken,
      SERVICE_ENROLLMENT_TOKEN: ENROLLMENT,
      ...published.env,
    },
    path.join(directory, 'control-plane.log'),
  );
  const ended = control.exited.then(() => {
    throw new Error(`The control plane ended:\n${control.log()}`);
  });
  const api = new ApiClient(`https://127.0.0.1:${values.port}`);
  let token = '';
  let contact: ContactSheet | null = null;
  const hosts = new FakeHosts(`http://127.0.0.1:${httpPort}`, (id) =>
    api.ask('GET', `/v1/hosts/${id}`, { token }),
  );
  try {
    const up = eventually('the control plane answers', ANSWER_LIMIT_MS, async () =>
      (await api.call('GET', '/health')).status === 200 ? true : null,
    );
    await Promise.race([up, ended]);
    const claimToken = readFileSync(setupToken, 'utf8').trim();
    if (sheet !== undefined) {
      contact = await ContactSheet.open(api.url);
      await contact.show([CLAIM]);
    }
    if (stage === 'unclaimed') {
      say(`${api.url}/setup   token: ${claimToken}`);
    } else {
      const claimed = await api.ask('POST', '/v1/setup/claim', {
        body: ADMIN,
        headers: { 'x-service-setup-token': claimToken },
      });
      token = claimed.access_token;
      say(`${api.url}/login   ${ADMIN.email}   ${ADMIN.password}`);
      if (stage === 'full') {
        await api.ask('PATCH', `/v1/users/${claimed.user.id}`, {
          token,
          body: { max_concurrent_sessions: MAX_SESSIONS },
        });
        const pages = await fill(api, token, hosts, published.publish);
        if (contact !== null && sheet !== undefined) {
          say(`\nEach of ${pages.length} pages is shown four times, which takes a few minutes.`);
          await contact.show(SIGN_IN);
          await contact.signIn(token);
          await contact.show(pages);
          await contact.write(sheet);
          say(sheet);
          return;
        }
      }
    }
    say('\nCtrl-C ends it.');
    if (!until.aborted) await Promise.race([once(until, 'abort'), ended]);
  } finally {
    ended.catch(() => undefined);
    await contact?.close();
    await hosts.close();
    await control.kill('SIGTERM');
    await published.close();
    await api.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function stageOf(words: readonly string[]): Stage {
  const [word = 'full', ...more] = words;
  if (more.length > 0 || !Object.hasOwn(STAGES, word))
    throw new Error(`There is no stage '${words.join(' ')}'; there are ${Object.keys(STAGES).join(', ')}.`);
  return word as Stage;
}

/** Fake hosts of one control plane. */
export class FakeHosts {
  readonly #read: (hostId: string) => Promise<{ capacity: unknown }>;
  readonly #agents: FakeAgent[] = [];
  #load: Timer | null = null;

  /** @param url of its agents' port @param read GET /v1/hosts/{id} */
  constructor(
    readonly url: string,
    read: (hostId: string) => Promise<{ capacity: unknown }>,
  ) {
    this.#read = read;
  }

  /**
   * Connects a new host, and returns when the host accepts sessions.
   * @throws when the host is refused, or does not accept sessions in time
   */
  async connect(nodeName: string, capacity = softwareCapacity()): Promise<FakeAgent> {
    const agent = new FakeAgent({ url: this.url, nodeName, credential: { token: ENROLLMENT }, capacity });
    this.#agents.push(agent);
    const { host_id } = await agent.connect();
    await takesSessions(() => this.#read(host_id));
    return agent;
  }

  /** Connected hosts report their load, until `close`. */
  tellLoad(): void {
    this.#load ??= systemClock.setInterval(() => {
      for (const agent of this.#agents) if (agent.isOpen) tellLoad(agent, systemClock.nowMs());
    }, LOAD_EVERY_MS);
  }

  async close(): Promise<void> {
    this.#load?.cancel();
    await Promise.all(this.#agents.map((agent) => agent.drop()));
  }
}

/**
 * Steps of a launch up to the step with this detail, as a real host reports them.
 * @throws Error for a step that no host reports
 */
export function until(detail: string): Behaviour['launch'] {
  const at = honest.launch.findIndex((step) => step.detail === detail);
  if (at < 0) throw new Error(`A real launch has no step '${detail}'.`);
  return honest.launch.slice(0, at + 1);
}

/**
 * Brings hosts and sessions into every state, and prints the address of each.
 * @returns the pages to show
 */
async function fill(
  api: ApiClient,
  token: string,
  hosts: FakeHosts,
  publish: (id: string, version: string) => void,
): Promise<SheetPage[]> {
  const pages: SheetPage[] = [];
  const ask = (method: string, url: string, body?: object) =>
    api.ask(method, url, { token, ...(body === undefined ? {} : { body }) });
  const tell = (name: string, url: string) => {
    say(`  ${name.padEnd(44)} ${api.url}${url}`);
    pages.push({ name, path: url });
  };
  const launch = async (what: string, agent: FakeAgent, steps: Behaviour['launch'], state: string) => {
    agent.behaviour.launch = steps;
    const body = { name: what, runtime_spec: { args: ['/usr/bin/true'] } };
    const { app } = await ask('POST', '/v1/apps', body);
    const { session } = await ask('POST', '/v1/sessions', { app_id: app.id });
    await eventually(`${what} is ${state}`, ANSWER_LIMIT_MS, async () => {
      const read = await ask('GET', `/v1/sessions/${session.id}`);
      return read.session.state === state || null;
    });
    tell(what, `/app/session/${session.id}`);
    return session.id as string;
  };

  const people = await addPeople(ask);
  const [blender = ''] = await addCatalog(ask, people);
  await ask('PATCH', '/v1/admin/settings', { flight_recorder_enabled: true });

  say('\nSessions');
  // No other host is connected yet, so the session must run on this host.
  const lost = await hosts.connect('lost');
  await launch('runs on a host that is away', lost, honest.launch, 'running');
  await lost.drop();
  const stage = await hosts.connect('stage', gpuCapacity(4));
  for (const detail of [
    LAUNCH_STEPS.starting_display,
    LAUNCH_STEPS.starting_app,
    LAUNCH_STEPS.starting_encoder,
  ])
    await launch(`is at '${detail}'`, stage, until(detail), 'starting');
  await launch(`is at '${LAUNCH_STEPS.app_booting}'`, stage, until(LAUNCH_STEPS.app_booting), 'running');
  await launch('runs', stage, honest.launch, 'running');
  const exited = await launch('ended by itself', stage, honest.launch, 'running');
  await diagnose(ask, stage, exited);
  tell('the same, why it was bad', `/admin/sessions/${exited}`);
  stage.reportState(exited, 'stopped', { reason: 'app_exited', app_log_tail: 'Goodbye.' });
  for (const failure_code of FAILURE_CODES) {
    const failed = { state: 'failed', failure_code, error: 'failed by hand' } as const;
    await launch(`failed: ${failure_code}`, stage, [...until(LAUNCH_STEPS.starting_app), failed], 'failed');
  }

  stage.behaviour.launch = honest.launch;
  await addHomes(ask, hosts.url, stage);

  say('\nHosts');
  hosts.tellLoad();
  await certify(ask, stage);
  await addImages(ask, publish, stage);
  const draining = await hosts.connect('draining');
  await ask('POST', `/v1/hosts/${draining.hostId}/drain`, {});
  await ask('POST', '/v1/admin/backups');
  const display = await hosts.connect('with-display', displayCapacity(true));
  const unready = await hosts.connect(
    'not-ready',
    softwareCapacity({
      readiness: [
        {
          id: 'programs',
          status: 'fail',
          summary: 'Xvfb is not installed.',
          remediation: ['apt-get install xvfb'],
        },
      ],
    }),
  );
  const shownHosts = [stage, lost, draining, display, unready];
  say('\nLists');
  const { items: presets } = await ask('GET', '/v1/admin/runtime-presets');
  for (const url of [
    '/app',
    '/app/account',
    '/admin',
    '/admin/setup',
    '/admin/sessions',
    '/admin/hosts',
    '/admin/apps',
    `/admin/apps/${blender}`,
    '/admin/apps/new',
    '/admin/presets',
    `/admin/presets/${presets[0].id}`,
    '/admin/profiles',
    '/admin/profiles/hall',
    '/admin/new-profile',
    '/admin/images',
    '/admin/images/steam',
    '/admin/homes',
    '/admin/discovery',
    `/admin/placement?app=${blender}&user=${people[0]}`,
    '/admin/jobs',
    '/admin/jobs/home.gc',
    '/admin/users',
    `/admin/users/${people[0]}`,
    '/admin/invites?state=all',
    '/admin/activity',
    '/admin/backups',
    '/admin/about',
    '/admin/settings',
  ])
    tell(url, url);
  say(`  ${'/docs'.padEnd(44)} ${api.url}/docs`);
  // The hosts are last on the sheet, so that their charts contain samples of a few minutes.
  for (const agent of shownHosts) tell(agent.options.nodeName, `/admin/hosts/${agent.hostId}`);
  // The sheet shows only the first of several failed sessions, because they differ only in their reason.
  return pages.filter(
    ({ name }, n) => !name.startsWith('failed') || !pages[n - 1]?.name.startsWith('failed'),
  );
}
