import { randomBytes, randomUUID } from 'node:crypto';
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { Capture, DiagnosticBundle } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld } from '../../sessions/testing/world.ts';
import { describeDatabases, UNKNOWN_ID } from '../../testing/index.ts';

const MIB = 1024 * 1024;

describeDatabases('the diagnostic bundle of a session', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let appId: string;
  let id: string;
  let startMs: number;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta');
    appId = await world.app();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    id = await world.runsOn(agent, world.people.alice, appId);
    startMs = world.clock.nowMs();
    await world.pass(2 * MINUTE_MS, agent);
  });

  const ask = (query = '', session = id, as = world.people.admin) =>
    world.call(as, 'GET', `/v1/admin/sessions/${session}/diagnostic-bundle${query}`);
  const bundle = async (query = ''): Promise<DiagnosticBundle> => {
    const answer = await ask(query);
    expect(answer.status, answer.text).toBe(200);
    return JSON.parse(answer.text);
  };
  const post = async (what: string, body: unknown) =>
    expect(
      (await world.call(world.people.alice, 'POST', `/v1/sessions/${id}/${what}`, { body })).status,
    ).toBe(202);
  const report = (event: string, payload: Record<string, unknown>) =>
    agent.report({
      type: 'session_trace_event',
      session_id: id,
      ts: world.clock.nowMs(),
      event: event as 'encoder.stall',
      payload,
    });
  const stored = () => eventually('all is stored', () => (agent.unseen === 0 ? true : undefined));

  async function captured(kind: string): Promise<Capture> {
    const order = await world.call(world.people.admin, 'POST', `/v1/admin/sessions/${id}/capture`, {
      body: { kind },
    });
    return eventually('the capture has arrived', async () => {
      const { capture_id } = order.body;
      const url = `/v1/admin/sessions/${id}/captures/${capture_id}`;
      const answer = await world.call(world.people.admin, 'GET', url);
      return answer.status === 200 ? answer.body : undefined;
    });
  }

  test('is one JSON document to save', async () => {
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="session-${id}-bundle.json"`,
      'cache-control': 'no-store',
    });
    expect(Object.keys(JSON.parse(answer.text))).toEqual([
      ...['format', 'generated_at', 'trace', 'window', 'clock', 'series', 'events', 'derived_windows'],
      ...['classifier', 'captures'],
    ]);
  });

  test('is empty for a session without data', async () => {
    expect(await bundle()).toEqual({
      format: 1,
      generated_at: new Date(world.clock.nowMs()).toISOString(),
      trace: {
        session_id: id,
        host_id: agent.hostId,
        profile_id: null,
        started_at: new Date(startMs).toISOString(),
        ended_at: null,
        first_frame_ms: null,
      },
      window: { from_ms: world.clock.nowMs() - 5 * MINUTE_MS, to_ms: world.clock.nowMs() },
      clock: { unmeasured: true },
      series: {},
      events: [],
      derived_windows: {
        hitches: [],
        abr_downshifts: [],
        encoder_saturation: [],
        likely_network_congestion: [],
      },
      classifier: expect.objectContaining({ verdict: 'unknown' }),
      captures: [],
    });
  });

  test('equals the trace, the derived windows and the verdict of the same window', async () => {
    const at = (seconds: number) => startMs + seconds * SECOND_MS;
    for (const [n, abr_setpoint_kbps] of [8_000, 6_000, 6_500].entries())
      agent.send({
        type: 'session_metrics',
        session_id: id,
        ts: at(30 + 5 * n),
        window_ms: 5_000,
        metrics: { fps: 20, encode_ms_p95: 40 + n, abr_setpoint_kbps },
      });
    await agent.heard();
    await post('stats', {
      samples: [30, 31, 32].map((second) => ({
        ts_unix_ms: at(second),
        metrics: { present_interval_sd_ms: 30 + second, rtt_ms: 90, packets_lost: second * 10 },
      })),
    });
    report('encoder.stall', { phase: 'detected', reason: 'no_output', since_ms: 1_200 });
    await stored();
    const query = `?from=${startMs}&to=${at(120)}`;
    const made = await bundle(query);
    expect(made.derived_windows).toEqual({
      hitches: [{ from_ms: at(30), to_ms: at(32), present_interval_sd_ms: 62 }],
      abr_downshifts: [{ ts_unix_ms: at(35), from_kbps: 8_000, to_kbps: 6_000 }],
      encoder_saturation: [{ from_ms: at(30), to_ms: at(40), encode_ms_p95: 42 }],
      likely_network_congestion: [
        { from_ms: startMs, to_ms: at(120), packets_lost_delta: 20, rtt_ms_p95: 90 },
      ],
    });
    const read = async (path: string) =>
      (await world.call(world.people.admin, 'GET', `/v1/admin/sessions/${id}/${path}${query}`)).body;
    expect(made.classifier).toEqual(await read('verdict'));
    const { session_id, ...trace } = await read('trace');
    expect(session_id).toBe(id);
    expect(made).toMatchObject(trace);
    expect(made.events).toHaveLength(1);
  });

  test('has the first picture, the clock, and the dropped times', async () => {
    await post('trace/clock', { client_offset_ms: 10.5, uncertainty_ms: 2 });
    const pictured = (ts_unix_ms: number, since_launch_ms: number) => ({
      ts_unix_ms,
      type: 'client.first_frame',
      payload: { since_load_ms: 1, since_launch_ms },
    });
    await post('trace/events', { events: [pictured(startMs + 900, 99_000), pictured(startMs + 400, 1_480)] });
    await post('stats', { samples: [{ ts_unix_ms: Math.round(startMs / 1_000), metrics: {} }] });
    await post('stats', {
      samples: [
        { ts_unix_ms: 0, metrics: {} },
        { ts_unix_ms: -5, metrics: {} },
      ],
    });
    const made = await bundle();
    expect(made.trace.first_frame_ms).toBe(1_480);
    expect(made.clock).toMatchObject({ client_offset_ms: 10.5, uncertainty_ms: 2 });
    expect(made.ingest).toMatchObject({ rejected_ts: 3 });
  });

  describe('captures', () => {
    test('are all there, newest first, whatever the window', async () => {
      const first = await captured('log_tail');
      await world.pass(20 * MINUTE_MS, agent);
      const second = await captured('encoder_props');
      expect((await bundle(`?from=${startMs}&to=${startMs + 2 * MINUTE_MS}`)).captures).toEqual([
        second,
        first,
      ]);
    });

    test('beyond 32 MiB lose their results, oldest first; 200 at most', async () => {
      await addLargeCaptures(205, 300_000);
      const answer = await ask();
      expect(answer.text.length).toBeLessThanOrEqual(32 * MIB);
      expect(answer.text.length).toBeGreaterThan(31 * MIB);
      const { captures } = JSON.parse(answer.text) as DiagnosticBundle;
      expect(captures).toHaveLength(200);
      expect(captures.map(({ duration_ms }) => duration_ms)).toEqual(
        Array.from({ length: 200 }, (_, n) => 204 - n),
      );
      const kept = captures.filter(({ data }) => data !== undefined).length;
      expect(captures.map(({ data }) => data !== undefined)).toEqual(captures.map((_, n) => n < kept));
      expect(captures.map(({ omitted }) => omitted === true)).toEqual(captures.map((_, n) => n >= kept));
    });

    test('of another session are not there', async () => {
      await captured('log_tail');
      id = await world.runsOn(agent, world.people.alice, appId);
      expect((await bundle()).captures).toEqual([]);
    });
  });

  test('holds no tokens, secrets, clipboard, input, environment values or SDP', async () => {
    const canary = () => `Canary${randomBytes(24).toString('base64url')}0aZ`;
    const secrets = Array.from({ length: 12 }, canary);
    let used = 0;
    const secret = () => secrets[used++ % secrets.length] as string;
    const sdp = (): string =>
      `v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\na=ice-pwd:${secret()}\r\na=fingerprint:sha-256 CA:NA:RY`;
    const everywhere = () => ({
      ...{ sdp: sdp(), token: secret(), clipboard: 'canary-clip', text: `password=${secret()}` },
      ...{ keys: 'canary-typed', env: { API_KEY: 'canary-env' }, debug: sdp(), reason: `Bearer ${secret()}` },
    });
    for (const type of ['encoder.stall', 'sdp.answer_applied', 'host.xid', 'transport.peer_disconnected'])
      report(type, { ...everywhere(), m_lines: [everywhere()], error: sdp() });
    report('of.a.newer.agent', everywhere());
    report('diag.encoder_props', {
      capture_id: randomUUID(),
      kind: 'encoder_props',
      encoding: 'json',
      content_type: 'application/json',
      json: { properties: { bitrate: 1, note: sdp(), token: 'canary-env' }, caps: [`token=${secret()}`] },
      bytes: 1,
      compressed_bytes: 1,
      truncated: false,
      duration_ms: 0,
      error: `failed with api_key=${secret()}`,
    });
    await stored();
    await post('trace/events', {
      events: ['client.first_frame', 'bench.window', 'webrtc.state_changed'].map((type) => ({
        ts_unix_ms: world.clock.nowMs(),
        type,
        payload: everywhere(),
      })),
    });
    const { text } = await ask();
    expect(JSON.parse(text).events).toHaveLength(9);
    expect(JSON.parse(text).captures).toHaveLength(1);
    for (const canary of [...secrets, 'canary', 'CA:NA:RY', 'v=0', 'ice-pwd'])
      expect(text).not.toContain(canary);
  });

  test('of an unknown session is 404, and people without the role get none', async () => {
    expect((await ask('', UNKNOWN_ID)).status).toBe(404);
    expect((await ask('', id, world.people.alice)).status).toBe(403);
  });

  async function addLargeCaptures(count: number, bytes: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const payload = JSON.stringify({
        capture_id: randomUUID(),
        kind: 'log_tail',
        encoding: 'gzip+base64',
        content_type: 'text/plain',
        data: 'A'.repeat(bytes),
        bytes,
        compressed_bytes: bytes,
        truncated: false,
        duration_ms: n,
      });
      await world.plane.platform.database.db
        .insertInto('session_trace_events')
        .values({
          host_id: agent.hostId as string,
          boot_id: id,
          seq: n,
          session_id: id,
          source: 'agent',
          ts_unix_ms: startMs + n,
          type: 'diag.log_tail',
          payload,
          is_capture: 1,
          received_at: startMs + n,
        })
        .execute();
    }
  }
});
