import { DAY_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { Session } from '@footlight/protocol/rest';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { beforeAll, expect, test } from 'vitest';
import { BENCH_USER_ID } from '../platform/database/migrations/0001-first/certification.ts';
import { eventually, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases, UNKNOWN_ID } from '../testing/index.ts';
import { refusal, useCertificationWorld } from './testing/world.ts';

describeDatabases('cells of an encoder certification', (databases) => {
  const { opened, ask, startCell, finalize, liveCells, sweep, dwell } = useCertificationWorld(databases);
  let world: SessionsWorld;
  let host: FakeAgent;
  let base: string;
  let app: string;
  beforeAll(() => {
    ({ world, host, base, app } = opened());
  });

  test('a cell holds its rung and bitrate on its GPU, and its app draws all over at the frame rate', async () => {
    const { status, body } = await startCell({ encoder: 'openh264', bitrate_kbps: 4_321 });
    expect([status, body]).toEqual([
      201,
      {
        session_id: expect.any(String),
        host_id: host.hostId,
        profile_id: expect.any(String),
        stream_profile_id: '720p60-h264',
        codec: 'h264',
        bitrate_kbps: 4_321,
        width: 1280,
        height: 720,
        fps: 60,
        budget_ms: 1000 / 60,
        signaling_url: expect.stringMatching(/^ws:\/\/.*\/v1\/signal$/),
        signaling_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    const assigned = host.commands.find(
      (command) => command.type === 'session_assign' && command.session_id === body.session_id,
    );
    expect(assigned).toMatchObject({
      user_id: BENCH_USER_ID,
      gpu_index: 0,
      encoder: 'openh264',
      bench: { budget_ms: 1000 / 60, live_write_probe: true },
      idle_timeout_secs: 0,
      app_boot_timeout_secs: 0,
      video_topology: 'stream_only',
      resources: { encode_slots: 1 },
      app: {
        env: {
          FOOTLIGHT_DIAGNOSTICS_FPS: '60',
          FOOTLIGHT_DIAGNOSTICS_KBPS: '4321',
          FOOTLIGHT_DIAGNOSTICS_MOTION: 'full',
        },
      },
      stream: {
        width: 1280,
        height: 720,
        fps: 60,
        bitrate_kbps: 4_321,
        codec: 'h264',
        h264_profile: 'constrained-baseline',
      },
    });
    const session = (await world.session(body.session_id)) as Session;
    expect(session).toMatchObject({ state: 'running', stream_profile_id: '720p60-h264' });
  });

  test('a finalized cell is a row, counts in the run, and is stopped', async () => {
    const run = await ask('POST', `${base}/runs`, { profiles: ['720p60-h264'], bitrates_kbps: [6_000] });
    expect([run.status, run.body]).toMatchObject([
      201,
      {
        host_id: host.hostId,
        status: 'running',
        total_pts: 1,
        encoder: 'openh264',
        gpu_index: 0,
        cells: [{ stream_profile_id: '720p60-h264', codec: 'h264', bitrate_kbps: 6_000 }],
      },
    ]);
    const { session_id, profile_id } = (await startCell()).body;
    await dwell();
    const { status, body } = await finalize(session_id);
    // The test encoder encodes 0.9216 megapixels at 400 megapixels per second, plus 15 % for the bitrate.
    const ms = (0.9216 / 400) * 1_000 * 1.15;
    expect([status, body]).toEqual([
      200,
      {
        session_id,
        profile_id,
        stream_profile_id: '720p60-h264',
        codec: 'h264',
        bitrate_kbps: 6_000,
        verdict: 'ok',
        encode_ms_p50: expect.closeTo(ms, 6),
        encode_ms_p95: expect.closeTo(ms, 6),
        encode_ms_max: expect.closeTo(ms, 6),
        output_fps: 60,
        drop_rate: 0,
        live_write_stable: true,
        sample_count: 18,
      },
    ]);
    const { body: listed } = await ask('GET', base);
    const { session_id: _, codec: __, ...figures } = body;
    expect(listed).toEqual({
      host_id: host.hostId,
      certifications: [
        {
          id: expect.any(String),
          gpu_index: 0,
          encoder: 'openh264',
          width: 1280,
          height: 720,
          fps: 60,
          ...figures,
          sample_window_ms: 17_000,
          agent_version: '0.0.0-fake',
          measured_at: new Date(world.clock.nowMs()).toISOString(),
        },
      ],
    });
    expect(await world.until(session_id, 'stopped')).toMatchObject({ end_reason: 'cert bench complete' });
    const read = await ask('GET', `${base}/runs/${run.body.run_id}`);
    expect(read.body).toMatchObject({
      status: 'running',
      completed_pts: 1,
      summary_ok: 1,
      summary_unsafe: 0,
    });
    expect(await refusal(finalize(session_id))).toEqual([404, 'not_found']);
  });

  test('a newer verdict on the same rung and bitrate replaces the older one, and keeps its id', async () => {
    const rows = [];
    for (const slower of [1, 40]) {
      const { bench } = host.behaviour;
      host.behaviour.bench = (cell, second, atOnce) => bench(cell, second, atOnce * slower);
      const { session_id } = (await startCell()).body;
      await dwell(10);
      await finalize(session_id);
      await world.until(session_id, 'stopped');
      host.behaviour.bench = bench;
      rows.push((await ask('GET', base)).body.certifications);
    }
    const [[before], [after, ...more]] = rows as [
      { id: string; verdict: string }[],
      { id: string; verdict: string }[],
    ];
    expect([before?.verdict, after?.verdict, more]).toEqual(['ok', 'unsafe', []]);
    expect(after?.id).toBe(before?.id);
  });

  test('without usable samples nothing is stored, and the cell is over', async () => {
    const { session_id } = (await startCell()).body;
    await dwell(7);
    const { status, body } = await finalize(session_id);
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      'conflict',
      expect.stringContaining('no usable samples'),
    ]);
    expect((await ask('GET', base)).body.certifications).toEqual([]);
    expect(await world.until(session_id, 'stopped')).toMatchObject({ end_reason: 'cert bench complete' });
    expect(await refusal(finalize(session_id))).toEqual([404, 'not_found']);
  });

  test('one cell at a time, unless it says that it may run with others', async () => {
    const first = (await startCell()).body.session_id;
    expect(await refusal(startCell())).toEqual([409, 'conflict']);
    const second = (await startCell({ concurrent: true })).body.session_id;
    expect((await liveCells()).map(({ id }) => id).sort()).toEqual([first, second].sort());
    await dwell();
    await finalize(first);
    expect(await refusal(startCell())).toEqual([409, 'conflict']);
    await finalize(second);
    expect((await startCell()).status).toBe(201);
  });

  test('of ten cells that start at once, one runs', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => startCell()));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
    expect(await liveCells()).toHaveLength(1);
  });

  test('a cell whose session ended by itself does not keep the next one away', async () => {
    const { session_id } = (await startCell()).body;
    host.reportState(session_id, 'failed', { failure_code: 'encoder_failed', error: 'by script' });
    await world.until(session_id, 'failed');
    expect((await startCell()).status).toBe(201);
  });

  test.each([
    ['neither rung nor profile', { stream_profile_id: undefined }, 400, 'validation_failed'],
    ['an unknown rung', { stream_profile_id: 'nothing' }, 400, 'validation_failed'],
    ['an unknown profile', { stream_profile_id: undefined, profile_id: 'x' }, 400, 'validation_failed'],
    ['an unknown encoder', { encoder: 'x264' }, 400, 'validation_failed'],
    ['no bitrate', { bitrate_kbps: 0 }, 400, 'validation_failed'],
    ['a negative GPU', { gpu_index: -1 }, 400, 'validation_failed'],
    ['an unknown key', { more: 1 }, 400, 'validation_failed'],
    ['a GPU that is not there', { gpu_index: 3 }, 409, 'conflict'],
    ['an encoder that the host does not have', { encoder: 'nvenc' }, 409, 'conflict'],
    ['a codec that it does not encode', { stream_profile_id: '1080p60-hevc' }, 409, 'conflict'],
  ] as const)('%s', async (_what, more, status, code) => {
    expect(await refusal(startCell(more))).toEqual([status, code]);
    expect(await liveCells()).toEqual([]);
  });

  test('a host that reports no encoders is judged by its codecs', async () => {
    const { encoders: _, ...without } = softwareCapacity({ codecs: ['h264'] });
    const old = await world.host('old-host', { capacity: without });
    const at = `/v1/admin/hosts/${old.hostId}/encoder-certification`;
    expect(await refusal(startCell({ stream_profile_id: '1080p60-hevc' }, at))).toEqual([409, 'conflict']);
    expect((await startCell({}, at)).status).toBe(201);
  });

  test('a profile without a rung means its first H.264 rung', async () => {
    const { status, body } = await startCell({ stream_profile_id: undefined, profile_id: '1080p60' });
    expect([status, body.profile_id, body.codec, body.height]).toEqual([201, '1080p60', 'h264', 1080]);
  });

  test('without an app for measurements nothing starts; a disabled one does not count', async () => {
    await ask('PATCH', `/v1/apps/${app}`, { enabled: false });
    const { status, body } = await startCell();
    await ask('PATCH', `/v1/apps/${app}`, { enabled: true });
    expect([status, body.error.message]).toEqual([409, expect.stringContaining('named Diagnostics')]);
    expect((await startCell()).status).toBe(201);
  });

  test('a cell that does not reach running is stopped, and the caller gets the reason', async () => {
    const { launch } = host.behaviour;
    host.behaviour.launch = [{ state: 'starting', detail: 'starting display' }];
    const answer = startCell();
    try {
      await eventually('starts', async () =>
        (await liveCells())[0]?.state === 'starting' ? true : undefined,
      );
      await world.pass(120 * SECOND_MS, host);
      const { status, body } = await answer;
      expect([status, body.error.code]).toEqual([409, 'conflict']);
    } finally {
      host.behaviour.launch = launch;
    }
    expect(await liveCells()).toEqual([]);
    expect((await startCell()).status).toBe(201);
  });

  test('the refusal of a cell by the agent is reported with its reason', async () => {
    const { answer } = host.behaviour;
    host.behaviour.answer = ({ type }) =>
      type === 'session_assign' ? { code: 'encoder_unavailable', error: 'no encoder by script' } : 'ok';
    const { status, body } = await startCell();
    host.behaviour.answer = answer;
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      'conflict',
      expect.stringContaining('no encoder by script'),
    ]);
  });

  test('a full host has no room', async () => {
    const answers = [];
    for (let i = 0; i < 9; i += 1) answers.push((await startCell({ concurrent: true })).status);
    expect(answers).toEqual([...Array<number>(8).fill(201), 409]);
  });

  test('a cell that nobody finalizes is stopped after ten minutes', async () => {
    const { session_id } = (await startCell()).body;
    await world.pass(10 * MINUTE_MS - SECOND_MS, host);
    await sweep();
    expect((await world.session(session_id)).state).toBe('running');
    await world.pass(SECOND_MS, host);
    await sweep();
    expect(await world.until(session_id, 'stopped')).toMatchObject({ end_reason: 'cert bench timeout' });
    expect(await refusal(finalize(session_id))).toEqual([404, 'not_found']);
  });

  test('a session that no cell waits for is stopped', async () => {
    const { session_id } = (await startCell()).body;
    await world.plane.platform.database.db.deleteFrom('certification_cells').execute();
    await sweep();
    expect((await world.session(session_id)).state).toBe('running');
    await world.pass(MINUTE_MS, host);
    await sweep();
    await world.until(session_id, 'stopped');
  });

  test('an offline or draining host is not measured', async () => {
    const other = await world.host('drained-host');
    const at = `/v1/admin/hosts/${other.hostId}/encoder-certification`;
    await ask('POST', `/v1/hosts/${other.hostId}/drain`, {});
    expect(await refusal(startCell({}, at))).toEqual([409, 'conflict']);
    expect(await refusal(ask('POST', `${at}/runs`, {}))).toEqual([409, 'conflict']);
    await other.drop();
    await world.offline(other);
    expect(await refusal(startCell({}, at))).toEqual([409, 'conflict']);
  });

  test('the cells of another host are not this one’s', async () => {
    const other = await world.host('other-host');
    const at = `/v1/admin/hosts/${other.hostId}/encoder-certification`;
    const { session_id } = (await startCell()).body;
    expect(await refusal(finalize(session_id, at))).toEqual([404, 'not_found']);
    expect(await refusal(finalize(UNKNOWN_ID))).toEqual([404, 'not_found']);
    expect((await world.session(session_id)).state).toBe('running');
  });

  test('the account of the cells is hidden: it cannot log in, be changed or be deleted', async () => {
    const { items } = (await ask('GET', '/v1/users?limit=1000')).body;
    expect(items.map(({ id }: { id: string }) => id)).not.toContain(BENCH_USER_ID);
    for (const [method, body] of [
      ['PATCH', { disabled: true }],
      ['DELETE', undefined],
    ] as const)
      expect(await refusal(ask(method, `/v1/users/${BENCH_USER_ID}`, body))).toEqual([404, 'not_found']);
    for (const email of ['encoder-certification', 'encoder-certification@example.org']) {
      const login = await world.call(null, 'POST', '/v1/auth/login', { body: { email, password: '' } });
      expect([400, 401]).toContain(login.status);
    }
  });

  test('launches follow the verdict: an unsafe rung is served one profile lower', async () => {
    const game = await world.app({ name: 'Game', default_width: 1920, default_height: 1080 });
    const person = await world.addPerson('player');
    const served = async () => {
      const { id, profile_id } = await world.running(person, game, { profile_id: '1080p60' });
      await ask('DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
      return profile_id;
    };
    expect(await served()).toBe('1080p60');
    const { bench } = host.behaviour;
    host.behaviour.bench = (cell, second, atOnce) => bench(cell, second, 5 * atOnce);
    const { session_id } = (await startCell({ stream_profile_id: '1080p60-h264', bitrate_kbps: 8_000 })).body;
    await dwell();
    expect((await finalize(session_id)).body.verdict).toBe('unsafe');
    host.behaviour.bench = bench;
    expect(await served()).toBe('720p60');
    const { db } = world.plane.platform.database;
    const measured_at = world.clock.nowMs() - 7 * DAY_MS - MINUTE_MS;
    await db.updateTable('encoder_certifications').set({ measured_at }).execute();
    expect(await served()).toBe('1080p60');
  });
});
