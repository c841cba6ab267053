/** scripts/fake pages: an instance whose pages show every state, without a fleet. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@footlight/platform';
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
import { ApiClient } from '../stack/api-client.ts';
import { eventually, freePort, startProgram } from '../stack/program.ts';
import { type SheetPage, writeContactSheet } from './contact-sheet.ts';
import { say } from './options.ts';

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
/** Sessions of one person that run at once. */
const MOST_SESSIONS = 16;
const ANSWER_LIMIT_MS = 60_000;

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
  const control = startProgram(
    'control-plane',
    [],
    {
      CONTROL_PORT: String(httpPort),
      SERVICE_TLS_PORT: values.port,
      SERVICE_DATA_DIR: path.join(directory, 'data'),
      SERVICE_SETUP_TOKEN_PATH: setupToken,
      SERVICE_ENROLLMENT_TOKEN: ENROLLMENT,
    },
    path.join(directory, 'control-plane.log'),
  );
  const ended = control.exited.then(() => {
    throw new Error(`The control plane ended:\n${control.log()}`);
  });
  const api = new ApiClient(`https://127.0.0.1:${values.port}`);
  const hosts = new FakeHosts(`http://127.0.0.1:${httpPort}`);
  try {
    const up = eventually('the control plane answers', ANSWER_LIMIT_MS, async () =>
      (await api.call('GET', '/health')).status === 200 ? true : null,
    );
    await Promise.race([up, ended]);
    const token = readFileSync(setupToken, 'utf8').trim();
    if (stage === 'unclaimed') {
      say(`${api.url}/setup   token: ${token}`);
    } else {
      const claimed = await api.ask('POST', '/v1/setup/claim', {
        body: ADMIN,
        headers: { 'x-service-setup-token': token },
      });
      say(`${api.url}/login   ${ADMIN.email}   ${ADMIN.password}`);
      if (stage === 'full') {
        await api.ask('PATCH', `/v1/users/${claimed.user.id}`, {
          token: claimed.access_token,
          body: { max_concurrent_sessions: MOST_SESSIONS },
        });
        const pages = await fill(api, claimed.access_token, hosts);
        if (sheet !== undefined) {
          say(`\nEach of ${pages.length} pages is shown four times, which takes a few minutes.`);
          await writeContactSheet(api.url, claimed.access_token, pages, sheet);
          say(sheet);
          return;
        }
      }
    }
    say('\nCtrl-C ends it.');
    if (!until.aborted) await Promise.race([once(until, 'abort'), ended]);
  } finally {
    ended.catch(() => undefined);
    await hosts.close();
    await control.kill('SIGTERM');
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
class FakeHosts {
  readonly #url: string;
  readonly #agents: FakeAgent[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async connect(nodeName: string, capacity = softwareCapacity()): Promise<FakeAgent> {
    const agent = new FakeAgent({ url: this.#url, nodeName, credential: { token: ENROLLMENT }, capacity });
    this.#agents.push(agent);
    await agent.connect();
    // The answer to a heartbeat comes after the capacity is stored.
    await agent.heard();
    return agent;
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.drop()));
  }
}

/** Steps of a launch up to this one, as a real host reports them. @throws Error for a step that it never reports */
export function until(detail: string): Behaviour['launch'] {
  const at = honest.launch.findIndex((step) => step.detail === detail);
  if (at < 0) throw new Error(`An honest launch has no step '${detail}'.`);
  return honest.launch.slice(0, at + 1);
}

/** Samples of a viewer up to now, a second each, whose network gets worse. */
function watchedMinute(nowMs: number): object[] {
  return Array.from({ length: 60 }, (_, n) => ({
    ts_unix_ms: nowMs - (60 - n) * 1_000,
    metrics: {
      fps: 60 - n / 4,
      present_n: 59,
      present_interval_sd_ms: 2 + n / 5,
      rtt_ms: 20 + n,
      packets_lost: n < 30 ? 0 : (n - 30) * 2,
      is_hidden: false,
      click_to_photon_ms: 45 + n,
      click_to_photon_n: 1,
    },
  }));
}

/** Brings hosts and sessions into every state, and prints the address of each. @returns the pages worth a look */
async function fill(api: ApiClient, token: string, hosts: FakeHosts): Promise<SheetPage[]> {
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

  say('\nSessions');
  // The only host by now, so that its session cannot go to another one.
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
  await ask('POST', `/v1/sessions/${exited}/stats`, { samples: watchedMinute(systemClock.nowMs()) });
  tell('the same, why it was bad', `/admin/sessions/${exited}`);
  stage.reportState(exited, 'stopped', { reason: 'app_exited', app_log_tail: 'Goodbye.' });
  for (const failure_code of FAILURE_CODES) {
    const failed = { state: 'failed', failure_code, error: 'failed by hand' } as const;
    await launch(`failed: ${failure_code}`, stage, [...until(LAUNCH_STEPS.starting_app), failed], 'failed');
  }

  say('\nHosts');
  const draining = await hosts.connect('draining');
  await ask('POST', `/v1/hosts/${draining.hostId}/drain`, {});
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
  for (const agent of [stage, lost, draining, display, unready])
    tell(agent.options.nodeName, `/admin/hosts/${agent.hostId}`);
  say('\nLists');
  const { items: apps } = await ask('GET', '/v1/apps');
  const { user } = await ask('GET', '/v1/me');
  for (const url of [
    '/app',
    '/app/account',
    '/admin',
    '/admin/setup',
    '/admin/sessions',
    '/admin/hosts',
    '/admin/apps',
    `/admin/apps/${apps[0].id}`,
    '/admin/apps/new',
    '/admin/presets',
    '/admin/profiles',
    '/admin/images',
    '/admin/homes',
    '/admin/library',
    '/admin/jobs',
    '/admin/jobs/auth.token_janitor',
    '/admin/users',
    `/admin/users/${user.id}`,
    '/admin/invites',
    '/admin/activity',
    '/admin/settings',
  ])
    tell(url, url);
  say(`  ${'/docs'.padEnd(44)} ${api.url}/docs`);
  // Sessions that failed look alike but for their reason.
  return pages.filter(
    ({ name }, n) => !name.startsWith('failed') || !pages[n - 1]?.name.startsWith('failed'),
  );
}
