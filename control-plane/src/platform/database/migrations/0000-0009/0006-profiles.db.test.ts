import { createLogger } from '@footlight/platform';
import { type Kysely, sql } from 'kysely';
import { expect, test } from 'vitest';
import { describeDatabases } from '../../../../testing/index.ts';
import { openDatabase } from '../../engine/open.ts';
import type { Schema } from '../../schema.ts';

const logger = createLogger('silent');

/** An instance as the release before launch profiles left it, and two profiles that nobody could have made there. */
async function fillAtStep4(db: Kysely<Schema>): Promise<void> {
  await sql`insert into users (id, email, username, password_hash, role, created_at, updated_at)
    values ('alice', 'alice@example.test', 'alice', '-', 'user', 1, 1)`.execute(db);
  await sql`insert into launch_profiles (id, name, visibility, created_at, updated_at)
    values ('old', 'Old one', 'user', 1, 2), ('hidden', 'Hidden one', 'admin', 3, 4)`.execute(db);
  const app = (id: string, profile: string | null, policy: string) =>
    sql`insert into apps (id, name, description, kind, enabled, external_source, external_id, default_width,
      default_height, default_fps, default_bitrate_kbps, default_vram_mb, default_encode_slots, runtime_spec,
      managed_home, home_container_path, default_profile_id, profile_policy, origin, library_provider, created_at, updated_at)
      values (${id}, ${id}, '', 'game', 1, '', '', 1920, 1080, 60, 15000, 1024, 1, '{}', 0, '/home/service',
        ${profile}, ${policy}, 'manual', '', 1, 1)`.execute(db);
  await app('plain', null, 'inherit');
  await app('pinned', 'old', 'force');
  await sql`insert into app_launch_profiles (app_id, launch_profile_id)
    values ('plain', 'old'), ('plain', 'hidden')`.execute(db);
  await sql`insert into entitlements (id, subject_type, subject_id, app_id, granted_by, created_at)
    values ('everybody', 'all', null, 'plain', 'admin', 1), ('hers', 'user', 'alice', 'pinned', 'admin', 1)`.execute(
    db,
  );
  await sql`insert into favourites (user_id, app_id, created_at) values ('alice', 'plain', 1)`.execute(db);
}

describeDatabases('the step to launch profiles', ({ dialect, empty }) => {
  test('keeps every row, and every reference as strict as it was', async () => {
    const target = await empty();
    const before = await openDatabase(target, { logger, lastStep: '0004-sessions' });
    await fillAtStep4(before.db);
    await before.close();

    const database = await openDatabase(target, { logger });
    const { db } = database;
    try {
      if (dialect === 'sqlite') {
        expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
        expect((await sql`pragma integrity_check`.execute(db)).rows).toEqual([{ integrity_check: 'ok' }]);
      }
      expect(await db.selectFrom('launch_profiles').selectAll().orderBy('id').execute()).toEqual([
        {
          id: 'hidden',
          display_name: 'Hidden one',
          description: '',
          visibility: 'internal',
          sort_order: 0,
          created_at: 3,
          updated_at: 4,
        },
        {
          id: 'old',
          display_name: 'Old one',
          description: '',
          visibility: 'user',
          sort_order: 0,
          created_at: 1,
          updated_at: 2,
        },
      ]);
      const apps = await db.selectFrom('apps').select(['id', 'default_profile_id']).orderBy('id').execute();
      expect(apps).toEqual([
        { id: 'pinned', default_profile_id: 'old' },
        { id: 'plain', default_profile_id: null },
      ]);
      const lists = await db
        .selectFrom('app_launch_profiles')
        .selectAll()
        .orderBy('launch_profile_id')
        .execute();
      expect(lists.map((row) => row.launch_profile_id)).toEqual(['hidden', 'old']);
      expect(await db.selectFrom('entitlements').selectAll().execute()).toHaveLength(2);
      expect(await db.selectFrom('favourites').selectAll().execute()).toHaveLength(1);

      const pin = (profile: string) =>
        db.updateTable('apps').set({ default_profile_id: profile }).where('id', '=', 'plain').execute();
      await expect(pin('nowhere')).rejects.toThrow(/foreign key/i);
      await pin('hidden');
      await expect(
        db
          .insertInto('app_launch_profiles')
          .values({ app_id: 'pinned', launch_profile_id: 'nowhere' })
          .execute(),
      ).rejects.toThrow(/foreign key/i);
      await expect(db.deleteFrom('launch_profiles').where('id', '=', 'old').execute()).rejects.toThrow(
        /foreign key/i,
      );
      await expect(
        sql`update launch_profiles set visibility = 'admin' where id = 'old'`.execute(db),
      ).rejects.toThrow(/check constraint/i);
      await db.updateTable('launch_profiles').set({ visibility: 'debug' }).where('id', '=', 'old').execute();

      // Nothing refers to it but a list, which lets it go.
      await pin('old');
      await db.deleteFrom('launch_profiles').where('id', '=', 'hidden').execute();
      expect(await db.selectFrom('app_launch_profiles').select('launch_profile_id').execute()).toEqual([
        { launch_profile_id: 'old' },
      ]);
    } finally {
      await database.close();
    }
  });
});
