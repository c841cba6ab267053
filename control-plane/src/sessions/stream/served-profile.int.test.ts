import { randomUUID } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { useLaunchWorld } from '../testing/launch-world.ts';

describeDatabases('what a launch serves, stores and shows', (databases) => {
  const given = useLaunchWorld(databases);
  const { db, probe, launch, refused } = given;

  test('the first rung that host and device support, within the bandwidth of the line', async () => {
    await probe({ bandwidth_kbps: 5_000, rtt_ms: 20, codecs: { av1: true } });
    const { body } = await launch({ profile_id: 'alpha' });
    expect(body.session).toMatchObject({
      profile_id: 'alpha',
      stream_profile_id: 'alpha-av1',
      stream: { codec: 'av1', bitrate_kbps: 3_500, playout0_ms: 75 },
      codec_decision: { result_rung: 'alpha-av1', result_codec: 'av1', floor: false },
    });
    const assigned = () =>
      given.hostA.commands.find(
        (command) => command.type === 'session_assign' && command.session_id === body.session.id,
      );
    await expect
      .poll(assigned)
      .toMatchObject({ stream: { codec: 'av1', bitrate_kbps: 3_500, playout0_ms: 75 } });
    expect((await given.world.session(body.session.id)).codec_decision).toEqual(body.session.codec_decision);
  });

  test('a rung that the device failed with is skipped, for 30 days', async () => {
    await probe({ codecs: { av1: true } });
    const { id } = await db()
      .selectFrom('devices')
      .select('id')
      .where('user_id', '=', given.alice.id)
      .executeTakeFirstOrThrow();
    const failure = {
      device_id: id,
      launch_profile_id: 'another',
      stream_profile_id: 'alpha-av1',
      codec: 'av1' as const,
      outcome: 'fail' as const,
      recorded_at: given.world.clock.nowMs() - 30 * DAY_MS,
    };
    await db().insertInto('client_failures').values(failure).execute();
    const first = await launch({ profile_id: 'alpha' });
    expect(first.body.session).toMatchObject({
      stream_profile_id: 'alpha-h264',
      codec_decision: { considered: [{ rejected_by: 'decode_history' }, { selected: true }] },
    });
    await db()
      .updateTable('client_failures')
      .set({ recorded_at: failure.recorded_at - 1 })
      .where('device_id', '=', id)
      .execute();
    expect((await launch({ profile_id: 'alpha' })).body.session.stream_profile_id).toBe('alpha-av1');
  });

  test("a person's override is cut to the rung, an administrator's is not", async () => {
    const stream = { width: 3840, height: 2160, fps: 30 };
    const mine = await launch({ profile_id: 'alpha', stream });
    expect(mine.body.session.stream).toMatchObject({ width: 1280, height: 720, fps: 30 });
    const theirs = await launch({ profile_id: 'alpha', stream }, given.app, given.admin);
    expect(theirs.body.session.stream).toMatchObject(stream);
  });

  test('an override without a profile is bound by the app, and no rung is in force', async () => {
    const { body } = await launch({ stream: { width: 3840, height: 2160, bitrate_kbps: 500 } });
    expect(body.session).toMatchObject({
      profile_id: null,
      stream_profile_id: null,
      codec_decision: null,
      stream: { width: 1920, height: 1080, bitrate_kbps: 500 },
    });
  });

  test('a codec that no rung has is 400; one that the host lacks is 409 and leaves no rows', async () => {
    const used = await given.world.slotsUsed(given.hostA);
    expect(await refused({ profile_id: 'alpha', stream: { codec: 'h265' } })).toEqual([
      400,
      'validation_failed',
    ]);
    expect(await refused({ profile_id: '1080p60', stream: { codec: 'h265' } })).toEqual([409, 'conflict']);
    expect(await given.world.slotsUsed(given.hostA)).toBe(used);
    const sessions = await db()
      .selectFrom('sessions')
      .selectAll()
      .where('user_id', '=', given.alice.id)
      .execute();
    expect(sessions).toEqual([]);
  });

  test('a measured encoder that is too slow: one profile lower, for people', async () => {
    const certification = {
      id: randomUUID(),
      host_id: given.hostA.hostId as string,
      gpu_index: 0,
      encoder: 'openh264' as const,
      profile_id: '1080p60',
      stream_profile_id: '1080p60-h264',
      width: 1920,
      height: 1080,
      fps: 60,
      bitrate_kbps: 6_000,
      verdict: 'unsafe' as const,
      encode_ms_p50: 20,
      encode_ms_p95: 30,
      encode_ms_max: 40,
      output_fps: 30,
      drop_rate: 1,
      live_write_stable: 1 as const,
      sample_window_ms: 19_000,
      sample_count: 19,
      agent_version: '1',
      measured_at: given.world.clock.nowMs(),
    };
    await db().insertInto('encoder_certifications').values(certification).execute();
    const again = db()
      .insertInto('encoder_certifications')
      .values({ ...certification, id: randomUUID() });
    await expect(again.execute()).rejects.toThrow();
    expect((await launch()).body.session).toMatchObject({
      profile_id: '720p60',
      stream_profile_id: '720p60-h264',
      stream: { width: 1280, bitrate_kbps: 4_500 },
    });
    expect((await launch({}, given.app, given.admin)).body.session.profile_id).toBe('1080p60');
    await db().deleteFrom('encoder_certifications').execute();
  });
});
