import type { StreamProfile } from '@footlight/protocol/rest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';
import {
  type ClientFacts,
  type ClientFailure,
  chooseRung,
  FAILURE_COUNTS_MS,
  findLaunchProfile,
  floorOf,
  judgeLaunchProfile,
  judgeRung,
  listLaunchProfiles,
  loadClientFailures,
  loadPolicy,
  loadPreferences,
  nominalOf,
  permits,
  profileWithoutChoice,
  recommend,
  toCatalogCodec,
  toSessionCodec,
} from './index.ts';
import { profileWorld } from './testing/world.ts';

const APP = { profile_policy: 'inherit', default_profile_id: null } as const;
const PROBE: ClientFacts['probe'] = {
  bandwidth_kbps: 50_000,
  rtt_ms: 5,
  max_decode_height: 2160,
  codecs: { hevc: true, av1: true },
  display_refresh_hz: 144,
};

describeDatabases('reads of admission, inside one transaction', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
  });
  afterAll(() => app.close());

  const inTransaction = <T>(work: Parameters<typeof app.plane.platform.database.transaction<T>>[0]) =>
    app.plane.platform.database.transaction(work);

  test('reads the policy, the own default and the catalog order, and recommends one that the app permits', async () => {
    const { ask } = profileWorld(app);
    await ask('PATCH', '/v1/admin/profile-policy', { global_default_profile_id: '1080p90' });
    const body = { default_profile_id: '720p60' };
    await app.call(app.people.alice, 'PATCH', '/v1/me/profile-preferences', { body });
    const read = await inTransaction(async (tx) => ({
      policy: await loadPolicy(tx),
      preferences: await loadPreferences(tx, [app.people.alice.id, app.people.bob.id]),
      all: await listLaunchProfiles(tx),
      none: await findLaunchProfile(tx, 'nowhere'),
    }));
    expect(read.policy).toEqual({ globalDefaultProfileId: '1080p90', userOverridesAllowed: true });
    expect([...read.preferences]).toEqual([[app.people.alice.id, '720p60']]);
    expect(read.none).toBeNull();
    expect(profileWithoutChoice(APP, read.policy.globalDefaultProfileId)).toBe('1080p90');
    const judged = read.all
      .filter(({ profile }) => permits(APP, ['4k60', '720p60'], profile.id))
      .map(({ profile, rungs }) => {
        const chain = rungs.map((rung) => ({ ...rung, ...judgeRung(rung, { probe: PROBE, failures: [] }) }));
        return {
          id: profile.id,
          nominal: nominalOf(chain),
          ...judgeLaunchProfile(profile.id, chain, []),
        };
      });
    expect(judged.map(({ id, eligibility }) => [id, eligibility])).toEqual([
      ['4k60', 'risky'],
      ['720p60', 'eligible'],
    ]);
    expect(recommend(judged, true, { encoderMpixelS: null, app: null })).toEqual({
      recommended_id: '720p60',
      confidence: 'high',
      limitedBy: [],
    });
  });

  test('walks a chain by the client, its failures and the host, down to the floor', async () => {
    const { db } = app.plane.platform.database;
    const deviceId = app.plane.platform.random.uuid();
    const now = app.clock.nowMs();
    await db
      .insertInto('devices')
      .values({
        id: deviceId,
        user_id: app.people.bob.id,
        device_key: 'tv',
        trusted: 0,
        capabilities: '{}',
        first_seen_at: now,
        last_seen_at: now,
      })
      .execute();
    const failure = { device_id: deviceId, launch_profile_id: '1080p60', outcome: 'fail' } as const;
    await db
      .insertInto('client_failures')
      .values([
        { ...failure, stream_profile_id: '1080p60-av1', codec: 'av1', recorded_at: now },
        {
          ...failure,
          stream_profile_id: '1080p60-hevc',
          codec: '',
          recorded_at: now - FAILURE_COUNTS_MS - 1,
        },
      ])
      .execute();
    const { chain, failures } = await inTransaction(async (tx) => ({
      chain: (await findLaunchProfile(tx, '1080p60'))?.rungs ?? [],
      failures: (await loadClientFailures(tx, [deviceId], now - FAILURE_COUNTS_MS)).get(deviceId) ?? [],
    }));
    expect(failures).toEqual([
      { launch_profile_id: '1080p60', stream_profile_id: '1080p60-av1', codec: 'av1' },
    ] satisfies ClientFailure[]);
    const walk = (facts: ClientFacts) => {
      const chosen = chooseRung(
        chain,
        (rung: StreamProfile) => judgeRung(rung, facts).eligibility !== 'ineligible',
      );
      return [chosen?.rung.id, chosen?.floor];
    };
    expect(walk({ probe: PROBE, failures: [] })).toEqual(['1080p60-av1', false]);
    expect(walk({ probe: PROBE, failures })).toEqual(['1080p60-hevc', false]);
    expect(walk({ probe: PROBE, failures, hostCodecs: ['h264'] })).toEqual(['1080p60-h264', false]);
    expect(walk({ probe: PROBE, failures, hostCodecs: [] })).toEqual(['1080p60-h264', true]);
    expect(floorOf(chain)?.id).toBe('1080p60-h264');
    const spelled = chain.map(({ codec }) => toSessionCodec(codec));
    expect(spelled).toEqual(['av1', 'h265', 'h264']);
    expect(spelled.map(toCatalogCodec)).toEqual(chain.map(({ codec }) => codec));
  });
});
