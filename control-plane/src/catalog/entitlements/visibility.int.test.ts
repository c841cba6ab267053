import type { AppListItem } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  type Person,
  type TestApp,
} from '../../testing/index.ts';
import { type AppList, createAppList } from '../app-list.ts';
import { recordCatalogChange } from '../changes.ts';

const RUNS = process.env.FOOTLIGHT_LONG === '1' ? 300 : 3;
const MAX_STEPS = 40;
const TIME_LIMIT_MS = process.env.FOOTLIGHT_LONG === '1' ? 600_000 : 180_000;
/** Page size; small, so that lists have several pages. */
const PAGE = 2;

interface ModelApp {
  id: string;
  name: string;
  enabled: boolean;
  parentId: string | null;
  provider: boolean;
  createdAt: number;
}

interface ModelRow {
  id: string;
  appId: string;
  /** null: the row is for everybody. */
  subjectId: string | null;
  grantedBy: 'admin' | 'provider';
  grantedByUser: string | null;
}

/** The expected state. The first person is an administrator who is never deleted. */
interface Model {
  apps: ModelApp[];
  rows: ModelRow[];
  people: Person[];
  /**
   * Lists of other processes on the same database: one caches the catalog, and for the other the catalog is too large
   * to cache.
   */
  elsewhere: readonly AppList[];
}

type Step = fc.AsyncCommand<Model, TestApp>;

/** A step without preconditions. A `pick` number selects one of the existing items. */
function step(name: string, run: (model: Model, app: TestApp) => Promise<void>): Step {
  return { check: () => true, run, toString: () => name };
}
const pick = <T>(list: readonly T[], index: number): T | undefined =>
  list.length === 0 ? undefined : list[index % list.length];

const newestFirst = (a: ModelApp, b: ModelApp) =>
  b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
const entitled = (model: Model, personId: string, appId: string) =>
  model.rows.some((row) => row.appId === appId && (row.subjectId === null || row.subjectId === personId));

let serial = 0;

async function create(model: Model, app: TestApp, fields: object, entitle: 'all' | 'none'): Promise<void> {
  const [admin] = model.people as [Person];
  serial += 1;
  const answer = await app.call(admin, 'POST', '/v1/apps', {
    body: { name: `App ${serial}`, entitle, ...fields },
  });
  expect(answer.status, answer.text).toBe(201);
  const { id, name, enabled, parent_app_id, library_provider } = answer.body.app;
  model.apps.push({
    id,
    name,
    enabled,
    parentId: parent_app_id,
    provider: library_provider !== '',
    createdAt: app.clock.nowMs(),
  });
  if (entitle === 'none') return;
  const { body } = await app.call(admin, 'GET', `/v1/admin/apps/${id}/entitlements`);
  model.rows.push({
    id: body.items[0].id,
    appId: id,
    subjectId: null,
    grantedBy: 'admin',
    grantedByUser: admin.id,
  });
}

const index = fc.nat(1_000);
const entitle = fc.constantFrom('all' as const, 'none' as const);

