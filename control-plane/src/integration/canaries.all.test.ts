import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Operation, operations } from '@footlight/protocol/rest';
import { FakeAgent } from '@footlight/test-harness';
import { expect, test } from 'vitest';
import {
  type FakeProvider,
  KEY as PROVIDER_KEY,
  startFakeProvider,
} from '../artwork/testing/fake-provider.ts';
import { readConfig } from '../platform/config/config.ts';
import { openPage } from '../signaling/testing/page.ts';
import {
  type Answer,
  type CallOptions,
  createTestApp,
  describeDatabases,
  dumpDatabase,
  type Person,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';
import {
  bytesBelow,
  PlantedSecrets,
  processArguments,
  type RecordedAnswer,
} from '../testing/planted-secrets.ts';

const BOOTSTRAP_ENV = 'canary-Passw0rd-of-the-environment';
const SECRET_URL = '/v1/admin/secrets/artwork.steamgriddb.api_key';

const ENVIRONMENT = {
  SERVICE_ENROLLMENT_TOKEN: 'canary-fixed-enrollment-token',
  SERVICE_SECRET_KEY: `2:${randomBytes(32).toString('base64')}`,
  SERVICE_SECRET_KEY_PREVIOUS: `1:${randomBytes(32).toString('base64')}`,
  SERVICE_STEAMGRIDDB_API_KEY: 'canary-provider-key-of-the-environment',
  SERVICE_ICE_SERVERS: JSON.stringify([
    { urls: 'turn:turn.example', username: 'turn', credential: 'canary-turn-credential' },
  ]),
  SERVICE_TURN_URLS: 'turn:turn.example',
  SERVICE_TURN_SECRET: 'canary-secret-of-the-turn-server',
  SERVICE_DEV_AGENT_AUTH: '1',
  SERVICE_LOG_LEVEL: 'trace',
};

/** A running service, with all planted secrets and all answers. */
class Evening {
  readonly app: TestApp;
  readonly provider: FakeProvider;
  readonly secrets = new PlantedSecrets();
  readonly answers: RecordedAnswer[] = [];
  admin = {} as Person;
  http = '';
  agent: FakeAgent | undefined;

  constructor(app: TestApp, provider: FakeProvider) {
    this.app = app;
    this.provider = provider;
    for (const [name, value] of Object.entries(ENVIRONMENT)) {
      if (name === 'SERVICE_ICE_SERVERS') {
        const shown = ['POST /v1/sessions', 'POST /v1/sessions/{id}/signaling-token'];
        this.secrets.plant('the TURN credential', 'canary-turn-credential', shown);
      } else if (name.startsWith('SERVICE_SECRET_KEY')) {
        this.secrets.plant(name, value.slice(2));
        this.secrets.plant(
          `${name} without its encoding`,
          Buffer.from(value.slice(2), 'base64').toString('latin1'),
        );
      } else if (value.startsWith('canary')) this.secrets.plant(name, value);
    }
  }

  async call(as: Person | null, method: string, url: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.app.call(as, method, url, options);
    const path = url.split('?')[0]?.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '{id}');
    const text = `${answer.text}\n${JSON.stringify(answer.headers)}`;
    this.answers.push({ route: `${method} ${path}`, status: answer.status, text });
    return answer;
  }

  /** Like `call`, for a step that must succeed. */
  async succeed(as: Person | null, method: string, url: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.call(as, method, url, options);
    expect(answer.status, `${method} ${url} ${answer.text}`).toBeLessThan(300);
    return answer;
  }

  /** Advances the time until the work ends, because calls of the provider wait for each other. */
  async passing<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const ended = work.finally(() => {
      done = true;
    });
    while (!done) {
      await this.app.clock.pass(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return ended;
  }

  signedIn(who: string, route: string, answer: Answer): Person {
    // A refused page redirects to the sign-in with the requested address, including its query.
    const shown = [route, 'GET /admin'];
    const token = this.secrets.plant(`the bearer token of ${who}`, answer.body.access_token, shown);
    const cookie = answer.headers['set-cookie'];
    if (cookie) {
      // GET /v1/me sends the cookie again.
      const renewing = [route, 'GET /v1/me'];
      this.secrets.plant(`the page cookie of ${who}`, String(cookie).split(/[=;]/)[1], renewing);
    }
    return { ...answer.body.user, token };
  }
}

/** Claims the instance: with the token in the wrong place, with a wrong token, and correctly. */
async function claim(evening: Evening): Promise<void> {
  const { app, secrets } = evening;
  const setupToken = secrets.plant(
    'the setup token',
    readFileSync(join(app.dir, 'run', 'setup-token'), 'utf8').trim(),
  );
  const wrong = secrets.plant('a wrong setup token', 'canary-wrong-setup-token');
  const password = secrets.plant('the password of the claim', 'canary-Passw0rd-one');
  const body = { email: 'admin@example.org', username: 'admin', password, device_key: 'd' };
  const route = 'POST /v1/setup/claim';
  await evening.call(null, 'POST', `/v1/setup/claim?token=${setupToken}`, { body });
  await evening.call(null, 'POST', '/v1/setup/claim', { body, headers: { 'x-service-setup-token': wrong } });
  const headers = { 'x-service-setup-token': setupToken };
  await evening.call(null, 'POST', '/v1/setup/claim', { body: { ...body, email: 'nothing' }, headers });
  const claimed = await evening.succeed(null, 'POST', '/v1/setup/claim', { body, headers });
  evening.admin = evening.signedIn('the claim', route, claimed);
  await evening.call(null, 'POST', '/v1/setup/claim', { body, headers });
}

/** Signs in with right and wrong passwords, and sends a token in wrong places. */
async function signIn(evening: Evening): Promise<void> {
  const { admin, secrets } = evening;
  const login = (body: unknown) => evening.call(null, 'POST', '/v1/auth/login', { body });
  const wrong = secrets.plant('a wrong password', 'canary-Passw0rd-two');
  await login({ email: 'admin@example.org', password: wrong });
  await login({ email: 'nobody@example.org', password: wrong });
  await login({ email: { [wrong]: wrong }, password: [wrong] });
  await login(`{"email":"admin@example.org","password":"${wrong}`);
  await login(`${wrong}`);
  // A person types the password into the email field.
  await login({ email: wrong, password: 'x' });
  const right = await login({ email: 'admin@example.org', password: 'canary-Passw0rd-one' });
  const second = evening.signedIn('a login', 'POST /v1/auth/login', right);
  await evening.call(admin, 'GET', `/v1/me?access_token=${admin.token}`);
  await evening.call(admin, 'GET', `/admin?token=${admin.token}`);
  await evening.call(null, 'GET', '/v1/me', { headers: { authorization: `Basic ${admin.token}` } });
  await evening.call({ ...admin, token: `${admin.token}x` }, 'GET', '/v1/me');
  await evening.succeed(second, 'POST', '/v1/auth/logout');
  await evening.call(second, 'GET', '/v1/me');
}

/** Creates an invite, tries a wrong code, registers with the right one, and tries to use it a second time. */
async function invite(evening: Evening): Promise<void> {
  const { admin, secrets } = evening;
  const minted = await evening.succeed(admin, 'POST', '/v1/admin/invites', {
    body: { max_uses: 1, note: 'for the canary' },
  });
  const code = secrets.plant('an invite code', minted.body.invite.code, ['POST /v1/admin/invites']);
  const wrong = secrets.plant('a wrong invite code', 'canary-wrong-invite-code');
  await evening.succeed(admin, 'PATCH', '/v1/admin/settings', { body: { registration_mode: 'invite_only' } });
  const password = secrets.plant('the password of a registration', 'canary-Passw0rd-three');
  const register = (body: object) => evening.call(null, 'POST', '/v1/auth/register', { body });
  const person = { email: 'guest@example.org', username: 'guest', password };
  await register({ ...person, invite_code: wrong });
  await register({ ...person, email: 'no address', invite_code: code });
  await register({ ...person, username: password, email: 'x', invite_code: code });
  await register({ ...person, invite_code: [code] });
  expect((await register({ ...person, invite_code: code })).status).toBe(201);
  await register({ ...person, email: 'second@example.org', username: 'second', invite_code: code });
  await evening.succeed(admin, 'PATCH', '/v1/admin/settings', { body: { registration_mode: 'open' } });
  // The unique values are taken. The database's error contains them, and the answer must not repeat it.
  await register(person);
  await evening.succeed(admin, 'GET', '/v1/admin/invites');
  await evening.call(null, 'GET', `/register?invite=${code}`);
}

/** The provider's key: stored correctly and wrongly, used, refused, and repeated in the answer of a provider. */
async function provide(evening: Evening, appId: string): Promise<void> {
  const { admin, provider, secrets } = evening;
  const search = () =>
    evening.passing(
      evening.call(admin, 'POST', `/v1/admin/apps/${appId}/artwork/search`, { body: { query: 'Demo' } }),
    );
  await search();
  const early = secrets.plant('a mistyped provider key', 'canary-mistyped-provider-key');
  const put = (body: unknown) => evening.call(admin, 'PUT', SECRET_URL, { body });
  await put({ value: early, extra: early });
  await put({ value: [early] });
  await put(`{"value":"${early}`);
  await evening.call(admin, 'PUT', '/v1/admin/secrets/artwork.other', { body: { value: early } });
  await evening.succeed(admin, 'PUT', SECRET_URL, { body: { value: early } });
  await search();
  secrets.plant('the provider key', PROVIDER_KEY);
  await evening.succeed(admin, 'PUT', SECRET_URL, { body: { value: PROVIDER_KEY } });
  provider.games.push({ id: 1, name: 'Demo' });
  expect((await search()).status).toBe(200);
  for (const status of [200, 400, 401, 500]) {
    provider.broken = (request, response) => {
      const key = request.headers.authorization ?? '';
      response.writeHead(status, { 'content-type': 'application/json', 'x-echo': key });
      const url = `${provider.origin}/${key.slice('Bearer '.length)}.png`;
      const data = [{ id: 1, name: key, url, thumb: url }];
      response.end(JSON.stringify({ success: status === 200, errors: [key], data }));
    };
    await search();
  }
  provider.broken = (request) => request.socket.destroy();
  await search();
  provider.broken = null;
  await evening.passing(
    evening.call(admin, 'POST', '/v1/admin/artwork/reresolve', { body: { force: true } }),
  );
  await evening.succeed(admin, 'GET', '/v1/admin/secrets');
}

/** Enrolls a host that reconnects, and tries a host with wrong credentials. */
async function enroll(evening: Evening): Promise<void> {
  const { admin, secrets, http } = evening;
  const minted = await evening.succeed(admin, 'POST', '/v1/admin/enrollment-tokens', { body: { note: 'n' } });
  const token = secrets.plant('an enrollment token', minted.body.token, ['POST /v1/admin/enrollment-tokens']);
  const agent = new FakeAgent({
    url: http,
    nodeName: 'hosta',
    credential: { token, enrollId: 'ab'.repeat(32) },
    heartbeatMs: 0,
  });
  await agent.connect();
  secrets.plant("the host's secret", String(agent.secret));
  await agent.drop();
  await agent.connect();
  await evening.call(null, 'GET', '/agent/ws', { headers: agent.headers() });
  await evening.call({ ...admin, token: String(agent.secret) }, 'GET', '/v1/me');
  await expect
    .poll(async () => (await evening.call(admin, 'GET', `/v1/hosts/${agent.hostId}`)).body.capacity_detection)
    .toBe('ok');
  evening.agent = agent;
}

/** Launches a session with a viewer, and uses the viewer's token twice. */
async function play(evening: Evening, appId: string): Promise<void> {
  const { admin, secrets, http } = evening;
  const launched = await evening.succeed(admin, 'POST', '/v1/sessions', { body: { app_id: appId } });
  const { id } = launched.body.session;
  const first = secrets.plant('a signaling token', launched.body.signaling.token, ['POST /v1/sessions']);
  const again = `/v1/sessions/${id}/signaling-token`;
  const renewed = await evening.call(admin, 'POST', again);
  if (renewed.status < 300) {
    const answered = renewed.body.signaling ?? renewed.body;
    secrets.plant('a second signaling token', answered.token, ['POST /v1/sessions/{id}/signaling-token']);
  }
  const page = await openPage(http, first);
  page.hello();
  await page.next('ready');
  await evening.agent?.waitFor('signaling', ({ msg }) => msg.type === 'attach');
  page.socket.terminate();
  await (await openPage(http, first)).closed;
  await evening.call(null, 'GET', `/v1/signal?token=${first}`);
  await evening.call(admin, 'GET', `/v1/sessions/${id}`);
}

/** Opens a developer's session with the key of this boot, and tries wrong keys. */
async function develop(evening: Evening): Promise<void> {
  const { app, secrets } = evening;
  const file = join(app.dir, 'run', 'dev-agent-key');
  expect(existsSync(file)).toBe(true);
  const key = secrets.plant('the developer key', readFileSync(file, 'utf8').trim());
  const open = (header: string) =>
    evening.call(null, 'POST', '/v1/dev/agent-session', {
      body: { role: 'admin' },
      headers: { 'x-service-dev-key': header },
    });
  await open(secrets.plant('a wrong developer key', 'canary-wrong-developer-key'));
  await evening.call(null, 'POST', `/v1/dev/agent-session?key=${key}`);
  const opened = await open(key);
  expect(opened.status, opened.text).toBe(200);
  evening.signedIn('a developer', 'POST /v1/dev/agent-session', opened);
}

/** Changes the password: with a wrong current password, to a refused new one, and correctly. */
async function changePassword(evening: Evening): Promise<void> {
  const { secrets } = evening;
  const login = await evening.succeed(null, 'POST', '/v1/auth/login', {
    body: { email: 'guest@example.org', password: 'canary-Passw0rd-three' },
  });
  const guest = evening.signedIn('the guest', 'POST /v1/auth/login', login);
  const change = (current_password: string, new_password: string) =>
    evening.call(guest, 'POST', '/v1/me/password', { body: { current_password, new_password } });
  const renewed = secrets.plant('the new password', 'canary-Passw0rd-four');
  await change('canary-Passw0rd-two', renewed);
  await change('canary-Passw0rd-three', `${renewed}-guest-guest`);
  expect((await change('canary-Passw0rd-three', renewed)).status).toBe(204);
}

/** Uses a password link: with the token in the wrong place, with a refused password, and twice. */
async function resetPassword(evening: Evening): Promise<void> {
  const { admin, secrets } = evening;
  const found = await evening.succeed(admin, 'GET', '/v1/users?q=guest');
  const made = await evening.succeed(admin, 'POST', `/v1/users/${found.body.items[0].id}/password-reset`);
  const link = new URL(made.body.url).searchParams.get('token') ?? '';
  const token = secrets.plant('the token of a reset link', link, ['POST /v1/users/{id}/password-reset']);
  const redeem = (body: object) => evening.call(null, 'POST', '/v1/auth/password-reset', { body });
  const password = secrets.plant('the password of a reset', 'canary-Passw0rd-five');
  await evening.call(null, 'GET', `/reset?token=${token}`);
  await evening.call(null, 'POST', `/v1/auth/password-reset?token=${token}`, {
    body: { token: [token], password },
  });
  await redeem({ token, password: `${password}-guest` });
  evening.signedIn('a reset', 'POST /v1/auth/password-reset', await redeem({ token, password }));
  expect((await redeem({ token, password })).status).toBe(401);
}

/** Calls every declared operation with wrong values only: secrets in place of numbers, ids and lists. */
async function stumble(evening: Evening): Promise<void> {
  const { admin, secrets } = evening;
  const stray = secrets.plant('a secret in the wrong place', 'canary-secret-in-the-wrong-place');
  for (const operation of Object.values<Operation>(operations)) {
    // Skip the operation that ends the administrator's token, the event stream, and operations that store unknown keys.
    if (['auth.logout', 'sessions.events'].includes(operation.id)) continue;
    if (operation.body?.unknownKeys === 'kept') continue;
    const path = operation.path.replace(/\{\w+\}/g, UNKNOWN_ID);
    const query = `?token=${admin.token}&limit=${stray}`;
    const wrongTypes = Object.keys(Object(operation.example?.body)).map((key) => [key, [{ [key]: stray }]]);
    const bodies =
      operation.body === undefined
        ? [undefined]
        : [
            `{"password":"${stray}","value":"${stray}`,
            `"${stray}"`,
            JSON.stringify({ ...Object.fromEntries(wrongTypes), no_such_key: stray }),
          ];
    for (const body of bodies) {
      const options = body === undefined ? {} : { body };
      await evening.call(admin, operation.method, path + query, options);
      await evening.call(null, operation.method, path + query, {
        ...options,
        headers: {
          authorization: `Bearer ${stray}`,
          cookie: `service_page=${stray}`,
          'x-service-setup-token': stray,
          'x-service-dev-key': stray,
        },
      });
    }
  }
}

/** Reads all lists for administrators afterwards. */
async function lookBack(evening: Evening): Promise<void> {
  for (const operation of Object.values<Operation>(operations)) {
    if (operation.method !== 'GET' || operation.auth !== 'admin' || operation.path.includes('{')) continue;
    await evening.succeed(evening.admin, 'GET', operation.path);
  }
}

describeDatabases('secrets', (databases) => {
  test('reach neither log, database, file, process list, nor the answer to anybody else, during a whole evening of use', async () => {
    const target = await databases.fresh();
    const provider = await startFakeProvider();
    const app = await createTestApp(target, {
      seedPeople: false,
      env: ENVIRONMENT,
      overrides: { artwork: { policy: provider.policy } },
    });
    const evening = new Evening(app, provider);
    const { secrets, answers } = evening;
    evening.http = (await app.plane.listen()).http;

    await claim(evening);
    await signIn(evening);
    await invite(evening);
    const created = await evening.succeed(evening.admin, 'POST', '/v1/apps', {
      body: { name: 'Demo', runtime_spec: { args: ['demo'] } },
    });
    await provide(evening, created.body.app.id);
    await enroll(evening);
    await play(evening, created.body.app.id);
    await develop(evening);
    await changePassword(evening);
    await resetPassword(evening);
    await stumble(evening);
    await lookBack(evening);

    const dump = await dumpDatabase(app.plane.platform.database);
    // Use the raw frames, because parsed messages lack keys that the protocol does not know.
    const sent = evening.agent?.frames ?? [];
    await evening.agent?.drop();
    await app.plane.close();
    const heldOnPurpose = [join(app.dir, 'run', 'setup-token'), join(app.dir, 'run', 'dev-agent-key')];
    const places = {
      'the log': app.log.join(''),
      'the database': dump,
      'a file': bytesBelow(app.dir, (path) => !heldOnPurpose.includes(path)),
      'the database file': target.dialect === 'sqlite' ? bytesBelow(join(target.file, '..')) : '',
      'the arguments of a process': processArguments(),
      'what --print-config shows': JSON.stringify(readConfig(ENVIRONMENT).lines),
    };
    await app.close();
    await provider.close();
    // Make sure that the right places are searched: they must contain the public values.
    expect(places['the log']).toContain('http.request');
    for (const text of ['admin@example.org', 'guest', 'instance.secret.set', 'invite.'])
      expect(places['the database']).toContain(text);
    expect(places['the arguments of a process']).toContain('node');
    expect(places['what --print-config shows']).toContain('SERVICE_SECRET_KEY');
    expect(secrets.foundIn(places)).toEqual([]);
    for (const type of ['registered', 'session_assign', 'session_start', 'signaling'])
      expect(sent.some((frame) => frame.startsWith(`{"type":"${type}"`))).toBe(true);
    // Hosts receive the TURN credential, and each receives its own secret once; they receive no other secret.
    expect(secrets.foundIn({ 'the agent socket': sent.join('\n') })).toEqual([
      'the TURN credential in the agent socket',
      "the host's secret in the agent socket",
    ]);
    expect([...new Set(secrets.shownBy(answers))]).toEqual([]);
  }, 60_000);

  test('of the environment stay out of the log and of the error that names them', async () => {
    const target = await databases.fresh();
    const app = await createTestApp(target, {
      seedPeople: false,
      env: {
        BOOTSTRAP_ADMIN_EMAIL: 'root@example.org',
        BOOTSTRAP_ADMIN_USERNAME: 'root',
        BOOTSTRAP_ADMIN_PASSWORD: BOOTSTRAP_ENV,
      },
    });
    const dump = await dumpDatabase(app.plane.platform.database);
    await app.close();
    expect(dump).toContain('root@example.org');
    expect(dump + app.log.join('')).not.toContain(BOOTSTRAP_ENV);
    const tooShort = 'canary-9';
    await expect(
      createTestApp(await databases.fresh(), {
        env: {
          BOOTSTRAP_ADMIN_EMAIL: 'root@example.org',
          BOOTSTRAP_ADMIN_USERNAME: 'root',
          BOOTSTRAP_ADMIN_PASSWORD: tooShort,
        },
      }),
    ).rejects.toSatisfy((error: Error) => !error.message.includes(tooShort));
  });
});
