import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, loggedActivity, refused, UNKNOWN_ID } from '../../testing/index.ts';
import { type DiscoveryWorld, openDiscoveryWorld } from '../testing/world.ts';

describeDatabases('rules about titles', ({ fresh }) => {
  let world: DiscoveryWorld;
  beforeEach(async () => {
    world = await openDiscoveryWorld(await fresh());
    await world.addHome(world.app.people.alice, world.hostA);
  });
  afterEach(() => world.close());

  const path = (rest: string, appId = world.providerId) => `/v1/admin/apps/${appId}/library/${rest}`;
  const put = (id: string, body: object) => world.admin('PUT', path(`rules/${id}`), body);
  const rules = async () => (await world.admin('GET', path('rules'))).body.items;
  const unpublished = async () => (await world.admin('GET', path('unpublished'))).body.items;

  test('ignore disables the tile and revokes what discovery granted, to everybody', async () => {
    await world.scan(world.hostA, ['440']);
    await world.addHome(world.app.people.bob, world.hostB);
    await world.scan(world.hostB, ['440']);
    const answer = await put('440', { rule: 'ignore', note: 'n'.repeat(600) });
    expect(answer.body).toEqual({
      rule: {
        external_source: 'steam',
        external_id: '440',
        rule: 'ignore',
        note: 'n'.repeat(512),
        created_by: world.app.people.admin.id,
        created_at: expect.any(String),
      },
      disabled: true,
      revoked: 2,
    });
    expect(await world.seenBy(world.app.people.alice)).toEqual([]);
    expect((await put('440', { rule: 'ignore' })).body).toMatchObject({ disabled: false, revoked: 0 });
    await world.scan(world.hostA, ['440']);
    expect(await world.seenBy(world.app.people.alice)).toEqual([]);
    expect(await unpublished()).toMatchObject([
      { external_id: '440', suppressed_by: 'rule_ignore', users: 2, has_tile: true },
    ]);
  });

  test('ignore leaves the row of an administrator', async () => {
    await world.scan(world.hostA, ['440']);
    const [tile] = await world.tiles();
    const grant = { subject_type: 'user', subject_id: world.app.people.bob.id };
    await world.admin('POST', `/v1/admin/apps/${tile?.id}/entitlements`, grant);
    expect((await put('440', { rule: 'ignore' })).body).toMatchObject({ revoked: 1 });
    const left = await world.admin('GET', `/v1/admin/apps/${tile?.id}/entitlements`);
    expect(left.body.items).toMatchObject([{ granted_by: 'admin', subject_username: 'bob' }]);
  });

  test('allow stores the rule only; the next report publishes', async () => {
    await world.scan(world.hostA, ['228980']);
    expect((await put('228980', { rule: 'allow' })).body).toMatchObject({ disabled: false, revoked: 0 });
    expect(await world.tiles()).toEqual([]);
    await world.scan(world.hostA, ['228980']);
    expect(await world.seenBy(world.app.people.alice)).toEqual(['Title 228980']);
  });

  test('allow does not enable a tile that is disabled', async () => {
    await world.scan(world.hostA, ['440']);
    await put('440', { rule: 'ignore' });
    await put('440', { rule: 'allow' });
    await world.scan(world.hostA, ['440']);
    expect(await world.tiles()).toMatchObject([{ enabled: 0 }]);
    expect(await unpublished()).toMatchObject([{ suppressed_by: 'other', has_tile: true }]);
  });

  test('are listed newest first; one in place of another is stamped again', async () => {
    await put('1', { rule: 'ignore' });
    await world.app.clock.advance(1000);
    await put('3', { rule: 'allow' });
    await put('2', { rule: 'ignore' });
    expect((await rules()).map((rule: { external_id: string }) => rule.external_id)).toEqual(['2', '3', '1']);
    await world.app.clock.advance(1000);
    await put('1', { rule: 'allow', external_source: 'steam' });
    expect((await rules()).map((rule: { external_id: string }) => rule.external_id)).toEqual(['1', '2', '3']);
  });

  test('are removed; the next report decides without them', async () => {
    await world.scan(world.hostA, ['440']);
    await put('441', { rule: 'ignore' });
    await world.scan(world.hostA, ['441']);
    expect((await world.admin('DELETE', path('rules/441'))).status).toBe(204);
    refused(await world.admin('DELETE', path('rules/441')), 404, 'not_found');
    expect(await world.tiles()).toHaveLength(1);
    await world.scan(world.hostA, ['441']);
    expect(await world.seenBy(world.app.people.alice)).toEqual(['Title 441']);
  });

  test('are audited', async () => {
    await put('440', { rule: 'ignore' });
    await world.admin('DELETE', path('rules/440?external_source=steam'));
    const logged = await loggedActivity(world.app, { target_id: world.providerId });
    expect(logged.slice(-2).map(({ action, details }) => [action, details])).toEqual([
      ['app.library.rule.set', { external_id: '440', rule: 'ignore', disabled: false, revoked: 0 }],
      ['app.library.rule.delete', { external_id: '440' }],
    ]);
  });

  test('lose their author with the account', async () => {
    const second = await world.app.addPerson('second', 'admin');
    await world.app.call(second, 'PUT', path('rules/440'), { body: { rule: 'ignore' } });
    await world.admin('DELETE', `/v1/users/${second.id}`);
    expect(await rules()).toMatchObject([{ external_id: '440', created_by: null }]);
  });

  test('unpublished titles name the built-in reason and the last sight', async () => {
    await world.addHome(world.app.people.bob, world.hostB);
    await world.force();
    const [onA] = await world.hostA.poll();
    const [onB] = await world.hostB.poll();
    await world.report(world.hostA, onA?.scan_id ?? '', ['228980', { id: '7', name: 'Proton 8' }]);
    await world.app.clock.advance(1000);
    await world.report(world.hostB, onB?.scan_id ?? '', [{ id: '7', name: 'Proton 9' }]);
    expect(await unpublished()).toEqual([
      {
        ...{ external_source: 'steam', external_id: '7', name: 'Proton 9', suppressed_by: 'builtin_prefix' },
        ...{ users: 2, has_tile: false, last_seen_at: new Date(world.app.clock.nowMs()).toISOString() },
      },
      {
        ...{ external_source: 'steam', external_id: '228980', name: 'Title 228980' },
        ...{ suppressed_by: 'builtin_appid', users: 1, has_tile: false },
        last_seen_at: new Date(world.app.clock.nowMs() - 1000).toISOString(),
      },
    ]);
  });

  describe('are refused', () => {
    test.each([
      ['GET', 'unpublished', undefined],
      ['GET', 'rules', undefined],
      ['PUT', 'rules/440', { rule: 'ignore' }],
      ['DELETE', 'rules/440', undefined],
    ] as const)(
      '%s %s: a malformed id, an unknown app, an app that is no provider',
      async (method, rest, body) => {
        const other = (await world.admin('POST', '/v1/apps', { name: 'Gears' })).body.app.id;
        refused(await world.admin(method, path(rest, 'x'), body), 400, 'validation_failed');
        refused(await world.admin(method, path(rest, UNKNOWN_ID), body), 404, 'not_found');
        refused(await world.admin(method, path(rest, other), body), 400, 'validation_failed');
        refused(await world.app.call(world.app.people.alice, method, path(rest)), 403, 'forbidden');
      },
    );

    test.each([
      ['0', { rule: 'ignore' }],
      ['x', { rule: 'ignore' }],
      ['4294967296', { rule: 'ignore' }],
      ['440', { rule: 'maybe' }],
      ['440', {}],
      ['440', { rule: 'ignore', note: 5 }],
      ['440', { rule: 'ignore', more: 1 }],
      ['440', { rule: 'ignore', external_source: 'gog' }],
    ])('a rule about %s with %j', async (id, body) => {
      refused(await put(id, body), 400, 'validation_failed');
      expect(await rules()).toEqual([]);
    });

    test('the greatest id is taken', async () => {
      expect((await put('4294967295', { rule: 'ignore' })).status).toBe(200);
    });
  });
});
