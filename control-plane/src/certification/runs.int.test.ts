import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { type FakeAgent, gpuCapacity } from '@footlight/test-harness';
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess, takeOverLease, UNKNOWN_ID } from '../testing/index.ts';
import { CERTIFICATION_SWEEP } from './service.ts';
import { CELL, refusal, useCertificationWorld } from './testing/world.ts';

describeDatabases('runs and results of an encoder certification', (databases) => {
  const { opened, ask, startCell, finalize, sweep, dwell } = useCertificationWorld(databases);
  let world: SessionsWorld;
  let host: FakeAgent;
  let base: string;
  beforeAll(() => {
    ({ world, host, base } = opened());
  });

  /** Sets the stored start of a run to an earlier time. */
  const age = (run_id: string, ms: number) =>
    world.plane.platform.database.db
      .updateTable('certification_runs')
      .set({ started_at: world.clock.nowMs() - ms })
      .where('id', '=', run_id)
      .execute();

  test('every route of an unknown host is 404', async () => {
    const at = `/v1/admin/hosts/${UNKNOWN_ID}/encoder-certification`;
    const curve = [{ n: 1, encode_ms_p95: 1, output_fps: 60 }];
    for (const answer of [
      ask('GET', at),
      ask('POST', `${at}/runs`),
      ask('GET', `${at}/runs/${UNKNOWN_ID}`),
      ask('POST', `${at}/runs/${UNKNOWN_ID}/complete`),
      startCell({}, at),
      finalize(UNKNOWN_ID, at),
      ask('GET', `${at}/concurrency`),
      ask('PUT', `${at}/concurrency`, { ...CELL, sessions: 1, curve }),
    ])
      expect(await refusal(answer)).toEqual([404, 'not_found']);
  });

  test('a run plans every rung of its profiles at every bitrate, and names the encoder of the host', async () => {
    const { status, body } = await ask('POST', `${base}/runs`);
    expect([status, body.encoder, body.gpu_index]).toEqual([201, 'openh264', 0]);
    const rungs = [...new Set(body.cells.map(({ stream_profile_id }: typeof CELL) => stream_profile_id))];
    expect(body.total_pts).toBe(rungs.length * 4);
    expect(body.cells).toHaveLength(body.total_pts);
    expect(body.cells.slice(0, 4).map(({ bitrate_kbps }: typeof CELL) => bitrate_kbps)).toEqual([
      4_000, 6_000, 8_000, 12_000,
    ]);
    expect(await world.activity('certification.run')).toContainEqual({
      target_id: host.hostId,
      actor_user_id: world.people.admin.id,
      details: { run_id: body.run_id, total_pts: body.total_pts },
    });
  });

  test('one run of a host at a time; a completed one makes room, and stays completed', async () => {
    const { run_id } = (await ask('POST', `${base}/runs`)).body;
    const second = await ask('POST', `${base}/runs`);
    expect([second.status, second.body.error]).toMatchObject([409, { code: 'conflict', run_id }]);
    const completed = await ask('POST', `${base}/runs/${run_id}/complete`);
    expect(completed.body).toMatchObject({ run_id, status: 'completed', error_message: null });
    await world.clock.pass(SECOND_MS);
    expect((await ask('POST', `${base}/runs/${run_id}/complete`)).body).toEqual(completed.body);
    expect((await ask('POST', `${base}/runs`)).status).toBe(201);
  });

  test.each([
    ['no cell', { profiles: ['nothing'] }],
    ['no bitrate', { bitrates_kbps: [] }],
    ['a bitrate of zero', { bitrates_kbps: [0] }],
    ['an unknown encoder', { encoder: 'x264' }],
  ])('a run with %s is refused', async (_what, body) => {
    expect(await refusal(ask('POST', `${base}/runs`, body))).toEqual([400, 'validation_failed']);
  });

  test('a run fails after two hours, and stays failed', async () => {
    const { run_id } = (await ask('POST', `${base}/runs`)).body;
    await age(run_id, 2 * HOUR_MS - 1);
    await sweep();
    expect((await ask('GET', `${base}/runs/${run_id}`)).body.status).toBe('running');
    await age(run_id, 2 * HOUR_MS);
    await sweep();
    const failed = { status: 'failed', error_message: 'bench run timed out' };
    expect((await ask('GET', `${base}/runs/${run_id}`)).body).toMatchObject(failed);
    expect((await ask('POST', `${base}/runs/${run_id}/complete`)).body).toMatchObject(failed);
  });

  // A second process would take the lease and do the work.
  describe('a former leader changes nothing', () => {
    async function loseLease(): Promise<void> {
      await sweep();
      await takeOverLease(world.plane.platform.database, CERTIFICATION_SWEEP);
    }

    ofOneProcess('a run that took too long stays', async () => {
      const { run_id } = (await ask('POST', `${base}/runs`)).body;
      await loseLease();
      await age(run_id, 2 * HOUR_MS);
      await sweep();
      expect((await ask('GET', `${base}/runs/${run_id}`)).body.status).toBe('running');
    });

    ofOneProcess('a cell that was not finalized in time stays', async () => {
      const { session_id } = (await startCell()).body;
      await loseLease();
      const { db } = world.plane.platform.database;
      const made = { created_at: world.clock.nowMs() - HOUR_MS };
      await db.updateTable('certification_cells').set(made).execute();
      await sweep();
      expect(await db.selectFrom('certification_cells').select('session_id').execute()).toEqual([
        { session_id },
      ]);
      expect(await world.session(session_id)).toMatchObject({ state: 'running' });
    });

    ofOneProcess('a bench session without a cell stays', async () => {
      const { session_id } = (await startCell()).body;
      await loseLease();
      const { db } = world.plane.platform.database;
      await db.deleteFrom('certification_cells').execute();
      const made = { created_at: world.clock.nowMs() - HOUR_MS };
      await db.updateTable('sessions').set(made).where('id', '=', session_id).execute();
      await sweep();
      expect(await world.session(session_id)).toMatchObject({ state: 'running' });
    });
  });

  test('a run that began while the clock was ahead ends when the clock is corrected', async () => {
    const ahead = 20 * HOUR_MS;
    world.clock.jump(ahead);
    const { run_id } = (await ask('POST', `${base}/runs`)).body;
    const [cell, stray] = [(await startCell()).body, (await startCell({ concurrent: true })).body];
    await world.plane.platform.database.db
      .deleteFrom('certification_cells')
      .where('session_id', '=', stray.session_id)
      .execute();
    world.clock.jump(-ahead);
    await sweep();
    expect((await ask('GET', `${base}/runs/${run_id}`)).body.status).toBe('failed');
    for (const { session_id } of [cell, stray]) await world.until(session_id, 'stopped');
    expect((await ask('POST', `${base}/runs`)).status).toBe(201);
  });

  test('a run fails when its host goes away', async () => {
    const other = await world.host('leaving-host');
    const at = `/v1/admin/hosts/${other.hostId}/encoder-certification`;
    const { run_id } = (await ask('POST', `${at}/runs`)).body;
    await other.drop();
    await world.offline(other);
    await world.clock.pass(SECOND_MS);
    const run = await eventually('the run fails', async () => {
      const { body } = await ask('GET', `${at}/runs/${run_id}`);
      return body.status === 'failed' ? body : undefined;
    });
    expect(run.error_message).toBe('host lost during bench');
  });

  test('a run is kept for thirty days', async () => {
    const { run_id } = (await ask('POST', `${base}/runs`)).body;
    await ask('POST', `${base}/runs/${run_id}/complete`);
    await age(run_id, 30 * DAY_MS - MINUTE_MS);
    await sweep();
    expect((await ask('GET', `${base}/runs/${run_id}`)).status).toBe(200);
    await age(run_id, 30 * DAY_MS + MINUTE_MS);
    await sweep();
    expect(await refusal(ask('GET', `${base}/runs/${run_id}`))).toEqual([404, 'not_found']);
  });

  test('the list is in order, and filters', async () => {
    const { db } = world.plane.platform.database;
    const row = (fields: object, n: number) => ({
      id: `00000000-0000-4000-8000-0000000001${String(n).padStart(2, '0')}`,
      host_id: host.hostId as string,
      gpu_index: 0,
      encoder: 'openh264' as const,
      profile_id: '720p60',
      stream_profile_id: '720p60-h264',
      width: 1280,
      height: 720,
      fps: 60,
      bitrate_kbps: 6_000,
      verdict: 'ok' as const,
      encode_ms_p50: 1,
      encode_ms_p95: 1,
      encode_ms_max: 1,
      output_fps: 60,
      drop_rate: 0,
      live_write_stable: 1 as const,
      sample_window_ms: 1,
      sample_count: 1,
      agent_version: '1',
      measured_at: world.clock.nowMs(),
      ...fields,
    });
    const rows = [
      { profile_id: '720p60', encoder: 'va' as const, bitrate_kbps: 4_000 },
      { profile_id: '720p60', gpu_index: 1 },
      { profile_id: '720p60', bitrate_kbps: 8_000 },
      { profile_id: '720p60', bitrate_kbps: 6_000 },
      { profile_id: '1080p60', stream_profile_id: '1080p60-h264', measured_at: world.clock.nowMs() - 61_000 },
    ];
    await db.insertInto('encoder_certifications').values(rows.map(row)).execute();
    const listed = async (query = '') =>
      (await ask('GET', `${base}${query}`)).body.certifications.map(({ id }: { id: string }) =>
        Number(id.slice(-2)),
      );
    expect(await listed()).toEqual([4, 3, 2, 0, 1]);
    expect(await listed('?gpu_index=1')).toEqual([1]);
    expect(await listed('?encoder=va')).toEqual([0]);
    expect(await listed('?profile_id=1080p60')).toEqual([4]);
    expect(await listed('?stream_profile_id=1080p60-h264')).toEqual([4]);
    expect(await listed('?max_age_s=60')).toEqual([3, 2, 0, 1]);
    for (const query of ['?gpu_index=x', '?gpu_index=-1', '?encoder=x264', '?max_age_s=1.5'])
      expect(await refusal(ask('GET', `${base}${query}`))).toEqual([400, 'validation_failed']);
  });

  test('how many sessions at once: filed, replaced, read', async () => {
    const point = (n: number, encode_ms_p95: number) => ({ n, encode_ms_p95, output_fps: 60 });
    const { stream_profile_id, ...rest } = CELL;
    const filed = {
      ...rest,
      stream_profile_id,
      sessions: 2,
      curve: [point(1, 5), point(2, 9), point(4, 21)],
    };
    expect((await ask('GET', `${base}/concurrency`)).body).toEqual({ host_id: host.hostId, items: [] });
    await ask('PUT', `${base}/concurrency`, { ...filed, sessions: 7 });
    const measured_at = new Date(world.clock.nowMs()).toISOString();
    expect(await ask('PUT', `${base}/concurrency`, filed)).toMatchObject({
      status: 200,
      body: { ...filed, measured_at },
    });
    await ask('PUT', `${base}/concurrency`, { ...filed, bitrate_kbps: 4_000 });
    expect((await ask('GET', `${base}/concurrency`)).body.items).toEqual([
      { ...filed, bitrate_kbps: 4_000, measured_at },
      { ...filed, measured_at },
    ]);
    for (const more of [
      { curve: [] },
      { curve: [point(2, 1), point(2, 1)] },
      { curve: [point(0, 1)] },
      { curve: Array.from({ length: 65 }, (_, i) => point(i + 1, 1)) },
      { sessions: -1 },
      { stream_profile_id: 'nothing' },
      { encoder: 'x264' },
    ])
      expect(await refusal(ask('PUT', `${base}/concurrency`, { ...filed, ...more }))).toEqual([
        400,
        'validation_failed',
      ]);
  });

  test('a deleted host leaves no rows', async () => {
    const gone = await world.host('deleted-host', { capacity: gpuCapacity(1) });
    const at = `/v1/admin/hosts/${gone.hostId}/encoder-certification`;
    const cell = { ...CELL, encoder: 'nvenc' };
    const { run_id } = (await ask('POST', `${at}/runs`)).body;
    const { session_id } = (await startCell({ encoder: 'nvenc' }, at)).body;
    await dwell(10, gone);
    expect((await finalize(session_id, at)).status).toBe(200);
    await world.until(session_id, 'stopped');
    const curve = [{ n: 1, encode_ms_p95: 1, output_fps: 60 }];
    await ask('PUT', `${at}/concurrency`, { ...cell, sessions: 1, curve });
    await ask('POST', `${at}/runs/${run_id}/complete`);
    await gone.drop();
    await world.offline(gone);
    expect((await ask('DELETE', `/v1/hosts/${gone.hostId}`)).status).toBe(204);
    const { db } = world.plane.platform.database;
    for (const table of [
      'encoder_certifications',
      'certification_runs',
      'certification_cells',
      'encoder_concurrency',
    ] as const) {
      const rows = await db
        .selectFrom(table)
        .select('host_id')
        .where('host_id', '=', gone.hostId as string)
        .execute();
      expect([table, rows]).toEqual([table, []]);
    }
  });
});
