import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeAgent } from '@footlight/test-harness';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createTestApp, describeDatabases, dumpDatabase, type Person } from './testing/index.ts';

const PASSWORD = 'canary-Passw0rd-one';
const WRONG_PASSWORD = 'canary-Passw0rd-two';
const FIXED_TOKEN = 'canary-fixed-enrollment-token';
const BOOTSTRAP_ENV = 'canary-Passw0rd-of-the-environment';

/** All bytes of all files below a folder, save the web app and the certificate's key. */
function bytesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('tls'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

describeDatabases('secrets', (databases) => {
  test('reach neither log, database, file, nor the answer to anybody else, on the way of a whole evening', async () => {
    const target = await databases.fresh();
    const app = await createTestApp(target, {
      seedPeople: false,
      env: { SERVICE_ENROLLMENT_TOKEN: FIXED_TOKEN },
    });
    const secrets = new Map<string, string>([
      ['the password', PASSWORD],
      ['a wrong password', WRONG_PASSWORD],
      ['the fixed enrollment token', FIXED_TOKEN],
    ]);
    const setupToken = readFileSync(join(app.dir, 'run', 'setup-token'), 'utf8').trim();
    secrets.set('the setup token', setupToken);
    const answers: string[] = [];
    const { http } = await app.plane.listen();

    // Set-up, right and wrong.
    const fields = { email: 'admin@example.org', username: 'admin', password: PASSWORD, device_key: 'd' };
    await app.call(null, 'POST', `/v1/setup/claim?token=${setupToken}`, { body: fields });
    const claimed = await app.call(null, 'POST', '/v1/setup/claim', {
      body: fields,
      headers: { 'x-service-setup-token': setupToken },
    });
    expect(claimed.status).toBe(201);
    const admin = { token: claimed.body.access_token as string } as Person;
    secrets.set('a bearer token', admin.token);
    secrets.set('the page cookie', String(claimed.headers['set-cookie']).split(/[=;]/)[1] as string);

    // Signing in, right and wrong, and a token in places where it does not belong.
    await app.call(null, 'POST', '/v1/auth/login', {
      body: { email: fields.email, password: WRONG_PASSWORD },
    });
    await app.call(null, 'POST', '/v1/auth/login', { body: { email: fields.email, password: PASSWORD } });
    await app.call(admin, 'GET', `/v1/me?access_token=${admin.token}`);
    await app.call(admin, 'GET', `/admin?token=${admin.token}`);
    await app.call(null, 'GET', '/v1/me', { headers: { authorization: `Basic ${admin.token}` } });

    // A host with a token of its own.
    const minted = await app.call(admin, 'POST', '/v1/admin/enrollment-tokens', { body: { note: 'n' } });
    secrets.set('an enrollment token', minted.body.token);
    const enrollId = 'ab'.repeat(32);
    const agent = new FakeAgent({
      url: http,
      nodeName: 'hosta',
      credential: { token: minted.body.token, enrollId },
      heartbeatMs: 0,
    });
    await agent.connect();
    secrets.set("the host's secret", String(agent.secret));
    await agent.drop();
    await agent.connect();
    await app.call(null, 'GET', '/agent/ws', { headers: agent.headers() });
    await expect
      .poll(async () => (await app.call(admin, 'GET', `/v1/hosts/${agent.hostId}`)).body.capacity_detection)
      .toBe('ok');

    // A session, its viewer, and the viewer's token used twice.
    const created = await app.call(admin, 'POST', '/v1/apps', {
      body: { name: 'Demo', runtime_spec: { args: ['demo'] } },
    });
    const launched = await app.call(admin, 'POST', '/v1/sessions', {
      body: { app_id: created.body.app.id },
    });
    expect(launched.status).toBe(201);
    const { token } = launched.body.signaling as { token: string };
    secrets.set('a signaling token', token);
    const url = `${http.replace('http', 'ws')}/v1/signal?token=${token}`;
    for (let use = 0; use < 2; use += 1) {
      const socket = new WebSocket(url, { perMessageDeflate: false });
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('open', resolve));
      if (use === 0) socket.terminate();
      else await new Promise((resolve) => socket.once('close', resolve));
    }
    await app.call(null, 'GET', `/v1/signal?token=${token}`);

    // What administrators read afterwards.
    for (const path of [
      '/v1/hosts',
      '/v1/admin/enrollment-tokens',
      '/v1/admin/sessions',
      `/v1/hosts/${agent.hostId}`,
      `/v1/sessions/${launched.body.session.id}`,
      '/v1/admin/access-check',
    ])
      answers.push((await app.call(admin, 'GET', path)).text);
    const dump = await dumpDatabase(app.plane.platform.database);
    const sent = agent.commands.map((command) => JSON.stringify(command)).join('\n');
    await agent.drop();
    await app.plane.close();
    const places: Record<string, string> = {
      log: app.log.join(''),
      database: dump,
      files: bytesBelow(app.dir),
      'database file': target.dialect === 'sqlite' ? readFileSync(target.file, 'latin1') : '',
      answers: answers.join('\n'),
      'commands to the host': sent,
    };
    await app.close();
    expect(places.log?.length).toBeGreaterThan(1_000);
    expect(places.database).toContain('admin@example.org');
    const found = Object.entries(places).flatMap(([place, text]) =>
      [...secrets].filter(([, secret]) => text.includes(secret)).map(([what]) => `${what} in the ${place}`),
    );
    expect(found).toEqual([]);
  });

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
