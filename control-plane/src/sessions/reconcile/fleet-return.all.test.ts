import { FakeAgent } from '@footlight/test-harness';
import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { DatabaseTarget } from '../../platform/database/index.ts';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const AGENTS = LONG ? 1_000 : 100;
const SESSIONS_EACH = 2;
/** All hosts reconnect within this real time, each at a random time, because the test is about the load. */
const WITHIN_MS = 1_000;
const RECONCILED_MS = 10_000;
const LIMIT_MS = 120_000;

describeDatabases('a fleet that comes back after a restart of the control plane', (databases) => {
  let target: DatabaseTarget;
  let former: SessionsWorld;
  let world: SessionsWorld;
  let agents: FakeAgent[];
  const ids = new Map<string, FakeAgent>();

  beforeAll(async () => {
    target = await databases.fresh();
    former = await openSessionsWorld(target);
    const app = await former.app();
    agents = Array.from(
      { length: AGENTS },
      (_, n) =>
        new FakeAgent({
          url: former.url,
          nodeName: `fleet-${n}`,
          credential: { token: 'a-fixed-enrollment-token' },
          heartbeatMs: 0,
        }),
    );
    const few = pLimit(20);
    await Promise.all(agents.map((agent) => few(() => agent.connect())));
    const { db } = former.plane.platform.database;
    const gpus = () => db.selectFrom('gpus').select('id').execute();
    await vi.waitFor(async () => expect(await gpus()).toHaveLength(AGENTS), { timeout: LIMIT_MS });
    await former.plane.platform.database.transaction(async (tx) => {
      for (const agent of agents) {
        for (let n = 0; n < SESSIONS_EACH; n += 1) {
          const id = await former.runsOn(agent, former.people.alice, app, tx);
          ids.set(id, agent);
        }
      }
    });
    await db
      .updateTable('sessions')
      .set((eb) => ({
        gpu_id: eb.selectFrom('gpus').select('gpus.id').whereRef('gpus.host_id', '=', 'sessions.host_id'),
        gpu_index: 0,
      }))
      .execute();
    await db.updateTable('gpus').set({ slots_used: SESSIONS_EACH }).execute();
    await former.plane.close();
    await Promise.all(agents.map((agent) => agent.closed));
    world = await openSessionsWorld(target, former);
  }, LIMIT_MS);
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.drop()));
    await world.close();
    await former.close();
  }, LIMIT_MS);

  test(
    `${AGENTS} hosts with ${AGENTS * SESSIONS_EACH} sessions: none is lost, none is doubled`,
    async () => {
      const { db } = world.plane.platform.database;
      const began = performance.now();
      await Promise.all(
        agents.map(async (agent, n) => {
          agent.options.url = world.url;
          await new Promise((resolve) => setTimeout(resolve, (n * WITHIN_MS) / AGENTS));
          await agent.connect();
        }),
      );
      const count = async () => {
        const row = await db
          .selectFrom('sessions')
          .select((eb) => eb.fn.countAll().as('n'))
          .where('state', '=', 'running')
          .where('state_detail', '=', 'host_reconnected')
          .executeTakeFirstOrThrow();
        return Number(row.n);
      };
      await expect.poll(count, { timeout: LIMIT_MS }).toBe(AGENTS * SESSIONS_EACH);
      const tookMs = performance.now() - began;
      // The time is checked only in the long run, which runs alone; next to other tests it means nothing.
      if (LONG) expect(tookMs).toBeLessThan(RECONCILED_MS);

      const rows = await db.selectFrom('sessions').select(['id', 'state', 'host_id']).execute();
      expect(rows).toHaveLength(ids.size);
      expect(rows.every((row) => ids.get(row.id)?.hostId === row.host_id && row.state === 'running')).toBe(
        true,
      );
      expect(agents.every((agent) => agent.sessions.size === SESSIONS_EACH)).toBe(true);
      expect(agents.flatMap((agent) => agent.commands.filter(({ type }) => type === 'session_stop'))).toEqual(
        [],
      );
      const gpus = await db.selectFrom('gpus').select('slots_used').execute();
      expect(gpus.map(({ slots_used }) => slots_used)).toEqual(Array(AGENTS).fill(SESSIONS_EACH));
      const hosts = await db.selectFrom('hosts').select('id').execute();
      expect(hosts).toHaveLength(AGENTS);
    },
    LIMIT_MS,
  );
});
