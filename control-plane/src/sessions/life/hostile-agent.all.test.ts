import { randomUUID } from 'node:crypto';
import { MAX_HOST_SESSIONS } from '@footlight/protocol/agent';
import { softwareCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LOG_LINES_PER_MINUTE } from '../../platform/limits.ts';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const FRAMES = 300;

describeDatabases('an agent that lies', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const sessionRows = () =>
    world.plane.platform.database.db
      .selectFrom('sessions')
      .selectAll()
      .execute()
      .then((rows) => JSON.stringify(rows));

  test("changes nothing of another host's session, whatever it says about it", async () => {
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const liar = await world.host('hostb');
    const before = await sessionRows();
    const observed = JSON.stringify(await world.session(session.id));
    for (const state of ['starting', 'running', 'stopping', 'failed', 'stopped'] as const) {
      liar.reportState(session.id, state, {
        detail: 'mine now',
        error: 'mine now',
        failure_code: 'app_crashed',
        app_log_tail: 'mine now',
        home_bytes: 1,
      });
    }
    liar.sendRaw(
      JSON.stringify({
        type: 'session_metrics',
        session_id: session.id,
        ts: 1,
        window_ms: 1,
        metrics: { fps: 1 },
        app_launch_state: 'game_exited',
      }),
    );
    liar.signal(session.id, 1, { type: 'bye', reason: 'session_ended' });
    await liar.heard({ running_sessions: [] });
    await expect.poll(() => liar.unseen).toBe(0);
    expect(await sessionRows()).toBe(before);
    expect(JSON.stringify(await world.session(session.id))).toBe(observed);
    // The answers about a foreign session and about an unknown one are the same.
    liar.reportState(randomUUID(), 'failed');
    await expect.poll(() => liar.unseen).toBe(0);
  });

  test('does not cause a look-up of unknown sessions with each heartbeat', async () => {
    const liar = await world.host('hosta');
    const { db } = world.plane.platform.database;
    const reads = vi.spyOn(db, 'selectFrom');
    const strangers = Array.from({ length: 100 }, () => randomUUID());
    for (let count = 0; count < FRAMES; count += 1)
      liar.heartbeat({ ts: count, running_sessions: strangers });
    await liar.heard({ running_sessions: [] });
    const lookUps = reads.mock.calls.filter(([table]) => (table as string) === 'sessions').length;
    expect(lookUps).toBeGreaterThan(0);
    expect(lookUps).toBeLessThan(FRAMES / 3);
    reads.mockRestore();
  });

  test('does not fill the log with what it says about sessions of others', async () => {
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const liar = await world.host('hostb');
    const before = world.log.length;
    for (let count = 0; count < FRAMES; count += 1) {
      liar.signal(session.id, 1, { type: 'bye', reason: 'session_ended' });
      liar.reportState(session.id, 'failed');
    }
    await liar.heard({ running_sessions: [] });
    await expect.poll(() => liar.unseen).toBe(0);
    const lines = world.log.slice(before).filter((line) => !line.includes('"level":"debug"'));
    expect(lines.length).toBeLessThan(20);
  });

  test('gets neither a log line nor a stop for each session that it invents', async () => {
    const liar = await world.host('hosta');
    const before = world.log.length;
    for (let count = 0; count < 5; count += 1) {
      const invented = Array.from({ length: 1_000 }, () => randomUUID());
      await liar.heard({ running_sessions: invented });
      const told = () =>
        liar.commands.length + world.log.filter((line) => line.includes('lines_left_out')).length;
      await expect.poll(told).toBeGreaterThan(0);
      await liar.drop();
      await liar.connect();
    }
    const lines = world.log.slice(before).filter((line) => !line.includes('"level":"debug"'));
    // The limit applies once to the host's name and once to its id.
    expect(lines.length).toBeLessThan(3 * LOG_LINES_PER_MINUTE);
    expect(liar.commands.length).toBeLessThanOrEqual(MAX_HOST_SESSIONS);
  });

  test('names an invalid encoder, and its host is used like one that names none', async () => {
    await world.host('hosta', {
      capacity: { ...softwareCapacity(), effective_settings: { encoder: 'x\0y', home_root: '/srv' } },
    });
    const answer = await world.launch(world.people.alice, await world.app());
    expect(answer.status).toBe(201);
    const row = await world.plane.platform.database.db
      .selectFrom('sessions')
      .select('encoder')
      .executeTakeFirstOrThrow();
    expect(row.encoder).toBe('openh264');
  });
});
