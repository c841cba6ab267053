import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type OwnProcess, startOwnProcess } from './testing/own-process.ts';

/** Time of the service runs this much faster: its 20 s of silence are longer than this process may have to wait. */
const SPEED = 12;
const STOPPED_MS = 60_000 / SPEED;
const SILENCE_MS = 20_000 / SPEED;
/** Apart as 20 within two minutes are, by the clock of the service. */
const RESTARTS = process.env.FOOTLIGHT_LONG === '1' ? 20 : 2;
const BETWEEN_MS = 6_000 / SPEED;
const HOSTS = 6;
const ENROLLMENT = 'a-fixed-enrollment-token';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a control plane whose process', () => {
  let folder: string;
  let service: OwnProcess;
  let bearer: string;
  const agents: FakeAgent[] = [];

  const start = async () => {
    service = await startOwnProcess(folder, {
      env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT },
      speed: SPEED,
    });
    for (const agent of agents) agent.options.url = service.url;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the service really sent.
  async function call(method: string, path: string, body?: object, headers = {}): Promise<any> {
    const answer = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }
  const sessions = async (): Promise<{ id: string; state: string; state_detail: string }[]> =>
    (await call('GET', '/v1/admin/sessions?limit=100')).items;
  const hosts = async (): Promise<{ status: string; capacity: { slots_used: number } | null }[]> =>
    (await call('GET', '/v1/hosts')).items;

  /** Every host is there and holds its one session, which runs; nobody was told to end anything. */
  async function allIsWell(): Promise<void> {
    const expected = agents.map(() => ['online', 1]);
    await vi.waitFor(
      async () => {
        const there = (await hosts()).map(({ status, capacity }) => [status, capacity?.slots_used]);
        expect(there).toEqual(expected);
        const states = (await sessions()).map(({ state, state_detail }) => `${state} ${state_detail}`);
        expect(states.filter((one) => !/^running (app presented|host_reconnected)$/.test(one))).toEqual([]);
      },
      { timeout: 10_000 },
    );
    const now = await sessions();
    expect(now.map(({ id }) => id).sort()).toEqual(
      agents.flatMap((agent) => [...agent.sessions.keys()]).sort(),
    );
    expect(agents.flatMap(({ commands }) => commands.filter(({ type }) => type === 'session_stop'))).toEqual(
      [],
    );
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'footlight-process-'));
    await start();
    const claimed = await call(
      'POST',
      '/v1/setup/claim',
      { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase', device_key: 'd' },
      { 'x-service-setup-token': readFileSync(join(folder, 'setup-token'), 'utf8').trim() },
    );
    bearer = claimed.access_token;
    await call('PATCH', `/v1/users/${claimed.user.id}`, { max_concurrent_sessions: HOSTS });
    const { app } = await call('POST', '/v1/apps', { name: 'Demo', runtime_spec: { args: ['demo'] } });
    for (let n = 0; n < HOSTS; n += 1) {
      const agent = new FakeAgent({
        url: service.url,
        nodeName: `host-${n}`,
        credential: { token: ENROLLMENT },
        heartbeatMs: 100,
        capacity: softwareCapacity({}, { encode_slots_total: 1 }),
      });
      agents.push(agent);
      await agent.connect();
      await vi.waitFor(async () =>
        expect((await hosts()).filter(({ capacity }) => capacity)).toHaveLength(n + 1),
      );
      await call('POST', '/v1/sessions', { app_id: app.id });
    }
    await allIsWell();
  }, 60_000);
  afterAll(async () => {
    for (const agent of agents) await agent.drop();
    await service?.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });

  test('is stopped for 60 s: at its return nobody is judged by what it did not hear, and who gave up is back', async () => {
    const [patient, impatient] = [agents.slice(0, HOSTS / 2), agents.slice(HOSTS / 2)];
    service.signal('SIGSTOP');
    await pause(SILENCE_MS);
    // The kernel takes their connections and what they say; nobody answers yet.
    const back = impatient.map(async (agent) => {
      await agent.drop();
      await agent.connect();
    });
    await pause(STOPPED_MS - SILENCE_MS);
    service.signal('SIGCONT');
    await Promise.all(back);
    await allIsWell();
    // One more silence: whoever was to be judged has been.
    await pause(SILENCE_MS);
    expect(patient.map((agent) => agent.isOpen)).toEqual(patient.map(() => true));
    await allIsWell();
  });

  test(`is killed ${RESTARTS} times in a row: nothing acknowledged is lost, and no session`, {
    timeout: 30_000 + RESTARTS * 10_000,
  }, async () => {
    const acknowledged: string[] = [];
    for (let n = 0; n < RESTARTS; n += 1) {
      const name = `App ${n}`;
      await call('POST', '/v1/apps', { name, runtime_spec: { args: ['demo'] } });
      acknowledged.push(name);
      await service.end('SIGKILL');
      await Promise.all(agents.map(({ closed }) => closed));
      await start();
      // Some are back at once, others only when it lasts.
      await Promise.all(agents.slice(0, n % HOSTS).map((agent) => agent.connect()));
      await pause(BETWEEN_MS);
    }
    await Promise.all(agents.filter(({ isOpen }) => !isOpen).map((agent) => agent.connect()));
    await allIsWell();
    const names = (await call('GET', '/v1/admin/apps?limit=100')).items.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(expect.arrayContaining(acknowledged));
  });
});
