import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Clock, SECOND_MS } from '@footlight/platform';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeSqlite } from '../testing/index.ts';
import { PlantedSecrets } from '../testing/planted-secrets.ts';
import { newHome, runCommand, type TestTerminalOptions } from './testing/test-terminal.ts';

describeSqlite('the state of the whole instance', ({ fresh }) => {
  const secrets = new PlantedSecrets();
  let world: SessionsWorld;
  let host: FakeAgent;
  let home: string;
  const key = randomBytes(32).toString('base64');

  beforeAll(async () => {
    home = newHome();
    const env = { SERVICE_SECRET_KEY: `1:${key}` };
    world = await openSessionsWorld(await fresh(), undefined, env);
    host = await world.host('node-1', { capacity: softwareCapacity({}, { encode_slots_total: 8 }) });
    await world.app({ name: 'Diagnostics', entitle: 'none', default_encode_slots: 2 });
  });
  afterAll(async () => {
    await world.close();
    rmSync(home, { recursive: true, force: true });
  });

  const asAdmin = (words: readonly string[], options: TestTerminalOptions = {}) =>
    runCommand(words, {
      home,
      environment: { FOOTLIGHT_URL: world.url, FOOTLIGHT_TOKEN: world.people.admin.token },
      ...options,
    });

  test('status is one screen, and doctor says what is wrong and what to do', async () => {
    const app = await world.app({ name: 'Terminal' });
    await world.running(world.people.alice, app);
    const gone = await world.host('node-2');
    gone.drop();
    await world.offline(gone);
    const status = await asAdmin(['status']);
    expect(status).toMatchObject({ exitCode: 0, err: '' });
    expect(status.out).toMatch(/^Hosts +1 online, 0 draining, 1 offline$/m);
    expect(status.out).toMatch(/^Sessions +1 running$/m);
    expect(status.out).toMatch(/^Slots +1 of 8 used$/m);
    expect(status.out).toContain('node-2 is offline.');
    const json = JSON.parse((await asAdmin(['status', '--json'])).out);
    expect(json).toMatchObject({ hosts: { online: 1 }, sessions: { running: 1 }, account: 'admin' });

    const doctor = await asAdmin(['doctor']);
    expect(doctor.exitCode).toBe(1);
    expect(doctor.out).toContain('ok       health');
    expect(doctor.out).toContain('systemctl status footlight-agent');
    const findings = JSON.parse((await asAdmin(['doctor', '--json'])).out).findings;
    expect(findings).toContainEqual(expect.objectContaining({ area: 'hosts', level: 'warning' }));
  });

  test('doctor fails as the other commands if nobody is signed in or the address is wrong', async () => {
    const environment = { FOOTLIGHT_URL: world.url, FOOTLIGHT_TOKEN: world.people.alice.token };
    expect((await asAdmin(['doctor'], { environment })).exitCode).toBe(3);
    const wrong = { ...environment, FOOTLIGHT_URL: 'http://127.0.0.1:1' };
    expect((await asAdmin(['doctor'], { environment: wrong })).exitCode).toBe(4);
  });

  test('the bundle has what support needs, for its owner only, and no secret', async () => {
    const { admin, alice } = world.people;
    secrets.plant('the token of the administrator', admin.token);
    secrets.plant('the token of a person', alice.token);
    secrets.plant('the master key', key);
    const inApp = secrets.plant('a variable of an app', 'planted-variable-of-an-app');
    const inAppArgument = secrets.plant('an argument of an app', 'planted-argument-of-an-app');
    await world.app({
      name: 'Secretive',
      runtime_spec: { args: ['xterm', inAppArgument], env: { PASSWORD: inApp } },
    });
    const stored = secrets.plant('a stored secret', 'planted-key-of-the-provider');
    await world.call(admin, 'PUT', '/v1/admin/secrets/artwork.steamgriddb.api_key', {
      body: { value: stored },
    });
    const made = async (url: string, body: object) => (await world.call(admin, 'POST', url, { body })).body;
    secrets.plant('an enrollment token', (await made('/v1/admin/enrollment-tokens', {})).token);
    secrets.plant('an invite', (await made('/v1/admin/invites', {})).invite.code);
    secrets.plant(
      'a reset link',
      (await made(`/v1/users/${alice.id}/password-reset`, {})).url.split('#').at(-1),
    );

    const output = join(home, 'bundle.tar.gz');
    const ran = await asAdmin(['bundle', '--output', output]);
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const files = await filesIn(output);
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining(['README.txt', 'hosts.json', 'sessions.json', 'jobs.json', 'settings.json']),
    );
    for (const name of Object.keys(files)) expect(ran.out).toContain(name);
    for (const [name, text] of Object.entries(files)) if (name.endsWith('.json')) JSON.parse(text);
    expect(JSON.parse(files['hosts.json'] ?? '')[0]).toHaveProperty('readiness');
    expect(secrets.foundIn({ ...files, output: ran.out })).toEqual([]);
    expect(Object.values(files).join('\n')).not.toMatch(/alice|@example\.test/);
    expect((await asAdmin(['bundle', '--output', output])).exitCode).toBe(1);
  });

  async function filesIn(file: string): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    const archive = extract();
    archive.end(gunzipSync(readFileSync(file)));
    for await (const entry of archive) {
      const parts: Buffer[] = [];
      for await (const part of entry) parts.push(part as Buffer);
      files[entry.header.name] = Buffer.concat(parts).toString('utf8');
    }
    return files;
  }

  /** A clock whose short waits let that time pass for the host. Time limits never end. */
  const clock = (): Clock => ({
    ...world.clock,
    nowMs: () => world.clock.nowMs(),
    monotonicMs: () => world.clock.monotonicMs(),
    setInterval: () => ({ cancel() {} }),
    setTimeout: (run: () => void, delayMs: number) => {
      if (delayMs <= 25 * SECOND_MS) void passed(delayMs).then(run);
      return { cancel() {} };
    },
  });
  async function passed(ms: number): Promise<void> {
    for (let doneMs = 0; doneMs < ms; doneMs += SECOND_MS) await world.clock.pass(Math.min(SECOND_MS, ms));
    await host.heard();
  }

  test('certify measures each cell and follows it to the verdict', async () => {
    const words = ['certify', 'node-1', '--profiles', '720p60-h264', '--bitrates-kbps', '4000'];
    const ran = await asAdmin([...words, '--bitrates-kbps', '6000', '--json'], { clock: clock() });
    expect(ran.err).toMatch(/^2 measurements of openh264/);
    expect(ran.err).toMatch(/\[2\/2\] 720p60-h264 at 6000 kbit\/s: (ok|capped|unsafe)/);
    expect(ran.exitCode).toBe(0);
    const { run, cells } = JSON.parse(ran.out);
    expect(run).toMatchObject({ status: 'completed', completed_pts: 2, total_pts: 2 });
    expect(cells).toHaveLength(2);
    const offline = await asAdmin(['certify', 'node-2']);
    expect(offline).toMatchObject({ exitCode: 1, err: expect.stringContaining('(conflict)') });
  });
});
