import { gunzipSync } from 'node:zlib';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { describeDatabases, UNKNOWN_ID } from '../../testing/index.ts';
import { sent, waitSent } from '../testing/commands.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const ACK_LIMIT_MS = 5_000;

describeDatabases('captures of a running session', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let appId: string;
  let id: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta');
    appId = await world.app();
    id = await world.runsOn(agent, world.people.alice, appId);
  });
  afterAll(() => world.close());
  afterEach(() => {
    agent.behaviour.answer = () => 'ok';
    agent.behaviour.capture = 'result';
  });

  const post = (body: unknown, session = id, as = world.people.admin) =>
    world.call(as, 'POST', `/v1/admin/sessions/${session}/capture`, { body });
  const refused = async (body: unknown, session = id) => {
    const answer = await post(body, session);
    return [answer.status, answer.body.error?.code];
  };
  const read = (captureId: string, session = id) =>
    world.call(world.people.admin, 'GET', `/v1/admin/sessions/${session}/captures/${captureId}`);
  const arrived = (captureId: string) =>
    eventually('the result has arrived', async () => {
      const answer = await read(captureId);
      return answer.status === 200 ? answer.body : undefined;
    });

  test('is accepted under a new id, ordered from the host, and noted', async () => {
    const answer = await post({ kind: 'log_tail' });
    expect(answer.status, answer.text).toBe(202);
    const { capture_id } = answer.body;
    expect(answer.body).toEqual({
      capture_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: 'log_tail',
      session_id: id,
      accepted_at: new Date(world.clock.nowMs()).toISOString(),
    });
    expect(sent(agent, 'session_capture', id).at(-1)).toMatchObject({
      capture_id,
      kind: 'log_tail',
      budget: { max_bytes: 262_144, max_ms: 10_000 },
      params: { lines: 200 },
    });
    expect(await world.activity('session.capture')).toContainEqual({
      target_id: id,
      actor_user_id: world.people.admin.id,
      details: { kind: 'log_tail', capture_id },
    });
    const result = await arrived(capture_id);
    expect(gunzipSync(Buffer.from(result.data, 'base64')).toString()).toContain('app started');
    expect({ ...result, data: '' }).toEqual({
      capture_id,
      kind: 'log_tail',
      ts_unix_ms: world.clock.nowMs(),
      encoding: 'gzip+base64',
      content_type: 'text/plain',
      data: '',
      bytes: 62,
      compressed_bytes: expect.any(Number),
      truncated: false,
      duration_ms: 1,
    });
  });

  test('brings JSON as JSON', async () => {
    const { body } = await post({ kind: 'encoder_props' });
    const result = await arrived(body.capture_id);
    expect(result).toMatchObject({ encoding: 'json', json: { encoder_factory: 'openh264enc' } });
    expect(result).not.toHaveProperty('data');
  });

  test('a failed one is read with its error', async () => {
    agent.behaviour.capture = { error: 'the worker ended, token=abc' };
    const { body } = await post({ kind: 'pipeline_dot' });
    const result = await arrived(body.capture_id);
    expect(result.error).toBe('the worker ended, token=[masked]');
    expect(result).not.toHaveProperty('json');
  });

  test.each([
    [{ kind: 'log_tail', params: { lines: 9_999 } }, { lines: 1_000 }],
    [{ kind: 'log_tail', params: { lines: -1 } }, { lines: 1 }],
    [
      { kind: 'burst_stats', params: { windows: 40, window_ms: 5_000 } },
      { windows: 10, window_ms: 1_000 },
    ],
    [{ kind: 'pipeline_dot', params: { lines: 'all' } }, {}],
  ])('%j is ordered with %j', async (body, params) => {
    expect((await post(body)).status).toBe(202);
    expect(sent(agent, 'session_capture', id).at(-1)).toMatchObject({ params });
  });

  describe('refusals, in this order', () => {
    test('malformed bodies, before the look-up', async () => {
      for (const body of [{ kind: 7 }, { kind: 'log_tail', params: [] }, { kind: 'log_tail', more: 1 }])
        expect(await refused(body, UNKNOWN_ID)).toEqual([400, 'validation_failed']);
    });

    test('an unknown session', async () => {
      expect(await refused({}, UNKNOWN_ID)).toEqual([404, 'not_found']);
    });

    test('no kind, and numbers that are not whole', async () => {
      const ended = await stoppedSession();
      expect(await refused({}, ended)).toEqual([400, 'validation_failed']);
      expect(await refused({ kind: '  ' }, ended)).toEqual([400, 'validation_failed']);
      expect(await refused({ kind: 'log_tail', params: { lines: 1.5 } }, ended)).toEqual([
        400,
        'validation_failed',
      ]);
    });

    test('a kind that is not known here', async () => {
      expect(await refused({ kind: 'screenshot' }, await stoppedSession())).toEqual([
        422,
        'capture_kind_unsupported',
      ]);
    });

    test('a session that does not run', async () => {
      expect(await refused({ kind: 'log_tail' }, await stoppedSession())).toEqual([
        409,
        'session_not_running',
      ]);
    });

    test('a host that is not connected', async () => {
      const away = await world.host('away');
      const onIt = await world.runsOn(away, world.people.alice, appId);
      await away.drop();
      await world.offline(away);
      expect(await refused({ kind: 'log_tail' }, onIt)).toEqual([503, 'agent_not_connected']);
    });

    test('an agent without captures', async () => {
      const older = await world.host('older', { features: ['swap'] });
      const onIt = await world.runsOn(older, world.people.alice, appId);
      expect(await refused({ kind: 'log_tail' }, onIt)).toEqual([501, 'capture_unsupported']);
      expect(sent(older, 'session_capture', onIt)).toEqual([]);
    });

    test.each([
      ['unknown_command', 501, 'capture_unsupported'],
      ['busy', 409, 'capture_busy'],
      ['unknown_kind', 422, 'capture_kind_unsupported'],
      ['unsupported', 422, 'capture_kind_unsupported'],
      ['no_such_session', 409, 'session_not_running'],
      ['internal', 409, 'conflict'],
    ] as const)('the host says %s', async (code, status, refusal) => {
      agent.behaviour.answer = () => ({ code });
      const before = (await world.activity('session.capture')).length;
      expect(await refused({ kind: 'log_tail' })).toEqual([status, refusal]);
      expect(await world.activity('session.capture')).toHaveLength(before);
    });

    test('the host does not answer within 5 s; the capture may still arrive', async () => {
      agent.behaviour.answer = (command) => (command.type === 'session_capture' ? 'silence' : 'ok');
      const count = sent(agent, 'session_capture', id).length;
      const asked = post({ kind: 'log_tail' });
      await waitSent(agent, 'session_capture', id, count + 1);
      await world.pass(ACK_LIMIT_MS, agent);
      const answer = await asked;
      expect([answer.status, answer.body.error?.code]).toEqual([503, 'agent_not_connected']);
      const command = sent(agent, 'session_capture', id).at(-1);
      if (command?.type !== 'session_capture') throw new Error('no capture was ordered');
      agent.endCapture(command);
      expect(await arrived(command.capture_id)).toMatchObject({ kind: 'log_tail' });
      expect((await world.activity('session.capture')).map(({ details }) => details)).toContainEqual({
        kind: 'log_tail',
        capture_id: command.capture_id,
      });
    });
  });

  describe('the result is not found', () => {
    test('before it arrives, and under an unknown id', async () => {
      agent.behaviour.capture = null;
      const { body } = await post({ kind: 'log_tail' });
      expect((await read(body.capture_id)).status).toBe(404);
      expect((await read(UNKNOWN_ID)).status).toBe(404);
    });

    test('in another session', async () => {
      const { body } = await post({ kind: 'log_tail' });
      await arrived(body.capture_id);
      const other = await world.runsOn(agent, world.people.bob, appId);
      expect((await read(body.capture_id, other)).status).toBe(404);
    });

    test('of a result that another host sends', async () => {
      agent.behaviour.capture = null;
      const { body } = await post({ kind: 'log_tail' });
      const stranger = await world.host('stranger');
      stranger.endCapture({ session_id: id, capture_id: body.capture_id, kind: 'log_tail' }, 'result');
      await eventually('it is handled', () => (stranger.unseen === 0 ? true : undefined));
      expect((await read(body.capture_id)).status).toBe(404);
    });

    test('of an event that is no result', async () => {
      const capture_id = UNKNOWN_ID;
      agent.report({
        type: 'session_trace_event',
        session_id: id,
        ts: world.clock.nowMs(),
        event: 'diag.log_tail',
        payload: { capture_id, kind: 'log_tail', data: 7 },
      });
      await eventually('it is stored', () => (agent.unseen === 0 ? true : undefined));
      expect((await read(capture_id)).status).toBe(404);
    });
  });

  test('a result that decompresses to much more is passed on unchanged', async () => {
    agent.behaviour.capture = null;
    const { body } = await post({ kind: 'log_tail' });
    // Compressed data that could expand to a very large text.
    const data = 'H4sIAAAAAAAA/'.padEnd(300_000, 'A');
    agent.report({
      type: 'session_trace_event',
      session_id: id,
      ts: world.clock.nowMs(),
      event: 'diag.log_tail',
      payload: {
        capture_id: body.capture_id,
        kind: 'log_tail',
        encoding: 'gzip+base64',
        content_type: 'text/plain',
        data,
        bytes: 1e9,
        compressed_bytes: 225_000,
        truncated: false,
        duration_ms: 0,
      },
    });
    expect((await arrived(body.capture_id)).data).toBe(data);
  });

  test('a person without the role gets no capture', async () => {
    expect((await post({ kind: 'log_tail' }, id, world.people.alice)).status).toBe(403);
  });

  async function stoppedSession(): Promise<string> {
    const session = await world.runsOn(agent, world.people.alice, appId);
    await world.plane.platform.database.db
      .updateTable('sessions')
      .set({ state: 'stopped', ended_at: world.clock.nowMs() })
      .where('id', '=', session)
      .execute();
    return session;
  }
});
