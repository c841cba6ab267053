import { randomUUID } from 'node:crypto';
import { type FakeAgent, honest } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Answer, describeDatabases, type Person } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

/** Requests a profile, so that the launch size is 1920×1080; the recommended profile would depend on the host. */
const LAUNCHED = { profile_id: '1080p60' };
const RUNG = { stream_width: 1280, stream_height: 720 };

describeDatabases('PATCH /v1/sessions/{id}/display', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let alice: Person;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    alice = world.people.alice;
    agent = await world.host('hosta');
  });
  afterEach(async () => {
    Object.assign(agent.behaviour, honest);
    for (const { id } of await world.list('?state=active')) {
      await world.call(alice, 'DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
    }
  });
  afterAll(() => world.close());

  const display = (as: Person, id: string, body: unknown): Promise<Answer> =>
    world.call(as, 'PATCH', `/v1/sessions/${id}/display`, { body });
  const refusal = ({ status, body }: Answer) => [status, body.error?.code];
  const updates = (id: string) =>
    agent.commands.filter(
      (command) => command.type === 'session_display_update' && command.session_id === id,
    );
  /** The host reports its abilities together with its metrics. */
  async function reports(id: string, metrics: Record<string, string | number | boolean>) {
    agent.send({
      type: 'session_metrics',
      session_id: id,
      ts: world.clock.nowMs(),
      window_ms: 5_000,
      metrics,
    });
    await eventually('the figures are there', async () => {
      const [row] = await world.list('?state=active');
      return row?.latest_metrics.agent === undefined ? undefined : true;
    });
  }

  test('202 once the host has done it; the picture is pinned, and the launch size stays what it was', async () => {
    const session = await world.running(alice, await world.app(), LAUNCHED);
    const change = { render_width: 1280, render_height: 720, ui_scale: 1.5, ...RUNG };
    const answer = await display(alice, session.id, change);
    expect([answer.status, answer.body.session.stream]).toMatchObject([
      202,
      { width: 1920, height: 1080, external_width: 1280, external_height: 720, external_owner: 'pinned' },
    ]);
    expect(updates(session.id)).toMatchObject([change]);
  });

  test('the launch size releases it: auto', async () => {
    const session = await world.running(alice, await world.app(), LAUNCHED);
    await display(alice, session.id, RUNG);
    const answer = await display(alice, session.id, { stream_width: 1920, stream_height: 1080 });
    expect(answer.body.session.stream).toMatchObject({ external_width: 1920, external_owner: 'auto' });
  });

  test('an administrator may, another user may not', async () => {
    const session = await world.running(alice, await world.app());
    expect((await display(world.people.admin, session.id, { ui_scale: 2 })).status).toBe(202);
    for (const id of [session.id, randomUUID()])
      expect(refusal(await display(world.people.bob, id, {}))).toEqual([403, 'forbidden']);
    expect(refusal(await display(world.people.admin, randomUUID(), {}))).toEqual([404, 'not_found']);
  });

  test.each([
    ['text for a number', { render_width: '1280' }],
    ['null', { render_width: null }],
    ['a fraction for an integer', { render_width: 1279.5, render_height: 720 }],
    ['a fraction in a stream size', { stream_width: 1280, stream_height: 720.5 }],
    ['a boolean', { ui_scale: true }],
    ['an unknown key', { width: 1280 }],
    ['no object', []],
    ['malformed JSON', '{"ui_scale": 2'],
  ])('%s: 400 before the session is looked for or its state is judged', async (_what, body) => {
    const { id } = await world.running(alice, await world.app());
    await world.call(alice, 'DELETE', `/v1/sessions/${id}`);
    await world.until(id, 'stopped');
    for (const target of [id, randomUUID()])
      expect(refusal(await display(alice, target, body))).toEqual([400, 'validation_failed']);
  });

  test('a session that does not run is 409 before its values are judged', async () => {
    agent.behaviour.launch = [{ state: 'starting', detail: 'starting display' }];
    const { body } = await world.launch(alice, await world.app());
    await world.until(body.session.id, 'starting');
    expect(refusal(await display(alice, body.session.id, {}))).toEqual([409, 'session_not_running']);
  });

  test('a host that said it cannot: 409 before the values, for a stream size alone', async () => {
    const session = await world.running(alice, await world.app());
    await reports(session.id, { external_owner: 'auto', external_resize_supported: false });
    expect((await world.session(session.id)).stream).toMatchObject({ external_resize_supported: false });
    for (const body of [RUNG, { stream_width: 1 }])
      expect(refusal(await display(alice, session.id, body))).toEqual([409, 'external_resize_unsupported']);
    expect((await display(alice, session.id, { ui_scale: 2 })).status).toBe(202);
  });

  test.each([
    ['nothing is asked for', {}],
    ['half a pair', { render_width: 1280 }],
    ['no rung', { stream_width: 1366, stream_height: 768 }],
    ['a scale out of bounds', { ui_scale: 4 }],
  ])('%s: 400, and the host gets no command', async (_what, body) => {
    const session = await world.running(alice, await world.app());
    expect(refusal(await display(alice, session.id, body))).toEqual([400, 'validation_failed']);
    expect(updates(session.id)).toEqual([]);
  });

  test('the host refuses: 409, and nothing is shown as changed', async () => {
    const session = await world.running(alice, await world.app());
    agent.behaviour.answer = ({ type }) =>
      type === 'session_display_update'
        ? { code: 'display_update_rejected', error: 'the encoder cannot change its size' }
        : 'ok';
    const answer = await display(alice, session.id, RUNG);
    expect(refusal(answer)).toEqual([409, 'display_update_rejected']);
    expect(answer.body.error.message).toContain('the encoder cannot change its size');
    expect((await world.session(session.id)).stream).not.toHaveProperty('external_width');
  });

  test('no ack within 5 s: 409', async () => {
    const session = await world.running(alice, await world.app());
    agent.behaviour.answer = ({ type }) => (type === 'session_display_update' ? 'silence' : 'ok');
    const answer = display(alice, session.id, RUNG);
    await eventually('it was sent', () => (updates(session.id).length > 0 ? true : undefined));
    await world.pass(5_000, agent);
    expect(refusal(await answer)).toEqual([409, 'display_update_rejected']);
  });

  test.each([
    ['display', { ui_scale: 2 }],
    ['stream_resize', RUNG],
  ])('a host without the feature %s is not asked: 409 at once', async (missing, body) => {
    agent.options.features = ['process_runtime', 'display', 'stream_resize'].filter(
      (name) => name !== missing,
    );
    await agent.drop();
    await world.reconnect(agent);
    const session = await world.running(alice, await world.app());
    expect(refusal(await display(alice, session.id, body))).toEqual([409, 'display_update_rejected']);
    expect(updates(session.id)).toEqual([]);
    delete (agent.options as { features?: unknown }).features;
    await agent.drop();
    await world.reconnect(agent);
  });

  test('a host that is away: 409', async () => {
    const session = await world.running(alice, await world.app());
    await agent.drop();
    expect(refusal(await display(alice, session.id, RUNG))).toEqual([409, 'display_update_rejected']);
    await world.reconnect(agent);
  });
});
