import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DiscoveryWorld, openDiscoveryWorld } from '../discovery/testing/world.ts';
import { describeDatabases } from '../testing/index.ts';

describeDatabases('the calls of hosts while the disk of the control plane is full', ({ dialect, fresh }) => {
  // Only SQLite, because a Postgres server has its own disk.
  describe.runIf(dialect === 'sqlite')('under SQLite', () => {
    let world: DiscoveryWorld;
    beforeAll(async () => {
      world = await openDiscoveryWorld(await fresh());
    });
    afterAll(() => world.close());

    test('homes are marked, listed and collected, because they may lie on that disk; reports wait', async () => {
      const { alice } = world.app.people;
      const { db } = world.app.plane.platform.database;
      const due = await world.addHome(alice, world.hostA, { gc_after: 0 });
      const kept = await world.addHome(alice, world.hostB);
      await world.force();
      const [scan] = await world.hostB.poll();
      // A database file that must not grow gives the same errors as a full disk.
      const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db);
      await sql.raw(`pragma max_page_count = ${rows[0]?.page_count}`).execute(db);
      const filling = await world.admin('POST', '/v1/apps', {
        name: 'Large',
        description: 'x'.repeat(200_000),
      });
      expect(filling.status).toBe(503);

      const listed = await world.hostA.call('GET', '/v1/agent/storage/gc-pending');
      expect([listed.status, listed.body.homes]).toMatchObject([200, [{ id: due }]]);
      const confirmed = await world.hostA.call('POST', '/v1/agent/storage/gc-confirm', { home_ids: [due] });
      expect([confirmed.status, confirmed.body.deleted_ids]).toEqual([200, [due]]);
      expect((await world.admin('DELETE', `/v1/admin/storage/homes/${kept}`)).status).toBe(204);
      expect((await world.admin('DELETE', '/v1/admin/images/none/install')).status).toBe(404);

      // The report is refused, because it may add ten thousand rows. The host keeps it, and the scan stays claimed.
      const report = await world.report(world.hostB, scan?.scan_id ?? '', ['440']);
      expect([report.status, report.headers['retry-after']]).toEqual([503, '30']);
      expect(await world.tiles()).toEqual([]);
    });
  });
});
