import type { AgentEventType } from '@footlight/protocol/telemetry';
import type { FakeAgent } from '@footlight/test-harness';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DatabaseTarget } from '../platform/database/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases } from '../testing/index.ts';
import { createTelemetry } from './index.ts';

const HOUR_MS = 60 * 60 * 1_000;
const LOCK_TABLE = sql`lock table session_trace_events in access exclusive mode`;

describeDatabases('events of the reliable lane', (databases) => {
  let target: DatabaseTarget;
  let world: SessionsWorld;
  let agent: FakeAgent;
  let sessionId: string;
  const former: SessionsWorld[] = [];
  beforeEach(async () => {
    target = await databases.fresh();
    world = await openSessionsWorld(target);
    agent = await world.host('hosta');
    sessionId = await world.runsOn(agent, world.people.alice, await world.app());
  });
  afterEach(async () => {
    for (const one of former.splice(0)) await one.close();
    await world.close();
  });

  const report = (event: AgentEventType, payload: Record<string, unknown> = {}, session_id = sessionId) =>
    agent.report({ type: 'session_trace_event', session_id, ts: 1_750_000_000_000, event, payload });
  const confirmed = () =>
    eventually('everything is confirmed', () => (agent.unseen === 0 ? true : undefined));
  const stored = () =>
    world.plane.platform.database.db.selectFrom('session_trace_events').selectAll().orderBy('seq').execute();

  /** Blocks the storing of events until the returned function is called. */
  async function holdWrites(): Promise<() => Promise<void>> {
    let release = (): void => {};
    let done: Promise<void> = Promise.resolve();
    await new Promise<void>((held) => {
      done = world.plane.platform.database.transaction(async (tx) => {
        if (databases.dialect === 'postgres') await LOCK_TABLE.execute(tx);
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        held();
        await released;
      });
    });
    return () => {
      release();
      return done;
    };
  }

  test('are stored with host, boot and number before they are confirmed', async () => {
    report('session.effective_media', { mic: 'off' });
    report('diag.log_tail', { capture_id: 'c' });
    await confirmed();
    const [first, second] = await stored();
    expect(first).toEqual({
      host_id: agent.hostId,
      boot_id: agent.bootId,
      seq: 1,
      session_id: sessionId,
      ts_unix_ms: 1_750_000_000_000,
      type: 'session.effective_media',
      payload: '{"mic":"off"}',
      source: 'agent',
      is_capture: 0,
      received_at: world.clock.nowMs(),
    });
    expect(second).toMatchObject({ seq: 2, type: 'diag.log_tail', is_capture: 1 });
  });

  test('are not confirmed while they cannot be stored', async () => {
    const release = await holdWrites();
    report('encoder.stall', { phase: 'detected', reason: 'no_output' });
    await agent.heard();
    expect(agent.unseen).toBe(1);
    await release();
    await confirmed();
    expect(await stored()).toHaveLength(1);
  });

  test('come again after a control plane that died before it confirmed them, and are there once', async () => {
    const release = await holdWrites();
    report('encoder.stall', { phase: 'detected', reason: 'no_output' });
    report('host.xid', { code: 79 });
    await agent.heard();
    await agent.drop();
    expect(agent.unseen).toBe(2);
    await release();
    await world.plane.close();
    former.push(world);
    world = await openSessionsWorld(target, world);
    agent.options.url = world.url;
    await world.reconnect(agent);
    await confirmed();
    expect((await stored()).map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'encoder.stall'],
      [2, 'host.xid'],
    ]);
  });

  test('are stored once however often they come', async () => {
    agent.behaviour.duplicate = true;
    report('caps.negotiated', { trigger: 'launch' });
    report('caps.negotiated', { trigger: 'rung_step' });
    await confirmed();
    agent.behaviour.duplicate = false;
    const { bootId } = agent;
    await agent.drop();
    await world.plane.platform.database.db.updateTable('hosts').set({ last_seq: null }).execute();
    await agent.crash();
    agent.bootId = bootId;
    await world.reconnect(agent);
    report('caps.negotiated', { trigger: 'launch' });
    await confirmed();
    expect(await stored()).toHaveLength(2);
  });

  test('about a session of another host are dropped, and confirmed', async () => {
    const other = await world.host('hostb');
    const foreign = await world.runsOn(other, world.people.alice, await world.app());
    report('host.xid', { code: 79 }, foreign);
    report('host.xid', { code: 79 }, '00000000-0000-4000-8000-000000000000');
    report('host.xid', { code: 79 });
    await confirmed();
    expect((await stored()).map(({ session_id, seq }) => [session_id, seq])).toEqual([[sessionId, 3]]);
  });

  test('1,000 of a session are kept, the newest, in addition to 200 captures', async () => {
    for (let n = 0; n < 1_300; n += 1) {
      report('caps.negotiated', { n });
      if (n % 100 === 99) await confirmed();
      if (n % 100 === 99) await world.clock.pass(1);
    }
    report('diag.encoder_props');
    await confirmed();
    const rows = await stored();
    const ordinary = rows.filter(({ is_capture }) => is_capture === 0);
    expect(ordinary.length).toBeGreaterThanOrEqual(1_000);
    expect(ordinary.length).toBeLessThanOrEqual(1_200);
    expect(ordinary.at(-1)?.seq).toBe(1_300);
    expect(rows.filter(({ is_capture }) => is_capture === 1)).toHaveLength(1);
  });

  test('of one host are kept up to so many bytes, the newest, however many sessions they are of', async () => {
    const { platform } = world.plane;
    const keptBytes = 64 * 1024;
    const alone = { ...platform, jobs: { ...platform.jobs, handle: () => undefined } };
    const telemetry = createTelemetry(alone, { bytesOfHost: keptBytes });
    const payload = { text: 'x'.repeat(4_000) };
    for (let seq = 1; seq <= 100; seq += 1) {
      await world.clock.pass(1);
      const session_id = world.plane.platform.random.uuid();
      const event = {
        type: 'session_trace_event',
        seq,
        session_id,
        ts: 1,
        event: 'diag.log_tail',
        payload,
      } as const;
      for (const hostId of seq <= 3 ? ['hosta', 'hostb'] : ['hosta'])
        await platform.database.transaction((tx) =>
          telemetry.storeEvents(tx, { hostId, bootId: 'boot' }, [event]),
        );
    }
    const rows = await stored();
    const bytesOf = (host: string) =>
      rows.filter(({ host_id }) => host_id === host).reduce((sum, row) => sum + row.payload.length, 0);
    expect(bytesOf('hosta')).toBeLessThan(1.2 * keptBytes);
    expect(bytesOf('hosta')).toBeGreaterThan(0.8 * keptBytes);
    expect(rows.at(-1)?.seq).toBe(100);
    expect(rows.filter(({ host_id }) => host_id === 'hostb')).toHaveLength(3);
  });

  test('leave an hour after they came while the session lives, a day after its end; captures stay with it', async () => {
    const { jobs, database } = world.plane.platform;
    const { db } = database;
    const left = async () => {
      await jobs.runNow('telemetry.retain');
      return (await stored()).map(({ type }) => type);
    };
    /** Makes the stored events older by this time. */
    const age = async (ms: number) => {
      await db
        .updateTable('session_trace_events')
        .set((eb) => ({ received_at: eb('received_at', '-', ms) }))
        .execute();
      await db
        .updateTable('sessions')
        .set((eb) => ({ ended_at: eb('ended_at', '-', ms) }))
        .execute();
    };
    report('caps.negotiated');
    report('diag.encoder_props');
    await confirmed();
    await age(HOUR_MS);
    expect(await left()).toEqual(['caps.negotiated', 'diag.encoder_props']);
    report('encoder.stall', { phase: 'detected', reason: 'no_output' });
    await confirmed();
    await age(1);
    expect(await left()).toEqual(['diag.encoder_props', 'encoder.stall']);

    await db.updateTable('sessions').set({ state: 'stopped', ended_at: world.clock.nowMs() }).execute();
    await age(24 * HOUR_MS);
    expect(await left()).toEqual(['diag.encoder_props', 'encoder.stall']);
    await age(1);
    expect(await left()).toEqual(['diag.encoder_props']);

    await db.deleteFrom('sessions').execute();
    expect(await left()).toEqual([]);
  });
});
