import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../src/stack/program.ts';
import { type OwnStack, PersonSessions } from '../src/stack/sessions.ts';

const SCAN_LIMIT_MS = 60_000;

/** Discovery through the real agent and the real control plane: a home with manifests, its tiles, and their removal. */
let own: OwnStack;
let providerId: string;
let home: string;

const admin = async (method: string, url: string, body?: unknown) => {
  const answer = await own.sessions.call(method, url, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  own = await PersonSessions.onNewStack([79_300, 79_309]);
  await admin('PATCH', '/v1/admin/settings', {
    library_discovery_enabled: true,
    registration_mode: 'open',
  });
  // Discovery searches for homes as soon as it is enabled. The first search must end before a home exists, so that only
  // the test starts scans.
  await eventually('discovery has looked', SCAN_LIMIT_MS, async () => {
    const { items } = await admin('GET', '/v1/admin/jobs/library.discovery/runs');
    return items.some(({ finished_at }: { finished_at: string | null }) => finished_at !== null) || null;
  });
  const library = { library_provider: 'steam', managed_home: true };
  providerId = await own.sessions.app('Steam', null, {}, library);
  // A first session creates the home, as when a person starts the launcher.
  const { id } = await own.sessions.launch(providerId);
  await eventually('the library runs', 60_000, async () => {
    const { state } = await own.sessions.read(id);
    return state === 'running' || null;
  });
  await own.sessions.stop(id);
  const homes = await admin('GET', '/v1/admin/storage/homes');
  home = homes.items[0].ref;
}, 180_000);
afterAll(() => own?.end(), 60_000);

const manifest = (id: number) => path.join(home, '.local/share/Steam/steamapps', `appmanifest_${id}.acf`);

function install(id: number, name: string): void {
  mkdirSync(path.dirname(manifest(id)), { recursive: true });
  const text = `"AppState"\n{\n"appid" "${id}"\n"name" "${name}"\n"StateFlags" "4"\n"installdir" "${id}"\n}\n`;
  writeFileSync(manifest(id), text);
}

/**
 * Scans every home.
 * @returns the newest finished scan
 */
async function scan() {
  const endedScans = async () => (await admin('GET', '/v1/admin/library/status')).recent_scans;
  const before = (await endedScans()).length;
  expect((await admin('POST', '/v1/admin/library/scan')).queued).toBe(1);
  // The agent requests its job runs within 5 s of its start, so a restart avoids a wait of one minute.
  await own.stack.agent.kill('SIGTERM');
  await own.stack.startAgent();
  return eventually('the scan has ended', SCAN_LIMIT_MS, async () => {
    const ended = await endedScans();
    return ended.length > before ? ended[0] : null;
  });
}

/** Names of the tiles that an account sees. */
async function tilesOf(token: string): Promise<string[]> {
  const answer = await own.stack.call('GET', '/v1/apps?limit=1000', { token });
  return answer.body.items
    .filter((app: { parent_app_id: string | null }) => app.parent_app_id === providerId)
    .map((app: { name: string }) => app.name)
    .sort();
}

async function signIn(email: string): Promise<string> {
  const body = { email, password: 'a-long-enough-pass-phrase' };
  const answer = await own.stack.call('POST', '/v1/auth/login', { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body.access_token;
}

test(
  'games that are installed in a home become tiles of its owner only, until they are removed',
  async () => {
    const registered = await own.stack.call('POST', '/v1/auth/register', {
      body: { email: 'bob@example.org', username: 'bob', password: 'a-long-enough-pass-phrase' },
    });
    expect(registered.status, JSON.stringify(registered.body)).toBe(201);
    const ada = await signIn('ada@example.org');
    const bob = await signIn('bob@example.org');
    install(440, 'Sample Quest');
    install(228980, 'Steamworks Common Redistributables');
    // An incomplete manifest, as while the launcher installs the game.
    writeFileSync(manifest(441), '"AppState"\n{\n"appid" "44');
    expect(await scan()).toMatchObject({
      ...{ user: 'ada', host: 'test-host', state: 'reported', error: '' },
      ...{ observed: 3, suppressed: 1, created: 1, granted: 1, rejected: 0 },
    });
    expect(await tilesOf(ada)).toEqual(['Sample Quest']);
    expect(await tilesOf(bob)).toEqual([]);

    // A link to a folder outside the home must not add titles, and must not remove any.
    const steamapps = path.dirname(manifest(440));
    renameSync(steamapps, `${steamapps}-aside`);
    symlinkSync('/etc', steamapps);
    expect(await scan()).toMatchObject({
      state: 'reported',
      observed: 0,
      revoked: 0,
      error: expect.stringMatching(/link/),
    });
    expect(await tilesOf(ada)).toEqual(['Sample Quest']);

    rmSync(steamapps);
    renameSync(`${steamapps}-aside`, steamapps);
    rmSync(manifest(440));
    expect(await scan()).toMatchObject({ state: 'reported', observed: 2, revoked: 1 });
    expect(await tilesOf(ada)).toEqual([]);
  },
  3 * SCAN_LIMIT_MS + 30_000,
);