const steps: fc.Arbitrary<Step>[] = [
  fc.record({ entitle, enabled: fc.boolean(), provider: fc.boolean(), later: fc.boolean() }).map((choice) =>
    step(`create ${JSON.stringify(choice)}`, async (model, app) => {
      // Apps with the same creation time are sorted by their ids.
      if (choice.later) await app.clock.pass(1_000);
      const provider = choice.provider && { library_provider: 'steam' };
      await create(model, app, { enabled: choice.enabled, ...provider }, choice.entitle);
    }),
  ),
  fc.record({ entitle, parent: index }).map((choice) =>
    step(`create a tile ${JSON.stringify(choice)}`, async (model, app) => {
      const parents = model.apps.filter((candidate) => candidate.parentId === null);
      const parent = pick(parents, choice.parent);
      if (parent === undefined) return;
      serial += 1;
      const tile = { parent_app_id: parent.id, external_source: 'steam', external_id: String(serial) };
      await create(model, app, tile, choice.entitle);
    }),
  ),
  index.map((at) =>
    step(`switch ${at}`, async (model, app) => {
      const target = pick(model.apps, at);
      if (target === undefined) return;
      target.enabled = !target.enabled;
      const body = { enabled: target.enabled };
      const answer = await app.call(model.people[0] as Person, 'PATCH', `/v1/apps/${target.id}`, { body });
      expect(answer.status).toBe(200);
    }),
  ),
  index.map((at) =>
    step(`rename ${at}`, async (model, app) => {
      const target = pick(model.apps, at);
      if (target === undefined) return;
      serial += 1;
      target.name = `Renamed ${serial}`;
      const body = { name: target.name };
      await app.call(model.people[0] as Person, 'PATCH', `/v1/apps/${target.id}`, { body });
    }),
  ),
  index.map((at) =>
    step(`delete app ${at}`, async (model, app) => {
      const target = pick(model.apps, at);
      if (target === undefined) return;
      const url = `/v1/apps/${target.id}?delete_derived=true`;
      expect((await app.call(model.people[0] as Person, 'DELETE', url)).status).toBe(204);
      model.apps = model.apps.filter((one) => one.id !== target.id && one.parentId !== target.id);
      model.rows = model.rows.filter((row) => model.apps.some((one) => one.id === row.appId));
    }),
  ),
  ...[false, true].map((toAll) =>
    fc.record({ app: index, person: index, actor: index }).map((choice) =>
      step(`grant ${toAll ? 'all' : 'one'} ${JSON.stringify(choice)}`, async (model, app) => {
        const target = pick(model.apps, choice.app);
        if (target === undefined) return;
        const subjectId = toAll ? null : (pick(model.people, choice.person) as Person).id;
        const admins = model.people.filter((person) => person.role === 'admin');
        const actor = pick(admins, choice.actor) as Person;
        const held = model.rows.some((row) => row.appId === target.id && row.subjectId === subjectId);
        const answer = await app.call(actor, 'POST', `/v1/admin/apps/${target.id}/entitlements`, {
          body: { subject_type: toAll ? 'all' : 'user', subject_id: subjectId },
        });
        expect(answer.status).toBe(held ? 409 : 201);
        if (held) return;
        const { id } = answer.body.entitlement;
        model.rows.push({ id, appId: target.id, subjectId, grantedBy: 'admin', grantedByUser: actor.id });
      }),
    ),
  ),
  index.map((at) =>
    step(`revoke ${at}`, async (model, app) => {
      const row = pick(model.rows, at);
      if (row === undefined) return;
      const url = `/v1/admin/apps/${row.appId}/entitlements/${row.id}`;
      expect((await app.call(model.people[0] as Person, 'DELETE', url)).status).toBe(204);
      model.rows.splice(model.rows.indexOf(row), 1);
    }),
  ),
  fc.record({ row: index, app: index }).map((choice) =>
    step(`revoke through another app ${JSON.stringify(choice)}`, async (model, app) => {
      const row = pick(model.rows, choice.row);
      const other = pick(
        model.apps.filter((one) => one.id !== row?.appId),
        choice.app,
      );
      if (row === undefined || other === undefined) return;
      const url = `/v1/admin/apps/${other.id}/entitlements/${row.id}`;
      expect((await app.call(model.people[0] as Person, 'DELETE', url)).status).toBe(404);
    }),
  ),
  fc.record({ mode: fc.constantFrom('all', 'user', 'none'), actor: index }).map((choice) =>
    step(`entitlement mode ${JSON.stringify(choice)}`, async (model, app) => {
      const actor = pick(
        model.people.filter((person) => person.role === 'admin'),
        choice.actor,
      ) as Person;
      const [target] = model.apps.filter((one) => one.provider).sort((a, b) => -newestFirst(a, b));
      const answer = await app.call(actor, 'POST', '/v1/admin/library-providers/steam/entitlement-mode', {
        body: { mode: choice.mode },
      });
      expect(answer.status).toBe(target === undefined ? 404 : 200);
      if (target === undefined) return;
      expect(answer.body.entitlement_mode.app_id).toBe(target.id);
      model.rows = model.rows.filter((row) => row.appId !== target.id);
      for (const { id } of answer.body.entitlement_mode.items)
        model.rows.push({
          id,
          appId: target.id,
          subjectId: choice.mode === 'all' ? null : actor.id,
          grantedBy: 'admin',
          grantedByUser: actor.id,
        });
    }),
  ),
  fc.record({ app: index, person: index }).map((choice) =>
    step(`a scan grants ${JSON.stringify(choice)}`, async (model, app) => {
      const target = pick(model.apps, choice.app);
      const { id: subjectId } = pick(model.people, choice.person) as Person;
      if (target === undefined) return;
      if (model.rows.some((row) => row.appId === target.id && row.subjectId === subjectId)) return;
      const { database, random, clock } = app.plane.platform;
      const id = random.uuid();
      await database.transaction(async (tx) => {
        await tx
          .insertInto('entitlements')
          .values({
            id,
            subject_type: 'user',
            subject_id: subjectId,
            app_id: target.id,
            granted_by: 'provider',
            source_ref: 'library:steam:1',
            created_at: clock.nowMs(),
          })
          .execute();
        await recordCatalogChange(tx, { userId: subjectId });
      });
      model.rows.push({ id, appId: target.id, subjectId, grantedBy: 'provider', grantedByUser: null });
    }),
  ),
  fc.boolean().map((asAdmin) =>
    step(`add ${asAdmin ? 'an administrator' : 'a person'}`, async (model, app) => {
      if (model.people.length >= 5) return;
      serial += 1;
      model.people.push(await app.addPerson(`person${serial}`, asAdmin ? 'admin' : 'user'));
    }),
  ),
  index.map((at) =>
    step(`delete person ${at}`, async (model, app) => {
      const gone = pick(model.people.slice(1), at);
      if (gone === undefined) return;
      const url = `/v1/users/${gone.id}`;
      expect((await app.call(model.people[0] as Person, 'DELETE', url)).status).toBe(204);
      model.people = model.people.filter((person) => person !== gone);
      model.rows = model.rows.filter((row) => row.subjectId !== gone.id);
      // Entitlements outlive the account that granted them.
      for (const row of model.rows) if (row.grantedByUser === gone.id) row.grantedByUser = null;
    }),
  ),
];

