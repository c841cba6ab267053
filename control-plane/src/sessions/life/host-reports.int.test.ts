import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { acceptedLaunch, silentTo } from '../testing/commands.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;

describeDatabases('what a host reports of a state', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const launched = () => acceptedLaunch(world);

  test('reports that come twice and in disorder end where they should', async () => {
    const agent = await world.host('hosta', { behaviour: { duplicate: true, reorder: true } });
    const session = await launched();
    await world.until(session.id, 'running');
    agent.behaviour.reorder = false;
    agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
    await world.until(session.id, 'stopped');
    expect(await world.slotsUsed(agent)).toBe(0);
  });

  test('a report of the start cannot undo a stop', async () => {
    const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
    const session = await world.running(world.people.alice, await world.app());
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    agent.reportState(session.id, 'running', { detail: 'app presented' });
    await eventually('the report was confirmed', async () => {
      await world.pass(1 * S, agent);
      return agent.unseen === 0 ? true : undefined;
    });
    expect(await world.session(session.id)).toMatchObject({
      state: 'stopping',
      state_detail: 'stop requested',
    });
  });

  test('an app that exits by itself ends as stopped with its log', async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    agent.reportState(session.id, 'stopped', { reason: 'app_exited', app_log_tail: 'bye' });
    expect(await world.until(session.id, 'stopped')).toMatchObject({
      end_reason: 'app_exited',
      app_log_tail: 'bye',
      error_message: null,
    });
  });

  test('a crash is audited once, as reported by the agent', async () => {
    const agent = await world.host('hosta', { behaviour: { duplicate: true } });
    const session = await world.running(world.people.alice, await world.app());
    agent.reportState(session.id, 'failed', {
      error: 'segfault',
      failure_code: 'app_crashed',
      app_log_tail: 'x',
    });
    await world.until(session.id, 'failed');
    await expect.poll(() => agent.unseen).toBe(0);
    await eventually('audited', async () =>
      (await world.activity('session.failed')).length > 0 ? true : undefined,
    );
    await expect
      .poll(() => world.activity('session.failed'))
      .toMatchObject([
        {
          details: {
            reason_source: 'agent',
            app_id: session.app_id,
            failure_code: 'app_crashed',
            reason: 'segfault',
          },
        },
      ]);
  });
});

