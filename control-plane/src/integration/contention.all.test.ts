import { type FakeAgent, startPostgres } from '@footlight/test-harness';
import { describe, expect, test } from 'vitest';
import { startFakeRegistry } from '../images/testing/fake-registry.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../sessions/testing/world.ts';
import type { Person } from '../testing/index.ts';
import { choose, SEED_HINT, testRandom } from '../testing/seed.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const DURATION_MS = LONG ? 60_000 : 6_000;
const HOSTS = 4;
const PEOPLE = 5;
/** Ids of the images in the catalog. */
const IMAGES = ['one', 'two', 'three'];
/** Matches ids and image names in paths. */
const NAMED = new RegExp(`[0-9a-f-]{36}|(?<=/images/)(?:${IMAGES.join('|')})`, 'g');
/** Answers that must occur; otherwise the run has not tested the contention. */
const HAPPENS = [
  'POST /v1/sessions 201',
  'DELETE /v1/users/{id} 204',
  'DELETE /v1/apps/{id} 204',
  'POST /v1/admin/images/{id}/install 201',
];
/** Time limit; on a busy machine one step may take longer than the whole duration. */
const LATEST_MS = DURATION_MS + 90_000;
/** Every n-th request goes to the second service. */
const OF_SECOND = 3;

/** Statuses that are allowed because of concurrent requests; 503 means a full fleet or a wait that was too long. */
const EXPECTED = new Set([200, 201, 202, 204, 400, 401, 403, 404, 409, 410, 422, 429, 503]);

describe('everything that writes, at once, from two services on one Postgres', () => {
  test(
    'ends in no deadlock, no failure and no slot that is booked wrongly',
    async () => {
      const server = await startPostgres();
      const registry = await startFakeRegistry();
      for (const image of IMAGES) {
        registry.publish(`example/${image}`, '1');
        const named = { id: image, display_name: image, kind: 'prebuilt', version: '1', runtime: {} };
        registry.images.push({ ...named, registry_ref: `${registry.host}/example/${image}:1` });
      }
      try {
        const { url } = await server.createDatabase();
        const first = await openSessionsWorld({ dialect: 'postgres', url }, undefined, registry.env);
        const second = await openSessionsWorld(
          { dialect: 'postgres', url },
          withoutClosing(first),
          registry.env,
        );
        try {
          await writeEverything(first, second);
        } finally {
          await second.close();
          await first.close();
        }
      } finally {
        // `stop` throws with the statements of each deadlock.
        await server.stop();
        await registry.close();
      }
    },
    LATEST_MS + 90_000,
  );
});

/** A second world normally closes the first one and continues its people and clock; here both must run. */
const withoutClosing = (world: SessionsWorld): SessionsWorld => ({ ...world, close: async () => undefined });

