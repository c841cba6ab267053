// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type ProfileWorld, profileWorld } from '../../profiles/testing/world.ts';
import type { Person, TestDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from './world.ts';

/** Throughput of a software encoder with 64 slots. A session gets 1/128 of it, which is enough for 1080p60. */
export const ROOMY_MPIXEL_S = 128 * 125;

/**
 * A host with many slots, an app, the launch profiles `alpha` (AV1, then H.264) and `secret`, and a new person for each
 * test. Call this within a suite. The world is opened before the suite's tests, and only they may use the values.
 */
export function useLaunchWorld(databases: TestDatabases) {
  let world: SessionsWorld;
  let catalog: ProfileWorld;
  let hostA: FakeAgent;
  let app: string;
  let alice: Person;
  let admin: Person;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    catalog = profileWorld(world);
    const capacity = softwareCapacity(
      { codecs: ['h264', 'av1'], codec_throughput: { h264: { max_pixel_rate_mpix_s: ROOMY_MPIXEL_S } } },
      { encode_slots_total: 64 },
    );
    hostA = await world.host('hosta', { capacity });
    admin = world.people.admin;
    app = await world.app();
    await as(admin, 'PATCH', `/v1/users/${admin.id}`, { max_concurrent_sessions: 50 });
    await catalog.rung('alpha-av1', { codec: 'av1', nominal_bitrate_kbps: 6_000 });
    await catalog.rung('alpha-h264', { nominal_bitrate_kbps: 8_000, abr_floor_kbps: 2_000, playout0_ms: 40 });
    await catalog.profile('alpha', ['alpha-av1', 'alpha-h264']);
    await catalog.profile('secret', ['alpha-h264'], { visibility: 'internal' });
  });
  afterAll(() => world.close());

  let people = 0;
  beforeEach(async () => {
    people += 1;
    alice = await world.addPerson(`alice${people}`);
  });
  afterEach(async () => {
    await policy({ user_overrides_allowed: true, global_default_profile_id: null });
  });

  const db = () => world.plane.platform.database.db;
  async function as(caller: Person, method: string, url: string, body?: object) {
    const answer = await world.call(caller, method, url, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.text}`);
    return answer.body;
  }
  const policy = (body: object) => as(admin, 'PATCH', '/v1/admin/profile-policy', body);
  const probe = (capabilities: object) =>
    as(alice, 'POST', '/v1/me/devices', { device_key: 'k', capabilities });
  const launch = (request: Record<string, unknown> = {}, of = app, person = alice) =>
    world.launch(person, of, request);
  const refused = async (request: Record<string, unknown>, of = app) => {
    const answer = await launch(request, of);
    return [answer.status, answer.body.error?.code];
  };

  return {
    get world() {
      return world;
    },
    get catalog() {
      return catalog;
    },
    get hostA() {
      return hostA;
    },
    get app() {
      return app;
    },
    /** The person of this test. */
    get alice() {
      return alice;
    },
    get admin() {
      return admin;
    },
    db,
    as,
    policy,
    probe,
    launch,
    refused,
  };
}
