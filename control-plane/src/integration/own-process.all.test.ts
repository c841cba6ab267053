import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { controlUnit } from '../install/unit.ts';
import { failSystemCalls } from '../testing/failing-calls.ts';
import { makeMemoryGroup } from '../testing/memory-group.ts';
import { askOwnProcess, type OwnProcess, startOwnProcess } from '../testing/own-process.ts';

/**
 * Speed of the service's clock. At this speed, its silence limit of 20 s must still be longer than the delays of this
 * test process.
 */
const SPEED = 12;
const STOPPED_MS = 60_000 / SPEED;
const SILENCE_MS = 20_000 / SPEED;
/** Restarts are 6 s apart on the service's clock: 20 within two minutes. */
const LONG = process.env.FOOTLIGHT_LONG === '1';
const RESTARTS = LONG ? 20 : 2;
const BETWEEN_MS = 6_000 / SPEED;
const HOSTS = 6;
const ADA = { email: 'ada@example.org', password: 'a-long-enough-pass-phrase' };
const ENROLLMENT = 'a-fixed-enrollment-token';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a control plane whose process', () => {
  let folder: string;
  let service: OwnProcess;
  let bearer: string;
  const agents: FakeAgent[] = [];

  const start = async (through: readonly string[] = []) => {
    service = await startOwnProcess(folder, {
      env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT },
      speed: SPEED,
      through,
    });
    for (const agent of agents) agent.options.url = service.url;
  };
  const call = (method: string, path: string, body?: object, headers = {}) =>
    askOwnProcess(service, method, path, { bearer, body, headers });
  const addApp = (name: string) => call('POST', '/v1/apps', { name, runtime_spec: { args: ['demo'] } });
  const appNames = async (): Promise<string[]> =>
    (await call('GET', '/v1/admin/apps?limit=100')).items.map(({ name }: { name: string }) => name);
  async function comeBack(): Promise<void> {
    await Promise.all(agents.map(({ closed }) => closed));
    await Promise.all(agents.filter(({ isOpen }) => !isOpen).map((agent) => agent.connect()));
  }
  const sessions = async (): Promise<{ id: string; state: string; state_detail: string }[]> =>
    (await call('GET', '/v1/admin/sessions?limit=100')).items;
  const hosts = async (): Promise<{ status: string; capacity: { slots_used: number } | null }[]> =>
    (await call('GET', '/v1/hosts')).items;

  /** Expects that every host is connected and runs its one session, and that no host received a stop. */
  async function allIsWell(): Promise<void> {
    const expected = agents.map(() => ['online', 1]);
    const seen = async () => {
      const there = (await hosts()).map(({ status, capacity }) => [status, capacity?.slots_used]);
      const states = (await sessions()).map(({ state, state_detail }) => `${state} ${state_detail}`);
      return [there, states.filter((one) => !/^running (app presented|host_reconnected)$/.test(one))];
    };
    await vi.waitFor(async () => expect(await seen()).toEqual([expected, []]), { timeout: 20_000 });
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
      { ...ADA, username: 'ada', device_key: 'd' },
      { 'x-service-setup-token': readFileSync(join(folder, 'setup-token'), 'utf8').trim() },
    );
    bearer = claimed.access_token;
    await call('PATCH', `/v1/users/${claimed.user.id}`, { max_concurrent_sessions: HOSTS });
    const { app } = await addApp('Demo');
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
      const known = async () => (await hosts()).filter(({ capacity }) => capacity);
      await vi.waitFor(async () => expect(await known()).toHaveLength(n + 1), { timeout: 20_000 });
      await call('POST', '/v1/sessions', { app_id: app.id });
    }
    await allIsWell();
  }, 60_000);
  afterAll(async () => {
    for (const agent of agents) await agent.drop();
    await service?.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });

  test('is stopped for 60 s: afterwards nothing is ended for messages that it did not read, and agents that gave up reconnect', async () => {
    const [patient, impatient] = [agents.slice(0, HOSTS / 2), agents.slice(HOSTS / 2)];
    service.signal('SIGSTOP');
    await pause(SILENCE_MS);
    // The kernel accepts their connections and data; the process does not answer yet.
    const back = impatient.map(async (agent) => {
      await agent.drop();
      await agent.connect();
    });
    await pause(STOPPED_MS - SILENCE_MS);
    service.signal('SIGCONT');
    await Promise.all(back);
    await allIsWell();
    // Wait for one more silence limit, so that every session that was due has been checked.
    await pause(SILENCE_MS);
    expect(patient.map((agent) => agent.isOpen)).toEqual(patient.map(() => true));
    await allIsWell();
  });

  test(`is killed by the kernel for its memory: its service manager has it back${LONG ? ' within 5 s' : ''}, and no session is lost or doubled`, async ({
    skip,
    onTestFinished,
  }) => {
    const group = makeMemoryGroup();
    if (group === null) return skip('no control group of memory can be made here');
    onTestFinished(() => group.remove());
    const unit = controlUnit({
      node: '/node',
      program: '/main.js',
      environmentFile: '/env',
      writtenBy: '-',
      lowPort: false,
    });
    expect(unit).toMatch(/^Restart=always$/m);
    const restartSecs = Number(/^RestartSec=(\d+)$/m.exec(unit)?.[1]);
    await addApp('Acknowledged');
    group.add(service.pid);
    // Every request needs more memory.
    while (!service.ended) await call('GET', '/v1/admin/sessions?limit=100').catch(() => undefined);
    const endedMs = performance.now();
    expect(group.kills()).toBe(1);
    await pause(restartSecs * 1_000);
    await start();
    if (LONG) expect(performance.now() - endedMs).toBeLessThan(5_000);
    await comeBack();
    await allIsWell();
    expect(await appNames()).toContain('Acknowledged');
  });

  test('uses a dead name server: only requests that name a server wait and fail, and all else goes on', async ({
    skip,
  }) => {
    if (process.getuid?.() !== 0) return skip('only root can give a process another resolv.conf');
    const { app } = await addApp('Pictured');
    // A DNS server that receives queries but never answers. Its port is fixed, so each test process uses its own
    // address.
    const address = `127.77.${(process.pid >> 8) & 255}.${process.pid & 255}`;
    const silent = createSocket('udp4').bind(53, address);
    await once(silent, 'listening');
    let asked = 0;
    silent.on('message', () => {
      asked += 1;
    });
    writeFileSync(join(folder, 'resolv.conf'), `nameserver ${address}\n`);
    await service.end('SIGTERM');
    const becomes = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
    await start(['unshare', '--mount', '/bin/sh', '-c', becomes, join(folder, 'resolv.conf')]);
    await comeBack();
    await allIsWell();
    const begunMs = performance.now();
    const fetched = Array.from({ length: 8 }, (_, n) =>
      call('PUT', `/v1/admin/apps/${app.id}/artwork`, {
        tile_url: `https://pictures-${n}.example/a.png`,
      }).then(
        () => 'fetched',
        (error: Error) => `${error.message} after ${Math.round(performance.now() - begunMs)} ms`,
      ),
    );
    await expect.poll(() => asked).toBeGreaterThan(0);
    const localMs = performance.now();
    // Argon2 and file reads use the same threads as the look-ups of names.
    await call('POST', '/v1/auth/login', ADA);
    await addApp('Made meanwhile');
    expect((await hosts()).map(({ status }) => status)).toEqual(agents.map(() => 'online'));
    if (LONG) expect(performance.now() - localMs).toBeLessThan(2_000);
    // The answers arrive long before the resolver's time-out.
    for (const told of await Promise.all(fetched)) {
      expect(told).toMatch(/: 400 .*cannot be fetched/);
      if (LONG) expect(Number(/after (\d+) ms/.exec(told)?.[1])).toBeLessThan(4_000);
    }
    silent.close();
    await service.end('SIGTERM');
    await start();
    await comeBack();
    await allIsWell();
  });

  test.for([
    ['cannot be written to', 'pwrite64'],
    ['does not keep what it took', 'fsync,fdatasync'],
  ] as const)(
    'has a disk that %s: what was acknowledged is there afterwards, and it recovers by itself',
    async ([, calls], { skip, onTestFinished }) => {
      const fault = await failSystemCalls(service.pid, calls);
      if (fault === null) return skip('strace is missing, or may not trace here');
      onTestFinished(() => fault.end());
      const refused = await addApp(`During ${calls}`).catch((error: Error) => error.message);
      expect(refused).toMatch(/: 503 /);
      // A report is confirmed only once it is stored.
      const [agent] = agents as [FakeAgent];
      const [held] = [...agent.sessions.keys()];
      agent.reportState(held as string, 'running', { detail: `told during ${calls}` });
      expect(await appNames()).not.toContain(`During ${calls}`);
      expect(agents.map(({ isOpen }) => isOpen)).toEqual(agents.map(() => true));
      await fault.end();
      await expect.poll(() => agent.unseen).toBe(0);
      await addApp(`After ${calls}`);
      await service.end('SIGKILL');
      await start();
      expect(await appNames()).toContain(`After ${calls}`);
      expect((await sessions()).find(({ id }) => id === held)?.state_detail).toBe(`told during ${calls}`);
      await comeBack();
      await allIsWell();
    },
  );

  test(`is killed ${RESTARTS} times in a row: nothing acknowledged is lost, and no session`, {
    timeout: 30_000 + RESTARTS * 10_000,
  }, async () => {
    const acknowledged: string[] = [];
    for (let n = 0; n < RESTARTS; n += 1) {
      const name = `App ${n}`;
      await addApp(name);
      acknowledged.push(name);
      await service.end('SIGKILL');
      await Promise.all(agents.map(({ closed }) => closed));
      await start();
      // Some agents reconnect at once, others only after the last restart.
      await Promise.all(agents.slice(0, n % HOSTS).map((agent) => agent.connect()));
      await pause(BETWEEN_MS);
    }
    await Promise.all(agents.filter(({ isOpen }) => !isOpen).map((agent) => agent.connect()));
    await allIsWell();
    expect(await appNames()).toEqual(expect.arrayContaining(acknowledged));
  });
});
