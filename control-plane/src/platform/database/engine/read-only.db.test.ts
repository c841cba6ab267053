import type { FakeAgent } from '@footlight/test-harness';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld } from '../../../sessions/testing/world.ts';
import { describeDatabases, REPLICAS } from '../../../testing/index.ts';
import type { DatabaseTarget } from '../index.ts';

const SECOND_MS = 1_000;

describeDatabases('a database that refuses writes for a while', (databases) => {
  let target: DatabaseTarget;
  let world: SessionsWorld;
  let agent: FakeAgent;
  let sessionId: string;
  beforeEach(async () => {
    target = await databases.fresh();
    world = await openSessionsWorld(target);
    agent = await world.host('hosta');
    sessionId = (await world.running(world.people.alice, await world.app())).id;
    await eventually('everything is confirmed', () => (agent.unseen === 0 ? true : undefined));
  });
  afterEach(() => world.close());

  /** Makes the database read-only, like after a disk error, or when a standby answers instead of its primary. */
  async function setReadOnly(readOnly: boolean): Promise<void> {
    if (target.dialect === 'sqlite') {
      const pragma = readOnly ? sql`pragma query_only = on` : sql`pragma query_only = off`;
      await pragma.execute(world.plane.platform.database.db);
      return;
    }
    const client = new pg.Client({ connectionString: target.url });
    await client.connect();
    try {
      await client.query('set default_transaction_read_only = off');
      const name = client.escapeIdentifier(client.database ?? '');
      await client.query(`alter database ${name} set default_transaction_read_only = ${readOnly}`);
      // End the connections, because they keep the setting with which they began.
      await client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
    } finally {
      await client.end();
    }
  }

  /** The first statement on each lost connection fails, and each control plane has connections of its own. */
  const readsGoOn = () =>
    eventually('reads go on', async () => {
      for (let n = 0; n < REPLICAS; n += 1)
        if ((await world.call(world.people.alice, 'GET', '/v1/me')).status !== 200) return undefined;
      return true;
    });
  const write = () =>
    world.call(world.people.alice, 'PATCH', '/v1/me/ui-preferences', { body: { written: true } });

  test('answers 503, and stores afterwards what hosts reported meanwhile', async () => {
    await setReadOnly(true);
    await readsGoOn();
    const refused = await write();
    expect([refused.status, refused.body.error.code, refused.headers['retry-after']]).toEqual([
      503,
      'internal',
      '1',
    ]);
    agent.reportState(sessionId, 'stopped', { reason: 'app_exited' });
    // Longer than the time for which a session may be missing in heartbeats, and than the settling time of a new state.
    await world.pass(30 * SECOND_MS, agent);
    expect(agent.unseen, 'confirmed unstored').toBe(1);
    await setReadOnly(false);
    await eventually('the report is confirmed', async () => {
      await world.pass(SECOND_MS, agent);
      return agent.unseen === 0 ? true : undefined;
    });
    await readsGoOn();
    expect((await world.session(sessionId)).state).toBe('stopped');
    expect((await write()).status).toBe(200);
  });
});
