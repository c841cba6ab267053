import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';
import { SHIPPED_LAUNCH_PROFILES, SHIPPED_RUNGS } from './shipped-catalog.ts';
import { profileWorld } from './testing/world.ts';

describeDatabases('the shipped catalog', (databases) => {
  const listed = async (app: TestApp) => {
    const { ask } = profileWorld(app);
    return {
      rungs: (await ask('GET', '/v1/admin/stream-profiles')).body.items,
      profiles: (await ask('GET', '/v1/admin/launch-profiles')).body.items,
    };
  };

  test('is there after the first boot, once: changes and deletes survive the next boots', async () => {
    const target = await databases.fresh();
    const first = await createTestApp(target);
    const { ask } = profileWorld(first);
    const { rungs, profiles } = await listed(first);
    for (const shipped of SHIPPED_RUNGS) expect(rungs).toContainEqual(expect.objectContaining(shipped));
    expect(rungs).toHaveLength(SHIPPED_RUNGS.length);
    expect(profiles.map(({ id }: { id: string }) => id)).toEqual(
      SHIPPED_LAUNCH_PROFILES.toSorted((a, b) => a.sort_order - b.sort_order).map(({ id }) => id),
    );
    await ask('PATCH', '/v1/admin/stream-profiles/720p60-h264', { nominal_bitrate_kbps: 4_000 });
    await ask('DELETE', '/v1/admin/launch-profiles/4k120');
    await ask('DELETE', '/v1/admin/stream-profiles/4k120-hevc');
    await ask('PATCH', '/v1/admin/launch-profiles/720p60', { display_name: 'Small' });
    const before = await listed(first);
    await first.close();

    const second = await createTestApp(target, { seedPeople: false });
    second.people.admin = first.people.admin;
    expect(await listed(second)).toEqual(before);
    await second.close();
  });

  test('stays away once everything is deleted', async () => {
    const target = await databases.fresh();
    const first = await createTestApp(target);
    const { ask } = profileWorld(first);
    const { rungs, profiles } = await listed(first);
    for (const { id } of profiles) await ask('DELETE', `/v1/admin/launch-profiles/${id}`);
    for (const { id } of rungs) await ask('DELETE', `/v1/admin/stream-profiles/${id}`);
    await first.close();

    const second = await createTestApp(target, { seedPeople: false });
    second.people.admin = first.people.admin;
    expect(await listed(second)).toEqual({ rungs: [], profiles: [] });
    await second.close();
  });

  test('is there before the apps of the seed file, which may name its profiles', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'footlight-seed-'));
    const file = join(folder, 'seed.json');
    writeFileSync(
      file,
      JSON.stringify([{ name: 'Seeded', profile_policy: 'force', default_profile_id: '4k60' }]),
    );
    const app = await createTestApp(await databases.fresh(), {
      env: { SERVICE_SEED_FILE: file },
      seedPeople: false,
    });
    const record = await app.plane.platform.database.db.selectFrom('apps').selectAll().executeTakeFirst();
    expect(record).toMatchObject({ name: 'Seeded', default_profile_id: '4k60' });
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
