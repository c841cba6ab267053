import { expect, test } from 'vitest';
import { describeSqlite } from '../../testing/index.ts';
import { type AccountsWorld, worldsOn } from '../testing/world.ts';

const OPEN = { REGISTRATION_MODE: 'open' };

describeSqlite('X-Forwarded-For from a peer that is no trusted proxy', ({ fresh }) => {
  const withWorld = worldsOn(fresh);
  const warnings = (world: AccountsWorld) => world.logEvents('http.untrusted_proxy');
  const get = (world: AccountsWorld, from: string, forwarded?: string) =>
    world.call('GET', '/v1/setup/status', {
      from,
      headers: forwarded ? { 'x-forwarded-for': forwarded } : {},
    });
  const check = async (world: AccountsWorld, bearer: string, from: string, forwarded?: string) => {
    const headers: Record<string, string> = forwarded ? { 'x-forwarded-for': forwarded } : {};
    const answer = await world.call('GET', '/v1/admin/access-check', { bearer, from, headers });
    return answer.json().request as { advice?: string };
  };

  test('is warned about once per start, with the line to set', () =>
    withWorld({ env: OPEN }, async (world) => {
      await get(world, '172.17.0.1');
      expect(warnings(world)).toEqual([]);
      for (let n = 0; n < 5; n += 1) await get(world, '172.17.0.1', `192.0.2.${n}`);
      await get(world, '172.17.0.2', '192.0.2.1');
      expect(warnings(world)).toHaveLength(1);
      expect(warnings(world)[0]).toMatchObject({ level: 'warn', peer: '172.17.0.1' });
      expect(warnings(world)[0]?.hint).toContain('SERVICE_TRUSTED_PROXIES=172.17.0.1');
    }));

  test('gets advice in the access check, which keeps the proxies that are set', () =>
    withWorld({ env: { ...OPEN, SERVICE_TRUSTED_PROXIES: '10.0.0.0/8' } }, async (world) => {
      const { access_token: bearer } = await world.claim();
      const { advice } = await check(world, bearer, '172.17.0.1', '192.0.2.1');
      expect(advice).toContain('SERVICE_TRUSTED_PROXIES=10.0.0.0/8,172.17.0.1');
      expect((await check(world, bearer, '::ffff:172.17.0.1', '192.0.2.1')).advice).toBe(advice);
      expect(await check(world, bearer, '172.17.0.1')).not.toHaveProperty('advice');
      expect(await check(world, bearer, '10.1.2.3', '192.0.2.1')).not.toHaveProperty('advice');
    }));

  test('says nothing where the peer is trusted', () =>
    withWorld({ env: { ...OPEN, SERVICE_TRUSTED_PROXIES: '10.0.0.0/8' } }, async (world) => {
      for (let n = 0; n < 3; n += 1) await get(world, '10.1.2.3', '192.0.2.1');
      expect(warnings(world)).toEqual([]);
      await get(world, '10.1.2.3', '192.0.2.1');
      await get(world, '203.0.113.5', '192.0.2.1');
      expect(warnings(world)).toHaveLength(1);
    }));
});