async function writeEverything(first: SessionsWorld, second: SessionsWorld): Promise<void> {
  const { admin } = first.people;
  const agents: FakeAgent[] = [];
  for (let n = 0; n < HOSTS; n++) agents.push(await first.host(`host-${n}`, slots(4)));
  const leaving = await first.host('leaving', slots(1));
  const people: Person[] = [];
  for (let n = 0; n < PEOPLE; n++) people.push(await first.addPerson(`person-${n}`));
  const apps = [
    await first.app(),
    await first.app({ managed_home: true, name: 'With a home' }),
    await first.app({ managed_home: true, name: 'With another' }),
  ];

  const beganMs = performance.now();
  const answers = new Map<string, number>();
  const unexpected: string[] = [];
  let requests = 0;
  let serial = 0;

  // biome-ignore lint/suspicious/noExplicitAny: a driver reads whatever was really sent.
  async function ask(as: Person, method: string, path: string, body?: object): Promise<any> {
    const world = ++requests % OF_SECOND === 0 ? second : first;
    const answer = await world.call(as, method, path, body === undefined ? {} : { body });
    const what = `${method} ${path.replaceAll(NAMED, '{id}')} ${answer.status}`;
    answers.set(what, (answers.get(what) ?? 0) + 1);
    if (!EXPECTED.has(answer.status)) unexpected.push(`${what} ${answer.text}`);
    return answer;
  }
  const random = testRandom();
  const any = <T>(all: readonly T[]): T => choose(random, all);
  const sessions = async (): Promise<{ id: string; state: string }[]> =>
    (await first.list('?state=active&limit=100')).map(({ id, state }) => ({ id, state }));
  const missing = () => HAPPENS.filter((what) => !answers.has(what));
  function goesOn(): boolean {
    const forMs = performance.now() - beganMs;
    return forMs < DURATION_MS || (forMs < LATEST_MS && missing().length > 0);
  }
  /** Repeats the step until the time is over. */
  async function repeat(step: () => Promise<unknown>): Promise<void> {
    while (goesOn()) {
      await step();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  const launch = () => ask(any(people), 'POST', '/v1/sessions', { app_id: any(apps) });
  const steps: (() => Promise<unknown>)[] = [
    ...Array(4).fill(launch),
    ...Array(2).fill(async () => {
      const [one] = (await sessions()).filter(({ state }) => state === 'running');
      if (one !== undefined) await ask(admin, 'DELETE', `/v1/sessions/${one.id}`);
    }),
    async () => {
      const running = (await sessions()).filter(({ state }) => state === 'running');
      if (running.length > 0)
        await ask(admin, 'POST', `/v1/sessions/${any(running).id}/swap`, { app_id: any(apps) });
    },
    // Sends the messages of agents, and advances the time for writes that happen every second.
    async () => {
      for (const agent of agents) {
        if (!agent.isOpen) continue;
        for (const detail of ['one', 'another', 'a third'])
          for (const [id, { state }] of agent.sessions)
            if (state === 'running') agent.reportState(id, 'running', { detail });
        agent.heartbeat();
      }
      await first.clock.pass(1_000);
      await second.clock.pass(1_000);
    },
    async () => {
      const agent = any(agents);
      await agent.drop();
      await agent.connect().catch(() => undefined);
    },
    async () => {
      const { hostId } = any(agents);
      await ask(admin, 'POST', `/v1/hosts/${hostId}/drain`, { force: random.number() < 0.3 });
      await ask(admin, 'POST', `/v1/hosts/${hostId}/uncordon`);
    },
    async () => {
      const { hostId } = leaving;
      await leaving.drop();
      await ask(admin, 'DELETE', `/v1/hosts/${hostId}`);
      await leaving.connect().catch(() => undefined);
    },
    async () => {
      const { id } = any(people);
      await ask(admin, 'PATCH', `/v1/users/${id}`, { max_concurrent_sessions: any([2, 5, 20]) });
      await ask(admin, 'PATCH', `/v1/users/${id}`, { disabled: true });
      await ask(admin, 'PATCH', `/v1/users/${id}`, { disabled: false });
    },
    async () => {
      const person = await first.addPerson(`leaver-${serial++}`);
      const device = await ask(person, 'POST', '/v1/me/devices', { device_key: 'one' });
      const launched = await ask(person, 'POST', '/v1/sessions', { app_id: any(apps) });
      await ask(person, 'PUT', `/v1/me/favourites/${any(apps)}`);
      await ask(person, 'DELETE', `/v1/me/devices/${device.body?.device?.id}`);
      if (launched.status === 201) await ask(person, 'DELETE', `/v1/sessions/${launched.body.session.id}`);
      await ask(admin, 'DELETE', `/v1/users/${person.id}`);
    },
    async () => {
      const [app, person] = [any(apps), any(people)];
      const grant = { subject_type: 'user', subject_id: person.id };
      const granted = await ask(admin, 'POST', `/v1/admin/apps/${app}/entitlements`, grant);
      await ask(person, 'PUT', `/v1/me/favourites/${app}`);
      await ask(person, 'DELETE', `/v1/me/favourites/${app}`);
      if (granted.status === 201)
        await ask(admin, 'DELETE', `/v1/admin/apps/${app}/entitlements/${granted.body.id}`);
    },
    async () => {
      const id = await first.app({ name: `Passing ${serial++}`, managed_home: true });
      const person = any(people);
      await ask(person, 'PUT', `/v1/me/favourites/${id}`);
      const launched = await ask(person, 'POST', '/v1/sessions', { app_id: id });
      if (launched.status === 201) await ask(person, 'DELETE', `/v1/sessions/${launched.body.session.id}`);
      await ask(admin, 'PATCH', `/v1/apps/${any(apps)}`, { description: `${serial}` });
      await ask(admin, 'DELETE', `/v1/apps/${id}`);
    },
    async () => {
      const image = any(IMAGES);
      await ask(admin, 'POST', '/v1/admin/images/sync');
      const installed = await ask(admin, 'POST', `/v1/admin/images/${image}/install`);
      for (const agent of agents) agent.reportImage(image, '1', { state: 'ready', bytes: serial });
      await ask(admin, 'POST', `/v1/admin/images/${image}/pin`);
      await ask(admin, 'DELETE', `/v1/admin/images/${image}/pin`);
      const preset = installed.body?.image?.runtime_preset_id;
      if (preset) await ask(admin, 'DELETE', `/v1/admin/runtime-presets/${preset}`);
    },
    async () => {
      const image = any(IMAGES);
      for (const agent of agents) agent.reportImage(image, '1', { state: 'pulling', progress_pct: 40 });
      await ask(admin, 'POST', `/v1/admin/images/${image}/update`);
      await ask(admin, 'DELETE', `/v1/admin/images/${image}/install`);
    },
    async () => {
      const { jobs, leader } = first.plane.platform;
      for (const task of ['sessions.slots', 'sessions.stuck', 'sessions.grace']) await leader.runNow(task);
      await jobs.runNow('auth.token_janitor');
    },
    async () => {
      await ask(admin, 'PATCH', '/v1/admin/settings', { mic_capture_enabled: random.number() < 0.5 });
      await ask(admin, 'PATCH', `/v1/admin/hosts/${any(agents).hostId}/console-config`, {});
    },
  ];
  await Promise.all(steps.map(repeat));

  expect(unexpected.slice(0, 10), SEED_HINT).toEqual([]);
  expect(errorsIn(first, second), SEED_HINT).toEqual([]);
  expect(missing(), SEED_HINT).toEqual([]);
  await expectSlotsRight(first);
}

/** Errors that the services logged. */
const errorsIn = (...worlds: SessionsWorld[]): string[] =>
  worlds
    .flatMap(({ log }) => log.filter((line) => /"level":(50|60|"error"|"fatal")/.test(line)))
    .slice(0, 10);

/**
 * Expects that the slots of each GPU match its sessions. It polls, because sessions may still be ending after the
 * answers.
 */
async function expectSlotsRight({ plane }: SessionsWorld): Promise<void> {
  const { db } = plane.platform.database;
  await expect
    .poll(async () => {
      const gpus = await db
        .selectFrom('gpus')
        .leftJoin('sessions', (join) =>
          join
            .onRef('sessions.gpu_id', '=', 'gpus.id')
            .on('sessions.state', 'in', ['assigned', 'starting', 'running', 'stopping']),
        )
        .select(['gpus.id', 'gpus.slots_used', 'gpus.sessions_active'])
        .select((eb) => [
          eb.fn.coalesce(eb.fn.sum<number>('sessions.encode_slots'), eb.lit(0)).as('held'),
          eb.fn.count<number>('sessions.id').as('active'),
        ])
        .groupBy(['gpus.id', 'gpus.slots_used', 'gpus.sessions_active'])
        .execute();
      return gpus.filter((gpu) => gpu.slots_used !== gpu.held || gpu.sessions_active !== gpu.active);
    })
    .toEqual([]);
}
