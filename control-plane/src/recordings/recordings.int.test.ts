import { request as httpRequest } from 'node:http';
import { systemRandom } from '@footlight/platform';
import type { ControlCommand, RecordingEvent } from '@footlight/protocol/agent';
import type { Session } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess, UNKNOWN_ID } from '../testing/index.ts';
import { MAX_OF_SESSION } from './freeze-rules.ts';

type Recording = Extract<ControlCommand, { type: 'session_recording' }>;

const DAY_MS = 24 * 60 * 60 * 1000;
const MIB = 1024 * 1024;
const FILE = Buffer.alloc(3 * MIB, 'a recording ');

describeDatabases('the flight recorder', ({ fresh }) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let appId: string;

  beforeEach(async () => {
    world = await openSessionsWorld(await fresh());
    agent = await world.host('host-a');
    appId = await world.app();
    await world.call(world.people.admin, 'PATCH', '/v1/admin/settings', {
      body: { flight_recorder_enabled: true },
    });
  });
  afterEach(() => world.close());

  const running = (): Promise<Session> => world.running(world.people.alice, appId);
  const path = (id: string, recordingId = '') =>
    `/v1/admin/sessions/${id}/recordings${recordingId === '' ? '' : `/${recordingId}`}`;
  const freeze = (id: string) => world.call(world.people.admin, 'POST', path(id));
  const list = async (id: string) => (await world.call(world.people.admin, 'GET', path(id))).body.items;
  const ordered = (op: Recording['op']): Recording[] =>
    agent.commands.filter(
      (command): command is Recording => command.type === 'session_recording' && command.op === op,
    );

  function tell(sessionId: string, payload: RecordingEvent, by = agent): void {
    by.report({
      type: 'session_trace_event',
      session_id: sessionId,
      ts: world.clock.nowMs(),
      event: 'session.recording',
      payload: { ...payload },
    });
  }

  /** A session with one recording that can be downloaded. */
  async function ready(): Promise<{ id: string; recordingId: string }> {
    const { id } = await running();
    const { body } = await freeze(id);
    const recordingId = body.recording_id as string;
    tell(id, { recording_id: recordingId, state: 'ready', bytes: FILE.length, duration_ms: 59_000 });
    await eventually('it is ready', async () => ((await list(id))[0]?.state === 'ready' ? true : undefined));
    return { id, recordingId };
  }

  interface Got {
    status: number;
    headers: Record<string, string | string[] | undefined>;
    bytes: Buffer;
    /** The connection ended before the whole body. */
    isCut: boolean;
  }

  /** A download over a real connection. @param onStart called with the answer, before its body is read */
  function get(
    id: string,
    recordingId: string,
    onStart: (end: () => void) => Promise<void> = async () => undefined,
  ): Promise<Got> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        new URL(path(id, recordingId), world.url),
        { headers: { authorization: `Bearer ${world.people.admin.token}` } },
        async (response) => {
          await onStart(() => request.destroy());
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', () => undefined);
          response.on('close', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes: Buffer.concat(chunks),
              isCut: !response.complete,
            }),
          );
        },
      );
      request.on('error', reject);
      request.end();
    });
  }

  interface Sent {
    by?: FakeAgent;
    bytes?: Buffer;
    headers?: Record<string, string | number>;
  }

  /** Begins the upload of a host. status: status of the answer; 0: the connection was closed. */
  function beginPut(recordingId: string, { by = agent, bytes = FILE, headers = {} }: Sent) {
    const request = httpRequest(new URL(`/v1/agent/recordings/${recordingId}`, world.url), {
      method: 'PUT',
      headers: { ...by.headers(), 'content-type': 'video/mp4', 'content-length': bytes.length, ...headers },
    });
    const status = new Promise<number>((resolve) => {
      request.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on('error', () => resolve(0));
    });
    return { request, status };
  }

  function put(recordingId: string, sent: Sent = {}): Promise<number> {
    const { request, status } = beginPut(recordingId, sent);
    request.end(sent.bytes ?? FILE);
    return status;
  }

  test('is off unless it is switched on, and shows in the session that it records', async () => {
    expect((await running()).stream.recording).toBe(true);
    const spec = agent.commands.find(({ type }) => type === 'session_assign');
    expect(spec).toMatchObject({ stream: { recorder: true } });
    await world.call(world.people.admin, 'PATCH', '/v1/admin/settings', {
      body: { flight_recorder_enabled: false },
    });
    const session = await running();
    expect(session.stream.recording).toBe(false);
    expect((await freeze(session.id)).body.error.code).toBe('conflict');
    expect(ordered('freeze')).toEqual([]);
  });

  test('keeps a minute: pending, then the result that the host reports', async () => {
    const { id } = await running();
    const answer = await freeze(id);
    expect([answer.status, answer.body.session_id]).toEqual([202, id]);
    const { recording_id } = answer.body;
    expect(ordered('freeze')).toMatchObject([{ session_id: id, recording_id }]);
    const made = { recording_id, session_id: id, state: 'pending' };
    expect(await list(id)).toMatchObject([{ ...made, bytes: null, duration_ms: null, error: null }]);
    expect((await get(id, recording_id)).status).toBe(409);
    tell(id, { recording_id, state: 'failed', error: 'the disk of the host has too little free space' });
    await eventually('it failed', async () => ((await list(id))[0].state === 'failed' ? true : undefined));
    expect((await list(id))[0].error).toBe('the disk of the host has too little free space');
    // A second result of the same recording changes nothing.
    tell(id, { recording_id, state: 'ready', bytes: 5, duration_ms: 5 });
    await agent.heard();
    expect((await list(id))[0].state).toBe('failed');
    expect((await get(id, recording_id)).status).toBe(409);
    expect(await world.activity('session.recording.freeze')).toMatchObject([
      { target_id: id, actor_user_id: world.people.admin.id, details: { recording_id } },
    ]);
  });

  test('accepts reports of the session’s host only', async () => {
    const other = await world.host('host-b');
    const { id } = await running();
    const mine = ordered('freeze').length;
    const { body } = await freeze(id);
    const holder = ordered('freeze').length > mine ? agent : other;
    const stranger = holder === agent ? other : agent;
    tell(id, { recording_id: body.recording_id, state: 'ready', bytes: 9, duration_ms: 9 }, stranger);
    await stranger.heard();
    expect((await list(id))[0].state).toBe('pending');
    // Report of the recording's own host, but with another session.
    const second = await running();
    tell(second.id, { recording_id: body.recording_id, state: 'ready', bytes: 9, duration_ms: 9 }, holder);
    await holder.heard();
    expect((await list(id))[0].state).toBe('pending');
  });

  test('a host that never reports the result: failed after ten minutes, and a late report still counts', async () => {
    const { id } = await running();
    const { body } = await freeze(id);
    await world.pass(10 * 60_000, agent);
    expect((await list(id))[0]).toMatchObject({ state: 'failed', error: 'The host said nothing about it.' });
    tell(id, { recording_id: body.recording_id, state: 'ready', bytes: 9, duration_ms: 9 });
    await eventually('it is ready', async () => ((await list(id))[0].state === 'ready' ? true : undefined));
  });

  test.each([
    ['busy', 409, 'conflict'],
    ['unsupported', 409, 'conflict'],
    ['no_such_session', 409, 'session_not_running'],
    ['unknown_command', 503, 'agent_not_connected'],
  ] as const)(
    'a host that answers %s to it: %i %s, and nothing is listed',
    async (code, status, expected) => {
      const { id } = await running();
      agent.behaviour.answer = ({ type }) => (type === 'session_recording' ? { code } : 'ok');
      const answer = await freeze(id);
      expect([answer.status, answer.body.error.code]).toEqual([status, expected]);
      expect(await list(id)).toEqual([]);
      expect(await world.activity('session.recording.freeze')).toEqual([]);
    },
  );

  test('codes in their order: role, path, session, state, host', async () => {
    const { id } = await running();
    const { alice, admin } = world.people;
    const code = async (as: typeof admin, at: string) => {
      const { status, body } = await world.call(as, 'POST', at);
      return [status, body.error.code];
    };
    expect(await code(alice, path(id))).toEqual([403, 'forbidden']);
    expect(await code(admin, path('x'))).toEqual([400, 'validation_failed']);
    expect(await code(admin, path(UNKNOWN_ID))).toEqual([404, 'not_found']);
    await agent.drop();
    await world.offline(agent);
    expect(await code(admin, path(id))).toEqual([503, 'agent_not_connected']);
    expect(await list(id)).toEqual([]);
  });

  test('two requests at once do not keep more than a session may have', async () => {
    const { id, host_id } = await running();
    const nowMs = world.clock.nowMs();
    await world.plane.platform.database.db
      .insertInto('session_recordings')
      .values(
        Array.from({ length: MAX_OF_SESSION - 1 }, (_, n) => ({
          id: systemRandom.uuid(),
          session_id: id,
          host_id: host_id ?? '',
          state: 'ready' as const,
          ...{ bytes: 1, duration_ms: 1, error: null },
          created_at: nowMs - n,
          expires_at: nowMs + 60_000,
        })),
      )
      .execute();
    const answers = await Promise.all([freeze(id), freeze(id), freeze(id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
  });

  test('a download passes the file through, as it is, and is written down', async () => {
    const { id, recordingId } = await ready();
    const got = get(id, recordingId);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    expect(await put(recordingId)).toBe(204);
    const { status, headers, bytes } = await got;
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'video/mp4',
      'cache-control': 'no-store',
      'content-length': String(FILE.length),
      'content-disposition': `attachment; filename="session-${id}-${recordingId}.mp4"`,
    });
    expect(bytes.equals(FILE)).toBe(true);
    expect(await world.activity('session.recording.download')).toMatchObject([
      {
        target_id: id,
        actor_user_id: world.people.admin.id,
        details: { recording_id: recordingId, bytes: FILE.length },
      },
    ]);
    const head = await world.call(world.people.admin, 'HEAD', path(id, recordingId));
    expect([head.status, ordered('upload').length]).toEqual([200, 1]);
  });

  test('nobody else gets it: users, other sessions, unknown ids, and nobody after a day', async () => {
    const { id, recordingId } = await ready();
    const other = await running();
    const statusOf = async (as: typeof world.people.admin, at: string) =>
      (await world.call(as, 'GET', at)).status;
    expect(await statusOf(world.people.alice, path(id, recordingId))).toBe(403);
    expect(await statusOf(world.people.admin, path(other.id, recordingId))).toBe(404);
    expect(await statusOf(world.people.admin, path(id, UNKNOWN_ID))).toBe(404);
    expect(await statusOf(world.people.admin, path(UNKNOWN_ID, recordingId))).toBe(404);
    const { db } = world.plane.platform.database;
    await db.updateTable('session_recordings').set({ expires_at: world.clock.nowMs() }).execute();
    expect(await list(id)).toEqual([]);
    expect(await statusOf(world.people.admin, path(id, recordingId))).toBe(404);
    expect(await put(recordingId)).toBe(401);
    await world.plane.platform.leader.runNow('recordings.retain');
    expect(await db.selectFrom('session_recordings').selectAll().execute()).toEqual([]);
    expect(ordered('upload')).toEqual([]);
  });

  test('its row lives for a day', async () => {
    const { id } = await ready();
    const [{ created_at, expires_at }] = await list(id);
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(DAY_MS);
  });

  test('a host sends only what it made and what somebody waits for', async () => {
    const { id, recordingId } = await ready();
    const stranger = await world.host('host-b');
    expect(await put(recordingId)).toBe(409);
    expect(await put(UNKNOWN_ID)).toBe(401);
    const wrong = { headers: { authorization: `Bearer ${'x'.repeat(43)}` } };
    expect(await put(recordingId, wrong)).toBe(401);
    const got = get(id, recordingId);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    expect(await put(recordingId, { by: stranger })).toBe(401);
    expect(await put(recordingId, { headers: { 'content-type': 'text/html' } })).toBe(400);
    expect(await put(recordingId, { bytes: Buffer.alloc(0) })).toBe(400);
    const tooLong = { headers: { 'content-length': 72 * 1024 * 1024 + 1 } };
    expect([413, 0]).toContain(await put(recordingId, tooLong));
    // After all these refused uploads, the right one is still accepted.
    expect(await put(recordingId)).toBe(204);
    expect((await got).bytes.equals(FILE)).toBe(true);
    expect(await put(recordingId)).toBe(409);
  });

  ofOneProcess('one reader at a time; the next one after it', async () => {
    const { id, recordingId } = await ready();
    const first = get(id, recordingId);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    expect((await get(id, recordingId)).status).toBe(409);
    expect(await put(recordingId)).toBe(204);
    expect((await first).bytes.length).toBe(FILE.length);
    const second = get(id, recordingId);
    await eventually('it is asked again', async () => (ordered('upload').length === 2 ? true : undefined));
    expect(await put(recordingId)).toBe(204);
    expect((await second).bytes.length).toBe(FILE.length);
  });

  test('nothing for 30 s: 503, and a later upload is refused', async () => {
    const { id, recordingId } = await ready();
    const got = get(id, recordingId);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    await world.pass(30_000, agent);
    expect((await got).status).toBe(503);
    expect(await put(recordingId)).toBe(409);
  });

  test('a reader that disconnects ends the upload of the host', async () => {
    const { id, recordingId } = await ready();
    const big = Buffer.alloc(60 * MIB);
    const cut = get(id, recordingId, async (end) => end()).catch(() => null);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    expect([0, 409]).toContain(await put(recordingId, { bytes: big }));
    await cut;
    // The transfer is completely removed, so another one can start.
    const again = get(id, recordingId);
    await eventually('it is asked again', async () => (ordered('upload').length === 2 ? true : undefined));
    expect(await put(recordingId)).toBe(204);
    expect((await again).bytes.equals(FILE)).toBe(true);
  });

  test('a reader that stands still for 30 s is cut off, and holds little of the file meanwhile', async () => {
    const { id, recordingId } = await ready();
    const big = Buffer.alloc(64 * MIB);
    const { request, status } = beginPut(recordingId, { bytes: big });
    let sent = 0;
    // Send one piece after another: data that the service does not read stays here, except in the kernel's buffers.
    const sendFrom = (at: number): void => {
      if (at === big.length) return void request.end();
      request.write(big.subarray(at, at + MIB), (error) => {
        if (error) return;
        sent = at + MIB;
        sendFrom(sent);
      });
    };
    let most = 0;
    let isOver = false;
    void status.then(() => {
      isOver = true;
    });
    const got = get(id, recordingId, async () => {
      while (most !== sent) {
        most = sent;
        await agent.heard();
      }
      await eventually('the host is cut off as well', async () => {
        await world.pass(30_000, agent);
        return isOver ? true : undefined;
      });
    });
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    sendFrom(0);
    expect((await got).isCut).toBe(true);
    expect([0, 409]).toContain(await status);
    expect(most).toBeLessThan(32 * MIB);
  });

  test('a host that stops in the middle cuts the reader off', async () => {
    const { id, recordingId } = await ready();
    const { request } = beginPut(recordingId, {});
    const got = get(id, recordingId, async () => void request.destroy());
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    request.write(FILE.subarray(0, 1_000_000));
    const { isCut, bytes } = await got;
    expect(isCut).toBe(true);
    expect(bytes.length).toBeLessThan(FILE.length);
  });

  test('a host that has it no more: 404; one that is busy with it: 409', async () => {
    const { id, recordingId } = await ready();
    for (const [code, status] of [
      ['no_such_recording', 404],
      ['busy', 409],
    ] as const) {
      agent.behaviour.answer = ({ type }) => (type === 'session_recording' ? { code } : 'ok');
      expect((await get(id, recordingId)).status).toBe(status);
    }
    expect(await world.activity('session.recording.download')).toEqual([]);
  });

  // Without an error listener the error of an unread stream would end the process, which the test runner would report.
  test('a host that refuses while it sends, and then goes away, does no harm', async () => {
    const { id, recordingId } = await ready();
    agent.behaviour.ackDelayMs = 500;
    agent.behaviour.answer = ({ type }) => (type === 'session_recording' ? { code: 'busy' } : 'ok');
    const got = get(id, recordingId);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    // The second upload is refused, which shows that the first one was accepted.
    const sent = [beginPut(recordingId, {}), beginPut(recordingId, {})];
    for (const { request } of sent) request.write(FILE.subarray(0, 1_000));
    expect(await Promise.race(sent.map(({ status }) => status))).toBe(409);
    await world.pass(500, agent);
    expect((await got).status).toBe(409);
    for (const { request } of sent) request.destroy();
    await Promise.all(sent.map(({ status }) => status));
    agent.behaviour.ackDelayMs = 0;
    agent.behaviour.answer = () => 'ok';
    const again = get(id, recordingId);
    await eventually('it is asked again', async () => (ordered('upload').length === 2 ? true : undefined));
    expect(await put(recordingId)).toBe(204);
    expect((await again).bytes.equals(FILE)).toBe(true);
  });

  test('a host that disconnects before the download is logged does no harm', async () => {
    const { id, recordingId } = await ready();
    const { request, status } = beginPut(recordingId, {});
    const record = vi.spyOn(world.plane.platform.activity, 'record').mockImplementation(async () => {
      request.destroy();
      await status;
      // An answer to another request shows that the service has seen the end of this one.
      await agent.heard();
      await list(id);
    });
    const got = get(id, recordingId).catch(() => null);
    await eventually('the host is asked', async () => (ordered('upload').length === 1 ? true : undefined));
    request.write(FILE.subarray(0, 1_000));
    const answer = await got;
    expect(answer?.status === 200 && !answer.isCut).toBe(false);
    record.mockRestore();
    const again = get(id, recordingId);
    await eventually('it is asked again', async () => (ordered('upload').length === 2 ? true : undefined));
    expect(await put(recordingId)).toBe(204);
    expect((await again).bytes.equals(FILE)).toBe(true);
  });

  ofOneProcess(
    'a failure, a note and a verdict keep the last minute by themselves, at most once a minute',
    async () => {
      const { id } = await running();
      const note = () =>
        world.call(world.people.admin, 'POST', `/v1/admin/sessions/${id}/trace/annotations`, {
          body: { label: 'it froze' },
        });
      await note();
      await eventually('it is kept', async () => (ordered('freeze').length === 1 ? true : undefined));
      await note();
      await world.call(world.people.admin, 'GET', `/v1/admin/sessions/${id}/verdict`);
      await agent.heard();
      expect(ordered('freeze').length).toBe(1);
      await world.pass(60_000, agent);
      agent.reportState(id, 'failed', { failure_code: 'media_worker_crashed', error: 'gone' });
      await eventually('it is kept again', async () => (ordered('freeze').length === 2 ? true : undefined));
      const actors = async () =>
        (await world.activity('session.recording.freeze')).map(({ actor_user_id }) => actor_user_id);
      await expect.poll(actors).toEqual(expect.arrayContaining([world.people.admin.id, null]));
      // Requested manually within the ten minutes.
      expect((await freeze(id)).status).toBe(202);
      await world.pass(10 * 60_000, agent);
      expect((await freeze(id)).body.error.code).toBe('session_not_running');
    },
  );

  ofOneProcess(
    'a bad verdict of the last minute keeps it, for administrators and once in ten minutes',
    async () => {
      const { id } = await running();
      const hide = () =>
        world.call(world.people.alice, 'POST', `/v1/sessions/${id}/stats`, {
          body: {
            client: 'browser',
            samples: [3, 2, 1].map((secondsAgo) => ({
              ts_unix_ms: world.clock.nowMs() - secondsAgo * 1_000,
              metrics: { is_hidden: true, rtt_ms: 10 },
            })),
          },
        });
      const verdict = async (as: typeof world.people.admin, at: string) =>
        (await world.call(as, 'GET', at)).body.verdict;
      const asAdmin = `/v1/admin/sessions/${id}/verdict`;
      await hide();
      expect(await verdict(world.people.alice, `/v1/sessions/${id}/verdict`)).toBe(
        'indeterminate_client_hidden',
      );
      await agent.heard();
      expect(ordered('freeze')).toEqual([]);
      expect(await verdict(world.people.admin, asAdmin)).toBe('indeterminate_client_hidden');
      await eventually('it is kept', async () => (ordered('freeze').length === 1 ? true : undefined));
      await world.pass(9 * 60_000, agent);
      await hide();
      expect(await verdict(world.people.admin, asAdmin)).toBe('indeterminate_client_hidden');
      await agent.heard();
      expect(ordered('freeze').length).toBe(1);
      await world.pass(60_000, agent);
      const aMinuteAgo = `?to=${world.clock.nowMs() - 60_000}`;
      expect(await verdict(world.people.admin, `${asAdmin}${aMinuteAgo}`)).toBe(
        'indeterminate_client_hidden',
      );
      await agent.heard();
      expect(ordered('freeze').length).toBe(1);
      expect(await verdict(world.people.admin, asAdmin)).toBe('indeterminate_client_hidden');
      await eventually('it is kept again', async () => (ordered('freeze').length === 2 ? true : undefined));
    },
  );

  test('a verdict of an ordinary session keeps nothing, and neither does the failure of one that is not recorded', async () => {
    const { id } = await running();
    expect(
      (await world.call(world.people.admin, 'GET', `/v1/admin/sessions/${id}/verdict`)).body.verdict,
    ).toBe('unknown');
    await world.call(world.people.admin, 'PATCH', '/v1/admin/settings', {
      body: { flight_recorder_enabled: false },
    });
    const plain = await running();
    agent.reportState(plain.id, 'failed', { failure_code: 'app_crashed', error: 'gone' });
    await world.until(plain.id, 'failed');
    await agent.heard();
    expect(ordered('freeze')).toEqual([]);
  });
});
