import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { useStreamWorld } from '../testing/stream-world.ts';

/** Changes no value, but counts as an override, so no launch profile is chosen. */
const WITHOUT_PROFILE = { stream: { h264_profile: 'constrained-baseline' } };

describeDatabases('the tiers, where no launch profile is in force: the first that passes', (databases) => {
  const { world, db, named, somebody, launched } = useStreamWorld(databases);

  test.each([
    ['nothing was measured', null, '1080p60'],
    ['an empty measurement', {}, '1080p60'],
    ['25,000 kbit/s and 10 ms', { bandwidth_kbps: 25_000, rtt_ms: 10 }, '1080p60-lan'],
    ['24,999 kbit/s and 10 ms', { bandwidth_kbps: 24_999, rtt_ms: 10 }, '1080p60'],
    ['25,000 kbit/s and 11 ms', { bandwidth_kbps: 25_000, rtt_ms: 11 }, '1080p60'],
    ['25,000 kbit/s, the round trip not measured', { bandwidth_kbps: 25_000 }, '1080p60'],
    ['10 ms, the bandwidth not measured', { rtt_ms: 10 }, '1080p60'],
    ['12,000 kbit/s', { bandwidth_kbps: 12_000 }, '1080p60'],
    ['11,999 kbit/s', { bandwidth_kbps: 11_999 }, '720p60'],
    ['1,080 lines', { max_decode_height: 1_080 }, '1080p60'],
    ['1,079 lines', { max_decode_height: 1_079 }, '720p60'],
    ['8,000 kbit/s', { bandwidth_kbps: 8_000 }, '720p60'],
    ['7,999 kbit/s', { bandwidth_kbps: 7_999 }, '720p30'],
    ['100 kbit/s', { bandwidth_kbps: 100 }, '720p30'],
    ['99 kbit/s, which is no measurement', { bandwidth_kbps: 99 }, '1080p60'],
  ] as const)('%s', async (_measured, capabilities, tier) => {
    const { width, height, fps, kbps, floor, playout } = {
      '1080p60-lan': { width: 1920, height: 1080, fps: 60, kbps: 12_000, floor: 4_000, playout: 50 },
      '1080p60': { width: 1920, height: 1080, fps: 60, kbps: 8_000, floor: 2_500, playout: 50 },
      '720p60': { width: 1280, height: 720, fps: 60, kbps: 5_000, floor: 1_500, playout: 75 },
      '720p30': { width: 1280, height: 720, fps: 30, kbps: 3_000, floor: 1_000, playout: 100 },
    }[tier];
    const session = await launched(await somebody(capabilities), WITHOUT_PROFILE);
    expect(session).toMatchObject({
      profile_id: null,
      codec_decision: null,
      stream: { width, height, fps, bitrate_kbps: kbps, playout0_ms: playout, codec: 'h264' },
    });
    const row = await db()
      .selectFrom('sessions')
      .select('stream_abr_floor_kbps')
      .where('id', '=', session.id)
      .executeTakeFirstOrThrow();
    expect(row.stream_abr_floor_kbps).toBe(floor);
  });

  test("capped by the app's own numbers, which also bound a person's override and no administrator's", async () => {
    const small = { width: 1024, height: 576, fps: 25, bitrate_kbps: 2_000 };
    const modest = await world().app(
      Object.fromEntries(Object.entries(small).map(([name, value]) => [`default_${name}`, value])),
    );
    const wide = { stream: { width: 1920, height: 1080, fps: 60, bitrate_kbps: 9_000 } };
    expect((await launched(await somebody(null), WITHOUT_PROFILE, modest)).stream).toMatchObject(small);
    expect((await launched(await somebody(null), wide, modest)).stream).toMatchObject(small);
    const chief = await world().addPerson(named('chief'), 'admin');
    expect((await launched(chief, wide, modest)).stream).toMatchObject(wide.stream);
  });
});
