import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { type DiscoveryWorld, openDiscoveryWorld } from '../testing/world.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const RUNS = LONG ? 100 : 6;
const MAX_STEPS = 14;
const LIMIT_MS = LONG ? 600_000 : 60_000;
const IDS = ['1', '2', '3', '4', '228980'];

type Step =
  | { do: 'scan'; host: 'hostA' | 'hostB'; ids: string[]; complete: boolean; installed: boolean }
  | { do: 'ignore' | 'allow' | 'forget' | 'switch' | 'rename' | 'grant' | 'make'; id: string };

const id = fc.constantFrom(...IDS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('scan' as const),
      host: fc.constantFrom('hostA' as const, 'hostB' as const),
      ids: fc.uniqueArray(id, { maxLength: 4 }),
      complete: fc.boolean(),
      installed: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('ignore', 'allow', 'forget', 'switch', 'rename', 'grant', 'make'),
      id,
    }),
  },
) as fc.Arbitrary<Step>;

describeDatabases('discovery over any history', ({ fresh }) => {
  let world: DiscoveryWorld;
  beforeAll(async () => {
    world = await openDiscoveryWorld(await fresh());
    // One person's home on each host.
    await world.addHome(world.app.people.alice, world.hostA);
    await world.addHome(world.app.people.bob, world.hostB);
  });
  afterAll(() => world.close());

  const db = () => world.app.plane.platform.database.db;
  const tiles = () =>
    db().selectFrom('apps').selectAll().where('parent_app_id', '=', world.providerId).execute();
  const rows = () => db().selectFrom('entitlements').selectAll().execute();
  const own = async () => ({
    tiles: (await tiles()).filter(({ origin }) => origin === 'manual'),
    rows: (await rows()).filter(({ granted_by }) => granted_by !== 'provider'),
    described: (await tiles()).map((tile) => [tile.id, tile.name, tile.description]),
  });

  async function act(one: Exclude<Step, { do: 'scan' }>): Promise<void> {
    const tile = (await tiles()).find(({ external_id }) => external_id === one.id);
    const rule = `/v1/admin/apps/${world.providerId}/library/rules/${one.id}`;
    if (one.do === 'ignore' || one.do === 'allow') await world.admin('PUT', rule, { rule: one.do });
    else if (one.do === 'forget') await world.admin('DELETE', rule);
    else if (one.do === 'make')
      await world.admin('POST', '/v1/apps', {
        ...{ name: 'By hand', parent_app_id: world.providerId, entitle: 'none' },
        ...{ external_source: 'steam', external_id: one.id },
      });
    else if (tile === undefined) return;
    else if (one.do === 'switch')
      await world.admin('PATCH', `/v1/apps/${tile.id}`, { enabled: tile.enabled === 0 });
    else if (one.do === 'rename') await world.admin('PATCH', `/v1/apps/${tile.id}`, { name: 'Renamed' });
    else {
      const subject = { subject_type: 'user', subject_id: world.app.people.admin.id };
      await world.admin('POST', `/v1/admin/apps/${tile.id}/entitlements`, subject);
    }
  }

  test(
    'no tile without a manifest, no grant of the provider without a tile, no change of an administrator’s row',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: MAX_STEPS }), async (steps) => {
          await db().deleteFrom('library_observations').execute();
          await db().deleteFrom('library_appid_rules').execute();
          for (const tile of await tiles()) await db().deleteFrom('apps').where('id', '=', tile.id).execute();
          const installed = new Set<string>();
          for (const one of steps) {
            if (one.do !== 'scan') {
              await act(one);
              continue;
            }
            const before = await own();
            const titles = one.ids.map((title) => ({ id: title, flags: one.installed ? 4 : 0 }));
            if (one.installed) for (const title of one.ids) installed.add(title);
            await world.app.clock.advance(1);
            await world.force();
            for (const host of [world.hostA, world.hostB]) {
              const [task] = await host.poll();
              if (task === undefined) continue;
              const isScanned = host === world[one.host];
              const answer = await world.report(host, task.scan_id, isScanned ? titles : [], {
                ...(isScanned ? { complete: one.complete } : { ok: false }),
              });
              expect(answer.status, answer.text).toBe(200);
            }
            const after = await own();
            expect(after.tiles).toEqual(before.tiles);
            expect(after.rows).toEqual(before.rows);
            expect(after.described).toEqual(expect.arrayContaining(before.described));
          }
          const all = await tiles();
          for (const tile of all)
            if (tile.origin === 'discovered') expect(installed.has(tile.external_id)).toBe(true);
          const ids = new Set(all.map((tile) => tile.id));
          for (const row of await rows())
            if (row.granted_by === 'provider') {
              expect(ids.has(row.app_id)).toBe(true);
              expect([world.app.people.alice.id, world.app.people.bob.id]).toContain(row.subject_id);
            }
        }),
        { numRuns: RUNS },
      );
    },
    LIMIT_MS,
  );
});
