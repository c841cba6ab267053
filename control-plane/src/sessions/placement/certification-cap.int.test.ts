import { randomUUID } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeDatabases, type Person } from '../../testing/index.ts';
import { useStreamWorld } from '../testing/stream-world.ts';

describeDatabases('the certification cap', (databases) => {
  const { world, catalog, host, db, named, somebody, launched } = useStreamWorld(databases);

  const RUNG = '1080p60-h264';
  const certified = (fields: object = {}) => ({
    id: randomUUID(),
    host_id: host().hostId as string,
    gpu_index: 0,
    encoder: 'openh264' as const,
    profile_id: '1080p60',
    stream_profile_id: RUNG,
    width: 1920,
    height: 1080,
    fps: 60,
    bitrate_kbps: 8_000,
    verdict: 'unsafe' as 'ok' | 'capped' | 'unsafe',
    encode_ms_p50: 20,
    encode_ms_p95: 30,
    encode_ms_max: 40,
    output_fps: 30,
    drop_rate: 1,
    live_write_stable: 1 as 0 | 1,
    sample_window_ms: 19_000,
    sample_count: 19,
    agent_version: '1',
    measured_at: world().clock.nowMs(),
    ...fields,
  });
  const NEAR = { verdict: 'ok', bitrate_kbps: 8_500 };
  const FAR = { verdict: 'unsafe', bitrate_kbps: 4_000 };
  const later = (ms: number) => () => ({ measured_at: world().clock.nowMs() + ms });
  beforeAll(async () => {
    await db().updateTable('gpus').set({ reported: 0 }).where('gpu_index', '>', 0).execute();
  });
  afterAll(async () => {
    await db().updateTable('gpus').set({ reported: 1 }).execute();
  });
  afterEach(async () => {
    await db().deleteFrom('encoder_certifications').execute();
  });
  /** The profile that is served when 1080p60 is requested. */
  const served = async (rows: object[], request: object = {}, as?: Person) => {
    for (const row of rows) await db().insertInto('encoder_certifications').values(certified(row)).execute();
    const session = await launched(as ?? (await somebody(null)), { profile_id: '1080p60', ...request });
    return session.profile_id;
  };

  test.each([
    ['unsafe', [{}], '720p60'],
    [
      'capped, and its rate cannot be changed while it runs',
      [{ verdict: 'capped', live_write_stable: 0 }],
      '720p60',
    ],
    ['capped, and its rate can', [{ verdict: 'capped' }], '1080p60'],
    ['ok', [{ verdict: 'ok' }], '1080p60'],
    ['the closest bitrate counts: ok nearby', [NEAR, FAR], '1080p60'],
    [
      'the closest bitrate counts: unsafe nearby',
      [
        { ...NEAR, verdict: 'unsafe' },
        { ...FAR, verdict: 'ok' },
      ],
      '720p60',
    ],
    ['another GPU', [{ gpu_index: 1 }], '1080p60'],
    ['another encoder', [{ encoder: 'va' }], '1080p60'],
    ['another rung', [{ stream_profile_id: '720p60-h264' }], '1080p60'],
  ] as const)('%s', async (_row, rows, profile) => {
    expect(await served([...rows])).toBe(profile);
  });

  test.each([
    [
      'of two that are as close, the newest',
      [
        [{ bitrate_kbps: 7_000, verdict: 'ok' }, 0],
        [{ bitrate_kbps: 9_000 }, 1],
      ],
      '720p60',
    ],
    [
      'of two that are as close, not the older',
      [
        [{ bitrate_kbps: 7_000, verdict: 'ok' }, 1],
        [{ bitrate_kbps: 9_000 }, 0],
      ],
      '1080p60',
    ],
    ['measured 7 days ago', [[{}, -7 * DAY_MS]], '720p60'],
    ['measured longer ago', [[{}, -7 * DAY_MS - 1]], '1080p60'],
  ] as [string, [object, number][], string][])('%s', async (_row, rows, profile) => {
    expect(await served(rows.map(([row, ms]) => ({ ...row, ...later(ms)() })))).toBe(profile);
  });

  test('one hop only, though the next is unsafe too', async () => {
    expect(await served([{}, { stream_profile_id: '720p60-h264', bitrate_kbps: 4_500 }])).toBe('720p60');
  });

  test('a profile outside the order stays as it is', async () => {
    const profile_id = named('profile');
    await catalog().profile(profile_id, [RUNG]);
    expect(await served([{}], { profile_id })).toBe(profile_id);
  });

  test('an override does not bypass it, and is cut again to the new rung', async () => {
    const person = await somebody(null);
    await db().insertInto('encoder_certifications').values(certified()).execute();
    const session = await launched(person, {
      profile_id: '1080p60',
      stream: { width: 1920, height: 1080 },
    });
    expect(session).toMatchObject({
      profile_id: '720p60',
      stream_profile_id: '720p60-h264',
      stream: { width: 1280, height: 720 },
    });
  });

  test('an administrator is served what they ask for', async () => {
    expect(await served([{}], {}, await world().addPerson(named('chief'), 'admin'))).toBe('1080p60');
  });
});
