import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { ROOMY_MPIXEL_S, useLaunchWorld } from '../testing/launch-world.ts';

describeDatabases('the checks of the profile of a launch', (databases) => {
  const given = useLaunchWorld(databases);
  const { db, as, policy, probe, launch, refused } = given;

  test('refuses a choice where the app forces its profile', async () => {
    const forced = await given.world.app({ default_profile_id: 'alpha', profile_policy: 'force' });
    expect(await refused({ profile_id: '720p60' }, forced)).toEqual([409, 'conflict']);
    expect(await refused({ stream: { fps: 30 } }, forced)).toEqual([409, 'conflict']);
    expect((await launch({ profile_id: 'alpha' }, forced)).body.session.profile_id).toBe('alpha');
    expect((await launch({ profile_id: '720p60' }, forced, given.admin)).status).toBe(201);
  });

  test('refuses a choice where overrides are disallowed', async () => {
    await policy({ user_overrides_allowed: false, global_default_profile_id: 'alpha' });
    expect(await refused({ profile_id: '720p60' })).toEqual([409, 'conflict']);
    expect(await refused({ stream: { bitrate_kbps: 500 } })).toEqual([409, 'conflict']);
    expect((await launch()).body.session.profile_id).toBe('alpha');
  });

  test('a profile outside the allow-list is refused before an unknown one', async () => {
    const limited = await given.world.app({ launchable_profile_ids: ['alpha'] });
    expect(await refused({ profile_id: '720p60' }, limited)).toEqual([409, 'profile_not_launchable_for_app']);
    expect(await refused({ profile_id: 'nope' }, limited)).toEqual([409, 'profile_not_launchable_for_app']);
    expect((await launch({}, limited)).body.session.profile_id).toBe('alpha');
  });

  test("the default profile of the app goes before the person's and the instance's, unless the app inherits", async () => {
    await policy({ global_default_profile_id: '1080p60' });
    await as(given.alice, 'PATCH', '/v1/me/profile-preferences', { default_profile_id: '720p60' });
    const served = async (profile_policy: string) => {
      const pinned = await given.world.app({ default_profile_id: 'alpha', profile_policy });
      return (await launch({}, pinned)).body.session.profile_id;
    };
    expect(await served('prefer')).toBe('alpha');
    expect(await served('force')).toBe('alpha');
    expect(await served('inherit')).toBe('720p60');
  });

  test("a person's default outside the app's list is passed over", async () => {
    await policy({ global_default_profile_id: 'alpha' });
    await as(given.alice, 'PATCH', '/v1/me/profile-preferences', { default_profile_id: '720p60' });
    const limited = await given.world.app({ launchable_profile_ids: ['alpha'] });
    expect((await launch({}, limited)).body.session.profile_id).toBe('alpha');
  });

  test('without a choice: the recommended profile, within the encoders of the hosts and the limits of the app', async () => {
    // A new person for each launch, so that the quota is not reached.
    const profileOf = async (id: string) => {
      const answer = await launch({}, id, await given.world.addPerson(`player${randomUUID()}`));
      return answer.body.session.profile_id;
    };
    const launchable_profile_ids = ['1080p60', '720p60'];
    const plain = await given.world.app({ launchable_profile_ids });
    const size = { default_width: 1280, default_height: 720, default_fps: 30 };
    const small = await given.world.app({ launchable_profile_ids, ...size });
    const encodes = async (figure: number) => {
      const codec_throughput = JSON.stringify({ h264: { max_pixel_rate_mpix_s: figure } });
      await db().updateTable('hosts').set({ codec_throughput }).execute();
      await given.world.pass(5_000, given.hostA);
    };
    expect([await profileOf(plain), await profileOf(small)]).toEqual(['1080p60', '720p60']);
    await encodes(ROOMY_MPIXEL_S - 128);
    expect([await profileOf(plain), await profileOf(small)]).toEqual(['720p60', '720p60']);
    await encodes(ROOMY_MPIXEL_S);
    expect(await profileOf(plain)).toBe('1080p60');
  });

  test("without one of the app: the person's default, then the instance's, then the recommended one", async () => {
    expect((await launch()).body.session.profile_id).toBe('1080p60');
    await policy({ global_default_profile_id: '720p60' });
    expect((await launch()).body.session.profile_id).toBe('720p60');
    await as(given.alice, 'PATCH', '/v1/me/profile-preferences', { default_profile_id: 'alpha' });
    expect((await launch()).body.session.profile_id).toBe('alpha');
  });

  test('a profile that is not for users, or ineligible by the measurement, is refused', async () => {
    expect(await refused({ profile_id: 'secret' })).toEqual([409, 'profile_ineligible']);
    await probe({ bandwidth_kbps: 1_000 });
    expect(await refused({ profile_id: '1080p60' })).toEqual([409, 'profile_ineligible']);
    expect(await refused({ profile_id: '1080p60', stream: { fps: 10 } })).toEqual([
      409,
      'profile_ineligible',
    ]);
  });

  test('a measurement older than 30 days refuses nothing', async () => {
    await probe({ bandwidth_kbps: 1_000 });
    await db()
      .updateTable('devices')
      .set({ capabilities: JSON.stringify({ bandwidth_kbps: 1_000, measured_at: '2020-01-01T00:00:00Z' }) })
      .where('user_id', '=', given.alice.id)
      .execute();
    expect((await launch({ profile_id: '1080p60' })).status).toBe(201);
  });
});
