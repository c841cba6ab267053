import { DAY_MS } from '@footlight/platform';
import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { TOO_TALL, useStreamWorld } from '../testing/stream-world.ts';

describeDatabases('eligibility of a launch profile, by the newest measurement', (databases) => {
  const { world, db, somebody, oneRung, oneProfile, answered } = useStreamWorld(databases);

  const REFUSED = [409, 'profile_ineligible'] as const;
  const PLACED = [201, 'placed'] as const;

  test.each([
    [
      'bandwidth_too_low',
      { min_offer_bandwidth_kbps: 10_000 },
      { bandwidth_kbps: 9_999 },
      { bandwidth_kbps: 10_000 },
    ],
    ['rtt_too_high', { max_startup_rtt_ms: 40 }, { rtt_ms: 41 }, { rtt_ms: 40 }],
    [
      'decode_height_too_low',
      { min_decode_height: 720 },
      { max_decode_height: 719 },
      { max_decode_height: 720 },
    ],
    [
      'codec_not_supported',
      { codec: 'hevc' },
      { codecs: { hevc: 'yes' }, max_decode_height: 1_080 },
      { codecs: { hevc: true }, max_decode_height: 1_080 },
    ],
  ] as const)('hard: %s refuses, and its limit passes', async (_reason, rung, below, enough) => {
    const profile_id = await ('codec' in rung ? oneProfile([rung, TOO_TALL]) : oneRung(rung));
    expect(await answered(await somebody(below), { profile_id })).toEqual(REFUSED);
    expect(await answered(await somebody(enough), { profile_id })).toEqual(PLACED);
    expect(await answered(await somebody(null), { profile_id })).toEqual(PLACED);
  });

  test('hard: historical_client_performance_failed, of this device, for 30 days', async () => {
    const profile_id = await oneRung();
    const person = await somebody({ rtt_ms: 5 });
    const device = await db()
      .selectFrom('devices')
      .select('id')
      .where('user_id', '=', person.id)
      .executeTakeFirstOrThrow();
    const failed = (recorded_at: number) => ({
      device_id: device.id,
      launch_profile_id: profile_id,
      stream_profile_id: `${profile_id}-0`,
      codec: 'h264' as const,
      outcome: 'fail' as const,
      recorded_at,
    });
    const since = world().clock.nowMs() - 30 * DAY_MS;
    await db().insertInto('client_failures').values(failed(since)).execute();
    expect(await answered(person, { profile_id })).toEqual(REFUSED);
    expect(await answered(await somebody({ rtt_ms: 5 }), { profile_id })).toEqual(PLACED);
    await db()
      .updateTable('client_failures')
      .set({ recorded_at: since - 1 })
      .where('device_id', '=', device.id)
      .execute();
    expect(await answered(person, { profile_id })).toEqual(PLACED);
  });

  test.each([
    [
      'bandwidth below what is recommended',
      { recommended_offer_bandwidth_kbps: 10_000 },
      { bandwidth_kbps: 9_999 },
    ],
    ['browser_playout_unsupported', { browser_client: 'risky' }, { rtt_ms: 5 }],
    ['display_refresh_unknown', { high_refresh_display: 'required' }, { rtt_ms: 5 }],
    [
      'display_refresh_too_low',
      { high_refresh_display: 'required', fps: 120 },
      { display: { refresh_hz: 60 } },
    ],
  ] as const)('soft: %s is risky, and a risky launch is allowed', async (_reason, rung, measured) => {
    const person = await somebody(measured);
    const profile_id = await oneRung(rung);
    const offer = await world().call(person, 'GET', '/v1/me/profiles');
    const judged = offer.body.profiles.find(({ id }: { id: string }) => id === profile_id);
    expect(judged).toMatchObject({ eligibility: 'risky' });
    expect(await answered(person, { profile_id })).toEqual(PLACED);
  });

  test.each([
    ['top rung eligible', [{}, { codec: 'av1' }], PLACED],
    ['top ineligible but another passes', [{ codec: 'av1' }, {}], PLACED],
    ['none passes', [{ codec: 'av1' }, TOO_TALL], REFUSED],
  ] as const)('the profile: %s', async (_row, rungs, answer) => {
    const profile_id = await oneProfile(rungs);
    expect(await answered(await somebody({ max_decode_height: 1_080 }), { profile_id })).toEqual(answer);
  });

  test('an override does not bypass it, and administrators are exempt', async () => {
    const profile_id = await oneRung({ min_offer_bandwidth_kbps: 10_000 });
    const person = await somebody({ bandwidth_kbps: 5_000 });
    expect(await answered(person, { profile_id, stream: { bitrate_kbps: 500 } })).toEqual(REFUSED);
    await db().updateTable('users').set({ role: 'admin' }).where('id', '=', person.id).execute();
    expect(await answered(person, { profile_id })).toEqual(PLACED);
  });
});
