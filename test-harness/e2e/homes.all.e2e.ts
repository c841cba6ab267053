import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const GRACE = { email: 'grace@example.org', username: 'grace', password: 'another-long-pass-phrase' };
const HOUR_MS = 3_600_000;
/** Longer than the grace period of a day. */
const LATER_MS = 25 * HOUR_MS;
/** An agent requests its job runs every minute. */
const RUN_LIMIT_MS = 60_000 + PATIENCE_MS;

const CLOCK = pathToFileURL(path.resolve(import.meta.dirname, '../src/stack/shifted-clock.mjs')).href;
const CLOCK_FILE = path.join('/var/tmp', `footlight-clock-${process.pid}`);

let stack: Stack;
let admin: PersonSessions;
let grace: { id: string; sessions: PersonSessions };
let hostId: string;
let claimed: { token: string; email: string; password: string };

beforeAll(async () => {
  writeFileSync(CLOCK_FILE, '0');
  stack = await startStack({
    controlEnv: { NODE_OPTIONS: `--import ${CLOCK}`, FOOTLIGHT_CLOCK_FILE: CLOCK_FILE },
  });
  claimed = await stack.claim();
  admin = new PersonSessions(stack, claimed.token);
  await admin.call('PATCH', '/v1/admin/settings', { registration_mode: 'open' });
  const answer = await stack.call('POST', '/v1/auth/register', { body: GRACE });
  if (answer.status !== 201) throw new Error(`no account: ${answer.status} ${JSON.stringify(answer.body)}`);
  grace = { id: answer.body.user.id, sessions: await signedIn(GRACE) };
  hostId = (await admin.call('GET', '/v1/hosts')).body.items[0].id;
});

afterAll(async () => {
  await admin?.close();
  await grace?.sessions.close();
  await stack?.stop();
  rmSync(CLOCK_FILE, { force: true });
});

async function signedIn({ email, password }: { email: string; password: string }): Promise<PersonSessions> {
  const { body } = await stack.call('POST', '/v1/auth/login', { body: { email, password } });
  return new PersonSessions(stack, body.access_token);
}

/** Launches the app and ends it after it has written to its home. */
async function play(person: PersonSessions, appId: string): Promise<void> {
  const { id } = await person.launch(appId);
  await person.reaches(id, 'app presented');
  await person.stop(id);
}

/** Runs home.gc on the host. @returns its summary */
async function collect(): Promise<unknown> {
  const asked = await admin.call('POST', '/v1/admin/jobs/home.gc/run', { host_id: hostId });
  expect(asked.status).toBe(202);
  // An agent requests its job runs soon after its start, so a restart avoids a wait of one minute.
  await stack.agent.kill('SIGTERM');
  await stack.startAgent();
  return eventually('the run of home.gc is over', RUN_LIMIT_MS, async () => {
    const { items } = (await admin.call('GET', '/v1/admin/jobs/home.gc/runs')).body;
    const run = items.find(({ id }: { id: string }) => id === asked.body.run_id);
    return run?.state === 'succeeded' ? run.summary : null;
  });
}

const homes = async () => (await admin.call('GET', '/v1/admin/storage/homes')).body.items;
/** Names of the directories with people's files, without the directories of the agent. */
const people = () =>
  readdirSync(path.join(stack.directory, 'agent/homes'))
    .filter((name) => !name.startsWith('.'))
    .map((name) => name.replace(/-[0-9a-f]{8}$/, ''));

test('when an account is deleted, its host deletes its files after the grace period, and no others', {
  timeout: 400_000,
}, async () => {
  const app = await admin.app(
    'Writer',
    ['/bin/sh', '-c', 'echo secret of $HOME > "$HOME/save"; exec xterm'],
    {},
    { managed_home: true },
  );
  await play(admin, app);
  await play(grace.sessions, app);
  const refs = new Map(
    (await homes()).map((home: { username: string; ref: string }) => [home.username, home.ref]),
  );
  const [adas, graces] = ['ada', 'grace'].map((name) => String(refs.get(name)));
  expect([adas, graces].map((ref) => existsSync(path.join(ref ?? '', 'save')))).toEqual([true, true]);

  expect((await admin.call('DELETE', `/v1/users/${grace.id}`)).status).toBe(204);
  expect(await homes()).toContainEqual(expect.objectContaining({ username: null, ref: graces }));
  expect(await collect()).toEqual({ deleted: 0, kept: 0, failed: 0 });
  expect(people()).toEqual(['ada', 'grace']);

  // Sets the control plane's clock one day ahead; the host's clock does not matter.
  await stack.control.kill('SIGTERM');
  writeFileSync(CLOCK_FILE, String(LATER_MS));
  await stack.startControl();
  // The sign-in from a day ago has expired.
  admin = await signedIn(claimed);
  expect(await collect()).toEqual({ deleted: 1, kept: 0, failed: 0 });
  expect(people()).toEqual(['ada']);
  expect(readFileSync(path.join(adas ?? '', 'save'), 'utf8')).toContain('secret');
  expect(readdirSync(path.join(stack.directory, 'agent/gc'))).toEqual([]);
  expect(await homes()).toMatchObject([{ username: 'ada', ref: adas, gc_after: null }]);
  const log = (await admin.call('GET', '/v1/admin/activity?action=storage.gc')).body.items;
  expect(log).toMatchObject([
    {
      action: 'storage.gc.confirm',
      target_id: hostId,
      actor_user_id: null,
      details: { requested: 1, deleted: 1 },
    },
  ]);
});
