import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { addHost, addSession, describeDatabases } from '../../testing/index.ts';
import { useLaunchWorld } from '../testing/launch-world.ts';

describeDatabases('the checks of a launch', (databases) => {
  const given = useLaunchWorld(databases);
  const { db, as, policy, launch, refused } = given;

  let tiles = 0;
  /** A host without an agent, until the end of the test. */
  let away: string;
  beforeEach(async () => {
    away = await addHost(given.world, 'away');
  });
  afterEach(async () => {
    await db().deleteFrom('hosts').where('id', '=', away).execute();
  });
  const nobodysHome = (appId: string, hostId: string) => ({
    id: randomUUID(),
    user_id: given.alice.id,
    app_id: appId,
    host_id: hostId,
    provider: 'local' as const,
    ref: `/homes/${randomUUID()}`,
    bytes_used: 0,
    created_at: 1,
    last_used_at: 1,
    gc_after: null,
  });
  const tileOf = (parent: string, fields: object = {}) =>
    given.world.app({
      parent_app_id: parent,
      external_source: 'steam',
      external_id: String(++tiles),
      runtime_spec: {},
      ...fields,
    });
  const homes = () =>
    db().selectFrom('storage_homes').selectAll().where('user_id', '=', given.alice.id).execute();
  const sessions = () =>
    db().selectFrom('sessions').selectAll().where('user_id', '=', given.alice.id).execute();

  test("a tile whose parent's home the person has nowhere is 409, and nothing is made", async () => {
    const tile = await tileOf(await given.world.app({ managed_home: true }));
    expect(await refused({}, tile)).toEqual([409, 'home_not_provisioned']);
    expect(await homes()).toEqual([]);
    expect(await sessions()).toEqual([]);
  });

  test('a home as an engine volume with an app that is a process is 409', async () => {
    const homed = await given.world.app({ managed_home: true });
    await as(given.admin, 'PATCH', '/v1/admin/settings', { storage_provider: 'volume' });
    const answer = await refused({}, homed);
    await as(given.admin, 'PATCH', '/v1/admin/settings', { storage_provider: 'auto' });
    expect(answer).toEqual([409, 'conflict']);
    expect(await homes()).toEqual([]);
  });

  test('the host of the home is the only one that will do', async () => {
    const parent = await given.world.app({ managed_home: true });
    await db().insertInto('storage_homes').values(nobodysHome(parent, away)).execute();
    expect(await refused({}, await tileOf(parent))).toEqual([503, 'no_host_available']);
    expect((await launch({}, parent)).status).toBe(201);
  });

  test('a database error before the commit is 500, and nothing is left', async () => {
    const used = await given.world.slotsUsed(given.hostA);
    const homed = await given.world.app({ managed_home: true });
    const spies = given.world.planes.map(({ platform: { database } }) => {
      const transaction = database.transaction.bind(database);
      // Count only the launch's transaction, because sessions of other tests continue meanwhile.
      return vi.spyOn(database, 'transaction').mockImplementation((work) =>
        transaction(async (tx) => {
          const result = await work(tx);
          const made = await tx.selectFrom('sessions').select('id').where('app_id', '=', homed).execute();
          if (made.length > 0) throw new Error('the disk is gone');
          return result;
        }),
      );
    });
    const answer = await launch({}, homed);
    for (const spy of spies) spy.mockRestore();
    expect([answer.status, answer.body.error?.code]).toEqual([500, 'internal']);
    expect(answer.text).not.toContain('disk');
    expect(await given.world.slotsUsed(given.hostA)).toBe(used);
    expect([await sessions(), await homes()]).toEqual([[], []]);
  });

  test('the first failed check gives the answer, even if later checks would fail too', async () => {
    const parent = await given.world.app({
      name: 'Launcher',
      managed_home: true,
      enabled: false,
      default_encode_slots: 65,
    });
    const tile = await tileOf(parent, {
      enabled: false,
      entitle: 'none',
      launchable_profile_ids: ['alpha'],
    });
    const holder = await addSession(given.world, {
      appId: parent,
      userId: given.alice.id,
      state: 'running',
      hostId: away,
    });
    await db().updateTable('sessions').set({ home_app_id: parent }).where('id', '=', holder).execute();
    await as(given.admin, 'PATCH', `/v1/users/${given.alice.id}`, { max_concurrent_sessions: 0 });
    await policy({ user_overrides_allowed: false });
    let request: object = { profile_id: 'nope', stream: { width: 641 } };
    const asking = (next: object) => async () => {
      request = next;
    };
    const h265 = { stream: { codec: 'h265' } };
    const demands = (default_encode_slots: number) => () =>
      as(given.admin, 'PATCH', `/v1/apps/${parent}`, { default_encode_slots });
    await launch({}, given.app, given.admin);
    const used = await given.world.slotsUsed(given.hostA);

    const rows: [row: number, status: number, code: string, mend: () => Promise<unknown>][] = [
      [1, 400, 'validation_failed', asking({ profile_id: 'nope', ...h265 })],
      [2, 404, 'not_found', () => as(given.admin, 'PATCH', `/v1/apps/${tile}`, { enabled: true })],
      [
        3,
        409,
        'parent_app_disabled',
        () => as(given.admin, 'PATCH', `/v1/apps/${parent}`, { enabled: true }),
      ],
      [
        4,
        403,
        'forbidden',
        () =>
          as(given.admin, 'POST', `/v1/admin/apps/${tile}/entitlements`, {
            subject_type: 'user',
            subject_id: given.alice.id,
          }),
      ],
      [5, 409, 'conflict', () => policy({ user_overrides_allowed: true })],
      [
        6,
        409,
        'profile_not_launchable_for_app',
        () => as(given.admin, 'PATCH', `/v1/apps/${tile}`, { launchable_profile_ids: [] }),
      ],
      [8, 400, 'validation_failed', asking({ profile_id: 'secret', ...h265 })],
      [9, 409, 'profile_ineligible', asking({ profile_id: 'alpha', ...h265 })],
      [
        10,
        409,
        'home_not_provisioned',
        () => db().insertInto('storage_homes').values(nobodysHome(parent, away)).execute(),
      ],
      [
        12,
        409,
        'session_quota_exceeded',
        () => as(given.admin, 'PATCH', `/v1/users/${given.alice.id}`, { max_concurrent_sessions: 2 }),
      ],
      [13, 409, 'home_in_use', () => db().deleteFrom('sessions').where('id', '=', holder).execute()],
      [
        14,
        503,
        'no_host_available',
        async () => {
          const home = { host_id: given.hostA.hostId };
          await db().updateTable('storage_homes').set(home).where('user_id', '=', given.alice.id).execute();
          await demands(64)();
        },
      ],
      [15, 503, 'capacity_exhausted', demands(1)],
      [16, 400, 'validation_failed', asking({ profile_id: '1080p60', ...h265 })],
      [17, 409, 'conflict', asking({ profile_id: '1080p60' })],
    ];
    for (const [row, status, code, mend] of rows) {
      expect([row, ...(await refused({ ...request }, tile))]).toEqual([row, status, code]);
      expect(await given.world.slotsUsed(given.hostA)).toBe(used);
      await mend();
    }
    expect((await launch({ ...request }, tile)).status).toBe(201);
  });
});
