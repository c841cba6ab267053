import { SECOND_MS } from '@footlight/platform';
import type { SessionMetrics } from '@footlight/protocol/agent';
import type { Session } from '@footlight/protocol/rest';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DatabaseTarget } from '../../platform/database/index.ts';
import { sessionSubjects } from '../../signaling/index.ts';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const EVERY_MS = 5 * SECOND_MS;
/** Bitrate floor of the host in these tests, kbit/s. */
const FLOOR = 2_000;
const AT_FLOOR: AgentMetrics = { abr_setpoint_kbps: FLOOR };
const ABOVE: AgentMetrics = { abr_setpoint_kbps: FLOOR + 1 };

describeDatabases('health that follows from what hosts measure', (databases) => {
  let target: DatabaseTarget;
  let world: SessionsWorld;
  let agent: FakeAgent;
  let session: Session;
  const former: SessionsWorld[] = [];
  beforeEach(async () => {
    target = await databases.fresh();
    world = await openSessionsWorld(target);
    agent = await world.host('hosta', { capacity: withSettings({ abr_floor_kbps: String(FLOOR) }) });
    session = await world.running(world.people.alice, await world.app());
  });
  afterEach(async () => {
    for (const one of former.splice(0)) await one.close();
    await world.close();
  });

  const withSettings = (settings: Record<string, string>) => {
    const capacity = softwareCapacity();
    return { ...capacity, effective_settings: { ...capacity.effective_settings, ...settings } };
  };

  const sample = (metrics: AgentMetrics, more: Partial<SessionMetrics> = {}): SessionMetrics => ({
    type: 'session_metrics',
    session_id: session.id,
    ts: world.clock.nowMs(),
    window_ms: EVERY_MS,
    metrics,
    ...more,
  });

  /** Sends a sample every five seconds for this time. */
  async function measured(seconds: number, metrics = AT_FLOOR, more: Partial<SessionMetrics> = {}) {
    for (let left = seconds * SECOND_MS; left > 0; left -= EVERY_MS) {
      await world.clock.pass(EVERY_MS);
      agent.send(sample(metrics, more));
      await agent.heard();
    }
  }
  async function begins(metrics = AT_FLOOR): Promise<void> {
    agent.send(sample(metrics));
    await agent.heard();
  }

  /** The host reports the state of a viewer's peer connection. */
  async function viewer(to: string, pc = 'pc-1', from = agent): Promise<void> {
    from.report({
      type: 'session_trace_event',
      session_id: session.id,
      ts: world.clock.nowMs(),
      event: 'webrtc.state_changed',
      payload: { kind: 'connection', from: 'new', to, pc },
    });
    await expect.poll(() => from.unseen).toBe(0);
  }

  const shown = async (): Promise<Pick<Session, 'state' | 'health_state' | 'health_reason'>> => {
    const { state, health_state, health_reason } = await world.session(session.id);
    return { state, health_state, health_reason };
  };
  const stops = () =>
    agent.commands.flatMap((command) => (command.type === 'session_stop' ? [command.reason] : []));

  test('nothing is known before the first sample, nor of a stream without rate control', async () => {
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
    await begins({ fps: 60, abr_mode: 'off' });
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
  });

  test('at the floor: 30 s network_degrading, 90 s abr_at_floor; above it: healthy', async () => {
    await begins(ABOVE);
    expect(await shown()).toEqual({ state: 'running', health_state: 'healthy', health_reason: undefined });
    await begins();
    await measured(25);
    expect(await shown()).toMatchObject({ health_state: 'healthy' });
    await measured(5);
    expect(await shown()).toEqual({
      state: 'running',
      health_state: 'network_degrading',
      health_reason: 'not above the lowest rate of 2000 kbit/s for 30 s',
    });
    await measured(60);
    expect(await shown()).toMatchObject({
      health_state: 'abr_at_floor',
      health_reason: 'not above the lowest rate of 2000 kbit/s for 90 s',
    });
    expect((await world.list())[0]).toMatchObject({ health_state: 'abr_at_floor' });
    await begins(ABOVE);
    expect(await shown()).toEqual({ state: 'running', health_state: 'healthy', health_reason: undefined });
  });

  test('180 s at the floor with a viewer: failed as unsustainable, and the host is told to stop', async () => {
    const changes: unknown[] = [];
    world.plane.platform.bus.subscribe(sessionSubjects.changed, session.id, (change) => {
      changes.push(change);
    });
    await viewer('connected');
    await begins();
    await measured(175);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
    expect(stops()).toEqual([]);
    agent.behaviour.answer = (command) => (command.type === 'session_stop' ? 'silence' : 'ok');
    await measured(5);
    const why = 'unsustainable: not above the lowest rate of 2000 kbit/s for 180 s';
    const failed = await world.until(session.id, 'failed');
    expect(failed).toMatchObject({
      state_detail: why,
      error_message: why,
      failure_code: 'unsustainable',
      end_reason: 'unsustainable',
      app_log_tail: null,
      health_state: 'unsustainable',
      health_reason: why,
    });
    expect(failed.ended_at).not.toBeNull();
    expect(await world.slotsUsed(agent)).toBe(0);
    expect(changes.at(-1)).toEqual({ state: 'failed', state_detail: why });
    await eventually('session_stop was sent', () => (stops().length > 0 ? true : undefined));
    expect(stops()).toEqual(['unsustainable']);
    await expect
      .poll(() => world.activity('session.failed'))
      .toMatchObject([
        {
          target_id: session.id,
          actor_user_id: null,
          details: {
            reason_source: 'control_plane',
            app_id: session.app_id,
            host_id: agent.hostId,
            state_detail: why,
            failure_code: 'unsustainable',
            reason: why,
          },
        },
      ]);
    // Late samples and the host's report of the stop change only the stored log.
    await measured(10);
    agent.reportState(session.id, 'failed', {
      error: 'the app was killed',
      failure_code: 'app_crashed',
      app_log_tail: 'last words',
    });
    await expect.poll(() => agent.unseen).toBe(0);
    expect(await world.session(session.id)).toEqual({ ...failed, app_log_tail: 'last words' });
    expect(await world.slotsUsed(agent)).toBe(0);
    await expect.poll(() => world.activity('session.failed')).toHaveLength(1);
    expect(stops().filter((reason) => reason === 'unsustainable')).toHaveLength(1);
  });

  test('its slots are freed once: those of others stay booked', async () => {
    const other = await world.running(world.people.bob, await world.app());
    expect(await world.slotsUsed(agent)).toBe(2);
    await viewer('connected');
    await begins();
    await measured(180);
    await world.until(session.id, 'failed');
    await eventually('the host stopped it', () => (agent.sessions.has(session.id) ? undefined : true));
    await expect.poll(() => agent.unseen).toBe(0);
    expect(await world.slotsUsed(agent)).toBe(1);
    expect(await world.session(other.id)).toMatchObject({ state: 'running' });
  });

  test('the owner sees each change on the event stream, and the end', async () => {
    const seen: [string | undefined, string][] = [];
    const stream = await fetch(`${world.url}/v1/sessions/${session.id}/events`, {
      headers: { authorization: `Bearer ${world.people.alice.token}` },
    });
    const told = (async () => {
      let text = '';
      for await (const chunk of stream.body ?? []) text += Buffer.from(chunk).toString('utf8');
      for (const [, data] of text.matchAll(/^event: session\ndata: (.*)$/gm)) {
        const { session: now } = JSON.parse(data as string) as { session: Session };
        seen.push([now.health_state, now.state]);
      }
    })();
    await begins(ABOVE);
    await viewer('connected');
    await begins();
    await measured(180);
    await told;
    expect(seen).toEqual(
      expect.arrayContaining([
        ['healthy', 'running'],
        ['network_degrading', 'running'],
        ['abr_at_floor', 'running'],
      ]),
    );
    expect(seen.at(-1)).toEqual(['unsustainable', 'failed']);
  });

  test('without a viewer the session never ends', async () => {
    await begins();
    await measured(300);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
    await viewer('connected');
    await measured(175);
    expect(await shown()).toMatchObject({ state: 'running' });
    await measured(5);
    await world.until(session.id, 'failed');
  });

  test('the count pauses while no viewer is connected, and goes on with the next one', async () => {
    await viewer('connected');
    await begins();
    await measured(100);
    await viewer('disconnected');
    await measured(100);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
    await viewer('connected', 'pc-2');
    await measured(75);
    expect(await shown()).toMatchObject({ state: 'running' });
    await measured(5);
    await world.until(session.id, 'failed');
  });

  test('the late close of a replaced connection removes no viewer', async () => {
    await viewer('connected', 'pc-1');
    await begins();
    await viewer('connected', 'pc-2');
    await viewer('closed', 'pc-1');
    await measured(180);
    await world.until(session.id, 'failed');
  });

  test('one sample above the floor, and the count begins again', async () => {
    await viewer('connected');
    await begins();
    await measured(175);
    await measured(5, ABOVE);
    await begins();
    await measured(175);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
  });

  test('the floor is the one in force when it was measured', async () => {
    await begins({ abr_setpoint_kbps: 1_000, abr_floor_kbps: 999 });
    await measured(60, { abr_setpoint_kbps: 1_000, abr_floor_kbps: 999 });
    expect(await shown()).toMatchObject({ health_state: 'healthy' });
    await begins({ abr_setpoint_kbps: 3_000, abr_floor_kbps: 3_000 });
    await measured(30, { abr_setpoint_kbps: 3_000, abr_floor_kbps: 3_000 });
    expect(await shown()).toMatchObject({
      health_state: 'network_degrading',
      health_reason: 'not above the lowest rate of 3000 kbit/s for 30 s',
    });
  });

  test('the floor comes from the settings of the host at the launch, not from the present ones', async () => {
    agent.capacity = withSettings({ abr_floor_kbps: String(2 * FLOOR) });
    agent.send(agent.capacity);
    const stored = () =>
      world.plane.platform.database.db
        .selectFrom('hosts')
        .select('effective_settings')
        .executeTakeFirstOrThrow();
    await expect
      .poll(async () => (await stored()).effective_settings)
      .toContain(`"abr_floor_kbps":"${2 * FLOOR}"`);
    await begins(ABOVE);
    expect(await shown()).toMatchObject({ health_state: 'healthy' });
    const later = await world.running(world.people.bob, await world.app());
    agent.send(sample({ abr_setpoint_kbps: 2 * FLOOR }, { session_id: later.id }));
    await agent.heard();
    expect(await world.session(later.id)).not.toHaveProperty('health_state');
  });

  test('a link that breaks for longer than three windows begins the count again', async () => {
    await viewer('connected');
    agent.sessions.get(session.id)!.viewer = true;
    await begins();
    await measured(175);
    await agent.drop();
    await world.clock.pass(16 * SECOND_MS);
    await world.reconnect(agent);
    await begins();
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
    await measured(175);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
    // A viewer is still connected, as the registration reported.
    await measured(5);
    await world.until(session.id, 'failed');
  });

  test('a link that breaks for a moment does not; a viewer who left meanwhile counts no longer', async () => {
    await viewer('connected');
    await begins();
    await measured(175);
    await agent.drop();
    await world.reconnect(agent);
    await measured(60);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
    await viewer('connected');
    await measured(5);
    await world.until(session.id, 'failed');
  });

  test('after a restart of the control plane the count begins again, with the viewer who is there', async () => {
    await viewer('connected');
    agent.sessions.get(session.id)!.viewer = true;
    await begins();
    await measured(175);
    await world.plane.close();
    former.push(world);
    world = await openSessionsWorld(target, world);
    agent.options.url = world.url;
    await world.reconnect(agent);
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
    await begins();
    await measured(175);
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
    await measured(5);
    await world.until(session.id, 'failed');
  });

  test('samples that were kept over an outage are ignored', async () => {
    await viewer('connected');
    await begins();
    await measured(180, AT_FLOOR, { late: true });
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
  });

  test("another host's samples and viewers are ignored", async () => {
    const liar = await world.host('hostb');
    await viewer('connected', 'pc-1', liar);
    await begins();
    for (let n = 0; n < 40; n += 1) {
      await world.clock.pass(EVERY_MS);
      liar.send(sample(ABOVE));
      await liar.heard();
      agent.send(sample(AT_FLOOR));
      await agent.heard();
    }
    // 200 s at the floor: samples of the other host have not interrupted this time, and viewers of the other host were
    // not counted.
    expect(await shown()).toMatchObject({ state: 'running', health_state: 'abr_at_floor' });
  });

  test.each([
    ['a negative setpoint', { abr_setpoint_kbps: -1 }],
    ['a negative floor', { abr_setpoint_kbps: 0, abr_floor_kbps: -1 }],
    ['a setpoint that is no number', { abr_setpoint_kbps: true }],
    ['a floor in words', { abr_setpoint_kbps: FLOOR, abr_floor_kbps: 'high' }],
  ] as [string, AgentMetrics][])('%s was not measured', async (_what, metrics) => {
    await begins(metrics);
    await measured(60, metrics);
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
  });

  test('a session that is being stopped is stopped, however low its rate', async () => {
    await viewer('connected');
    await begins();
    await measured(175);
    agent.behaviour.answer = (command) => (command.type === 'session_stop' ? 'silence' : 'ok');
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await measured(5);
    expect(await shown()).toMatchObject({ state: 'stopping', health_state: 'unsustainable' });
    agent.reportState(session.id, 'stopped');
    expect(await world.until(session.id, 'stopped')).toMatchObject({
      end_reason: 'user_requested',
      error_message: null,
    });
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
    expect(await world.activity('session.failed')).toEqual([]);
  });

  test('a session that failed for another reason is failed, and says why', async () => {
    agent.reportState(session.id, 'failed', { error: 'no picture', failure_code: 'capture_failed' });
    expect(await world.until(session.id, 'failed')).toMatchObject({
      health_state: 'failed',
      health_reason: 'no picture',
    });
  });

  test('a session of a release that kept no floor is judged where its samples name one', async () => {
    await world.plane.platform.database.db
      .updateTable('sessions')
      .set({ stream_launch_floor_kbps: null })
      .execute();
    await world.plane.close();
    former.push(world);
    world = await openSessionsWorld(target, world);
    agent.options.url = world.url;
    await world.reconnect(agent);
    await begins();
    await measured(60);
    expect(await world.session(session.id)).not.toHaveProperty('health_state');
    await begins({ ...AT_FLOOR, abr_floor_kbps: FLOOR });
    await measured(30, { ...AT_FLOOR, abr_floor_kbps: FLOOR });
    expect(await shown()).toMatchObject({ health_state: 'network_degrading' });
  });
});