describeDatabases('what a host reports of a running session', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('the newest metrics are shown while the session lives', async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    agent.send({
      type: 'session_metrics',
      session_id: session.id,
      ts: 77,
      window_ms: 5000,
      metrics: { fps: 59.5, live_write_stable: true, abr_mode: 'smooth' },
      app_launch_state: 'game_running',
    });
    const item = await eventually('metrics are listed', async () => {
      const [first] = await world.list();
      return first?.latest_metrics.agent === undefined ? undefined : first;
    });
    expect(item.latest_metrics.agent).toEqual({
      source: 'agent',
      ts_unix_ms: 77,
      metrics: { fps: 59.5, live_write_stable: 1 },
    });
    expect(item.app_launch_state).toBe('game_running');
  });

  test('idle_ends_at follows the reports of the host, and is absent before the first one', async () => {
    const agent = await world.host('hosta');
    const { id } = await world.running(world.people.alice, await world.app());
    expect(await world.session(id)).not.toHaveProperty('idle_ends_at');
    const says = async (idle_ends_in_s: number | null | undefined, late: boolean, ts: number) => {
      agent.send({
        type: 'session_metrics',
        session_id: id,
        ts,
        window_ms: 5000,
        metrics: { fps: ts },
        ...(idle_ends_in_s !== undefined && { idle_ends_in_s }),
        ...(late && { late: true }),
      });
      if (!late)
        await eventually('the sample is listed', async () => {
          const [item] = await world.list();
          return item?.latest_metrics.agent?.ts_unix_ms === ts ? true : undefined;
        });
      return world.session(id);
    };
    const inSecs = (seconds: number) => new Date(world.clock.nowMs() + seconds * 1000).toISOString();
    expect((await says(480, false, 1)).idle_ends_at).toBe(inSecs(480));
    expect((await says(3, true, 2)).idle_ends_at).toBe(inSecs(480));
    expect((await says(null, false, 3)).idle_ends_at).toBeNull();
    expect(await says(undefined, false, 4)).not.toHaveProperty('idle_ends_at');
    await says(1e9, false, 5);
    agent.send({
      type: 'session_trace_event',
      session_id: id,
      ts: 6,
      event: 'webrtc.state_changed',
      payload: { kind: 'connection', from: 'new', to: 'connected', pc: 'a' },
    });
    await eventually('a viewer came', async () =>
      (await world.session(id)).idle_ends_at === null ? true : undefined,
    );
  });

  test('negotiated_codec is what the viewer answered, from the first answer on', async () => {
    const agent = await world.host('hosta');
    const app = await world.app();
    const session = await world.running(world.people.alice, app);
    expect(session.negotiated_codec).toBeNull();
    const answered = (codec: string, { rejected = false, id = session.id } = {}) => ({
      type: 'session_trace_event' as const,
      session_id: id,
      ts: 1,
      event: 'sdp.answer_applied' as const,
      payload: { pc: 'x', m_lines: [{ mid: 'video', kind: 'video', codec, rejected }], rejected_count: 0 },
    });
    const codec = async (id = session.id) => (await world.session(id)).negotiated_codec;
    agent.report(answered('AV1', { rejected: true }));
    agent.report(answered('H265'));
    await expect.poll(codec).toBe('h265');
    agent.report(answered('AV1'));
    await expect.poll(codec).toBe('av1');
    // Reports of another host have no effect. Its report about its own session comes last, so both were handled.
    const stranger = await world.host('hostb');
    const theirs = await world.running(world.people.bob, app);
    expect(theirs.host_id).toBe(stranger.hostId);
    stranger.report(answered('VP8'));
    stranger.report(answered('H264', { id: theirs.id }));
    await expect.poll(() => codec(theirs.id)).toBe('h264');
    expect(await codec()).toBe('av1');
  });

  test("another host's metrics and reports change nothing", async () => {
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const stranger = await world.host('hostb');
    stranger.send({
      type: 'session_metrics',
      session_id: session.id,
      ts: 1,
      window_ms: 1,
      metrics: { fps: 1 },
    });
    stranger.report({
      type: 'session_state',
      session_id: session.id,
      ts: 1,
      state: 'failed',
      error: 'forged',
    });
    await expect.poll(() => stranger.unseen).toBe(0);
    expect(await world.session(session.id)).toMatchObject({ state: 'running', error_message: null });
    expect((await world.list())[0]?.latest_metrics).toEqual({});
  });

  test('hosts that report at once each change only their own sessions', async () => {
    const app = await world.app();
    const a = await world.host('hosta');
    const ofA = await world.running(world.people.alice, app);
    const b = await world.host('hostb');
    const ofB = await world.running(world.people.bob, app);
    expect([ofA.host_id, ofB.host_id]).toEqual([a.hostId, b.hostId]);
    const says = (agent: typeof a, { id }: typeof ofA, detail: string) =>
      agent.report({ type: 'session_state', session_id: id, ts: 1, state: 'running', detail });

    const seen = () => expect.poll(() => [a.unseen, b.unseen]).toEqual([0, 0]);
    says(a, ofA, 'the same text');
    says(b, ofB, 'the same text');
    await seen();
    says(a, ofA, 'newer');
    says(b, ofB, 'newer');
    says(a, ofA, 'newest');
    await seen();
    says(b, ofA, 'forged');
    says(b, ofB, 'newest');
    await seen();
    const texts = [await world.session(ofA.id), await world.session(ofB.id)].map((row) => row.state_detail);
    expect(texts).toEqual(['newest', 'newest']);
  });
});
