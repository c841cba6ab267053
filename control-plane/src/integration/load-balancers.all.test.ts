import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent } from '@footlight/test-harness';
import sharp from 'sharp';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openPage } from '../signaling/testing/page.ts';
import { BuiltReplicas } from '../testing/built-replicas.ts';
import { type Balancer, balancerNames, freeBalancerPorts, startBalancer } from '../testing/load-balancers.ts';
import { type OwnProcess, startOwnProcess } from '../testing/own-process.ts';
import { SteadyRequests } from '../testing/steady-requests.ts';

const ENROLLMENT = 'enroll-me-please-0123456789abcdef';
const ADA = { email: 'ada@example.test', username: 'ada', password: 'correct horse battery staple' };
const START_LIMIT_MS = 20_000;
const patiently = (look: () => Promise<void>) => vi.waitFor(look, { timeout: START_LIMIT_MS });
describe.each(balancerNames)('behind %s, as deploy/ configures it', (name) => {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  let folder: string;
  let service: OwnProcess;
  let balancer: Balancer;
  let url: string;
  let bearer: string;
  let cookie: string;
  let agent: FakeAgent;
  let sessionId: string;

  const call = async (method: string, path: string, body?: object | Uint8Array, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      dispatcher,
      headers: {
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(body && !(body instanceof Uint8Array) && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever was really sent.
    const read = text.startsWith('{') ? (JSON.parse(text) as any) : text;
    return { status: answer.status, cookies: answer.headers.getSetCookie(), body: read };
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'footlight-balanced-'));
    const ports = await freeBalancerPorts();
    url = `https://127.0.0.1:${ports.https}`;
    service = await startOwnProcess(folder, {
      env: {
        PUBLIC_BASE_URL: url,
        SERVICE_TRUSTED_PROXIES: '127.0.0.1',
        SERVICE_ENROLLMENT_TOKEN: ENROLLMENT,
        SERVICE_DRAIN_SECS: '60',
      },
    });
    balancer = startBalancer(name, folder, ports, [new URL(service.url).host]);
    await patiently(async () => {
      expect([balancer.hasEnded, balancer.log]).toEqual([false, expect.anything()]);
      expect((await call('GET', '/health/ready')).status).toBe(200);
    });
    const claimed = await call('POST', '/v1/setup/claim', ADA, {
      'x-service-setup-token': readFileSync(join(folder, 'setup-token'), 'utf8').trim(),
    });
    bearer = claimed.body.access_token;
    [cookie = ''] = claimed.cookies;
    agent = new FakeAgent({ url, nodeName: 'hosta', credential: { token: ENROLLMENT }, heartbeatMs: 500 });
    await agent.connect();
    const host = async () => (await call('GET', '/v1/hosts')).body.items[0];
    await patiently(async () => expect((await host())?.capacity_detection).toBe('ok'));
    const { app } = (await call('POST', '/v1/apps', { name: 'Demo', runtime_spec: { args: ['demo'] } })).body;
    const launched = await call('POST', '/v1/sessions', { app_id: app.id });
    sessionId = launched.body.session.id;
    const state = async () => (await call('GET', `/v1/sessions/${sessionId}`)).body.session.state;
    await patiently(async () => expect(await state()).toBe('running'));
  }, 120_000);
  afterAll(async () => {
    await agent?.drop();
    await balancer?.end();
    await service?.end('SIGKILL');
    await dispatcher.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  test('HTTP leads to HTTPS', async () => {
    const answer = await fetch(`${balancer.plainUrl}/app`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([
      301,
      expect.stringMatching(/^https:\/\/127\.0\.0\.1(:\d+)?\/app$/),
    ]);
  });

  test('the access check has nothing to advise', async () => {
    const { body } = await call('GET', '/v1/admin/access-check', undefined, { origin: url });
    expect(body.request).toMatchObject({
      host: new URL(url).host,
      forwarded_proto: 'https',
      tls_terminated_upstream: true,
      secure_context: true,
    });
    expect(body.request.advice).toBeUndefined();
    expect(body.origins).toMatchObject({ request_origin_allowed: true });
  });

  test('the page cookie opens the administrators’ pages, and goes over HTTPS alone', async () => {
    expect(cookie).toContain('Secure');
    const [pair = ''] = cookie.split(';');
    const page = await call('GET', '/admin', undefined, { cookie: pair, authorization: '' });
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('<!doctype html>')]);
  });

  test('a forged client address has no effect', async () => {
    const statuses = new Set<number>();
    // This body is refused before a password is hashed, so the requests are faster than the bucket of ten refills.
    for (let n = 1; n <= 12; n += 1) {
      const invented = `203.0.113.${n}`;
      const headers = { 'x-forwarded-for': invented, 'x-real-ip': invented, forwarded: `for=${invented}` };
      statuses.add((await call('POST', '/v1/auth/login', [], headers)).status);
    }
    expect([...statuses]).toEqual([400, 429]);
  });

  test('a viewer reaches the host through it, by the address that the API names', async () => {
    const { signaling } = (await call('POST', `/v1/sessions/${sessionId}/signaling-token`)).body;
    expect(new URL(signaling.url).origin).toBe(url.replace('https', 'wss'));
    const page = await openPage(url, signaling.token, { headers: { origin: url } });
    page.hello();
    const { conn } = await page.next('ready');
    agent.signal(sessionId, conn, { type: 'bye', reason: 'going_away' });
    await page.next('bye');
    page.socket.terminate();
  });

  test('a picture of some megabytes reaches the library', async () => {
    const side = 1_200;
    const noise = sharp(randomBytes(3 * side * side), { raw: { width: side, height: side, channels: 3 } });
    const picture = await noise.png().toBuffer();
    expect(picture.length).toBeGreaterThan(4 * 1024 * 1024);
    const { id } = (await call('GET', '/v1/apps')).body.items[0];
    const answer = await call('POST', `/v1/admin/apps/${id}/artwork/upload`, picture, {
      'content-type': 'image/png',
    });
    expect(answer.status).toBe(200);
  });

  test('events of a session come at once, and go on while the control plane drains', async () => {
    const stream = await fetch(`${url}/v1/sessions/${sessionId}/events`, {
      dispatcher,
      headers: { authorization: `Bearer ${bearer}` },
    });
    let heard = '';
    const readOn = async () => {
      for await (const chunk of stream.body ?? []) heard += Buffer.from(chunk as Uint8Array).toString();
    };
    // The second signal interrupts the stream.
    const reading = readOn().catch(() => undefined);
    await expect.poll(() => heard).toContain('"state":"running"');

    service.signal('SIGTERM');
    const after = name === 'HAProxy' ? 'No server is available' : 'ada';
    await expect.poll(async () => JSON.stringify((await call('GET', '/v1/me')).body)).toContain(after);
    expect((await call('GET', '/health/ready')).status).toBe(503);
    agent.reportState(sessionId, 'running', { detail: 'still here' });
    await expect.poll(() => heard).toContain('still here');

    service.signal('SIGTERM');
    await reading;
  });
});

describe('behind nginx, which does not check the control planes', () => {
  let fleet: BuiltReplicas;
  beforeAll(async () => {
    fleet = await BuiltReplicas.start({ hosts: 8, sessionsPerHost: 1, behind: 'nginx' });
  }, 120_000);
  afterAll(() => fleet?.end(), 60_000);

  test('one of several is replaced: no request fails, and every session goes on', async () => {
    const requests = new SteadyRequests(fleet, { perSecond: 50 });
    const launchesEnd = requests.launch(1);
    try {
      expect(await fleet.at(0).process.end('SIGTERM')).toBe(0);
      await fleet.expectWorkOf(1, 2);
      await fleet.startAgain(0);
      await launchesEnd();
      await fleet.expectRecovered();
    } finally {
      await requests.end();
    }
    expect([...requests.failed, ...fleet.failed]).toEqual([]);
    expect(Object.keys(requests.answered).toSorted()).toEqual(['DELETE', 'GET', 'PATCH', 'POST']);
  });
});
