import {
  type FakeAgent,
  type PostgresDatabase,
  type PostgresServer,
  TcpRelay,
  usePostgres,
} from '@footlight/test-harness';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { beforeTransactionOf } from '../testing/before-transaction.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;
/** COMMIT as Postgres receives it, in any of its message types. */
const COMMIT = 'commit\0';

interface Break {
  when: Parameters<TcpRelay['cutAt']>[1];
  afterwards?: TcpRelay['mode'];
}

describe('a database that breaks off over the COMMIT', () => {
  let server: PostgresServer;
  let database: PostgresDatabase;
  let relay: TcpRelay;
  let world: SessionsWorld;
  beforeEach(async () => {
    server = await usePostgres();
    database = await server.createDatabase();
    relay = await TcpRelay.to(new URL(database.url));
    const url = new URL(database.url);
    url.port = String(relay.port);
    world = await openSessionsWorld({ dialect: 'postgres', url: url.href });
  });
  afterEach(async () => {
    relay.mode = 'pass';
    await world.close();
    relay.close();
    await database.drop();
    await server.stop();
  });

  /** Runs `act`, breaks the connection at its COMMIT, and advances the time until there is an answer. */
  async function brokenOff<T>(
    agent: FakeAgent,
    act: () => Promise<T>,
    { when, afterwards = 'pass' }: Break,
  ): Promise<T> {
    let [broken, answered] = [false, false];
    const answer = beforeTransactionOf(world.planes, act, async () => {
      // Mode for later connections.
      relay.mode = afterwards;
      void relay.cutAt(COMMIT, when).then(() => {
        broken = true;
      });
    }).finally(() => {
      answered = true;
    });
    // Wait for the COMMIT, because no other connection may send before it.
    await eventually('the COMMIT', () => broken || undefined);
    while (!answered) await world.pass(250, agent);
    return answer;
  }

  async function launch(agent: FakeAgent, how: Break) {
    const app = await world.app({ managed_home: true });
    return brokenOff(agent, () => world.launch(world.people.alice, app), how);
  }

  test('of a launch, after it was done: the launch is answered, and its one session runs', async () => {
    const agent = await world.host('hosta');
    const { status, body } = await launch(agent, { when: 'answered' });
    expect(status).toBe(201);
    expect(body.signaling.token).toEqual(expect.any(String));
    expect(await world.until(body.session.id, 'running')).toMatchObject({ host_id: agent.hostId });
    expect((await world.list()).map(({ id }) => id)).toEqual([body.session.id]);
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  test('of a launch, while it is under way: its end is waited for', async () => {
    const agent = await world.host('hosta');
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    // A trigger makes the COMMIT of a session wait until a lock is released.
    await other.query(`
      create function wait_for_lock() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
      create constraint trigger slow_commit after insert on sessions deferrable initially deferred
        for each row execute function wait_for_lock();
      select pg_advisory_lock(1)`);
    const launched = launch(agent, { when: 'heard' });
    await eventually('the COMMIT waits, and so does the look-up of its result', async () => {
      const waiting = `select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return (await other.query(waiting)).rowCount === 2 || undefined;
    });
    await other.query('select pg_advisory_unlock(1)');
    const { status, body } = await launched;
    await other.end();
    expect(status).toBe(201);
    await world.until(body.session.id, 'running');
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  test('of a change of app, after it was done: it is answered, and made on the host', async () => {
    const agent = await world.host('hosta');
    const { id } = await world.running(world.people.alice, await world.app());
    const other = await world.app();
    const swap = () =>
      world.call(world.people.alice, 'POST', `/v1/sessions/${id}/swap`, { body: { app_id: other } });
    expect((await brokenOff(agent, swap, { when: 'answered' })).status).toBe(200);
    await eventually('the session has the new app', async () =>
      (await world.session(id)).app_id === other ? true : undefined,
    );
    expect(agent.commands.filter(({ type }) => type === 'session_swap_app')).toHaveLength(1);
  });

  test('of a launch, before it was received: 503, and nothing is booked', async () => {
    const agent = await world.host('hosta');
    const { status, headers } = await launch(agent, { when: 'unheard' });
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(await world.list()).toEqual([]);
    expect(await world.slotsUsed(agent)).toBe(0);
    expect((await world.launch(world.people.alice, await world.app())).status).toBe(201);
  });

  test('of a launch, and stays away: 503 after 5 s, and what was stored ends as an assignment that timed out', async () => {
    const agent = await world.host('hosta');
    const begunMs = world.clock.monotonicMs();
    expect((await launch(agent, { when: 'answered', afterwards: 'refuse' })).status).toBe(503);
    expect(world.clock.monotonicMs() - begunMs).toBeGreaterThanOrEqual(5 * S);
    relay.mode = 'pass';
    const [lost] = await world.list();
    expect(lost).toMatchObject({ state: 'assigned' });
    await world.pass(150 * S, agent);
    expect(await world.until(lost!.id, 'failed')).toMatchObject({ state_detail: 'assign timed out' });
    expect(await world.slotsUsed(agent)).toBe(0);
  });
});