/** All pages of a person's list, one after another. */
async function listed(app: TestApp, person: Person): Promise<AppListItem[]> {
  const items: AppListItem[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`;
    const answer: Answer = await app.call(person, 'GET', `/v1/apps?limit=${PAGE}${query}`);
    expect(answer.status).toBe(200);
    items.push(...answer.body.items);
    cursor = answer.body.next_cursor;
  } while (cursor !== null);
  return items;
}

/** The first page as another process returns it. */
async function listedBy(list: AppList, person: Person): Promise<string[]> {
  const { plain } = await list.body(person.id, { limit: PAGE });
  return JSON.parse(plain.toString()).items.map(({ id }: AppListItem) => id);
}

/** Status of a launch while there is no host: people who may launch get 503. */
function launchStatus(model: Model, person: Person, target: ModelApp): number {
  if (!target.enabled) return 404;
  if (model.apps.some((parent) => parent.id === target.parentId && !parent.enabled)) return 409;
  return entitled(model, person.id, target.id) ? 503 : 403;
}

async function expectAgreement(model: Model, app: TestApp): Promise<void> {
  const stored = await app.plane.platform.database.db
    .selectFrom('entitlements')
    .select(['id', 'app_id as appId', 'subject_id as subjectId', 'granted_by as grantedBy'])
    .select('granted_by_user as grantedByUser')
    .orderBy('id')
    .execute();
  expect(stored).toEqual([...model.rows].sort((a, b) => (a.id < b.id ? -1 : 1)));
  for (const person of model.people) {
    const visible = model.apps.filter((one) => one.enabled && entitled(model, person.id, one.id));
    expect((await listed(app, person)).map(({ id, name }) => [id, name])).toEqual(
      visible.sort(newestFirst).map(({ id, name }) => [id, name]),
    );
    const firstPage = visible.slice(0, PAGE).map(({ id }) => id);
    for (const list of model.elsewhere) expect(await listedBy(list, person)).toEqual(firstPage);
    // Check one app per step, in turn, by a read and by a launch.
    serial += 1;
    const one = pick(model.apps, serial);
    if (one === undefined) continue;
    const { status } = await app.call(person, 'GET', `/v1/apps/${one.id}`);
    expect(status).toBe(person.role === 'admin' || visible.includes(one) ? 200 : 404);
    const launch = await app.call(person, 'POST', '/v1/sessions', { body: { app_id: one.id } });
    expect(launch.status, launch.text).toBe(launchStatus(model, person, one));
  }
}

/** Runs the step, and then checks what each person can see. */
const watched = (inner: Step): Step => ({
  ...inner,
  async run(model, app) {
    await inner.run(model, app);
    await expectAgreement(model, app);
  },
});

describeDatabases('who sees which apps', (databases) => {
  let app: TestApp;
  let elsewhere: AppList[];
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    const profiles = { loadDisplayStreams: async () => () => null };
    elsewhere = [undefined, 1].map((maxApps) =>
      createAppList(app.plane.platform.database, profiles, maxApps),
    );
    await app.plane.platform.database.db
      .updateTable('instance_settings')
      .set({ library_discovery_enabled: 1 })
      .execute();
  });
  afterAll(() => app.close());

  /** Creates the people and apps with which every run begins, so that its first steps can select some. */
  async function begin(): Promise<Model> {
    const { admin } = app.people;
    const { database } = app.plane.platform;
    await database.db.deleteFrom('apps').execute();
    await database.db.deleteFrom('users').where('id', '!=', admin.id).execute();
    await database.transaction((tx) => recordCatalogChange(tx, 'everything'));
    serial += 1;
    const people = [admin, await app.addPerson(`alice${serial}`), await app.addPerson(`bob${serial}`)];
    const model: Model = { apps: [], rows: [], people, elsewhere };
    await create(model, app, {}, 'all');
    await create(model, app, { library_provider: 'steam' }, 'all');
    await create(model, app, {}, 'none');
    await expectAgreement(model, app);
    return model;
  }

  test(
    'whatever is made, granted, revoked, switched and deleted: lists have exactly the apps that some row grants, once, in order',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.commands(
            steps.map((one) => one.map(watched)),
            { maxCommands: MAX_STEPS, size: 'max' },
          ),
          async (commands) => {
            const model = await begin();
            await fc.asyncModelRun(() => ({ model, real: app }), commands);
          },
        ),
        { numRuns: RUNS },
      );
    },
    TIME_LIMIT_MS,
  );
});
