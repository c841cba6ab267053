import { describe, expect, test } from 'vitest';
import { admitted, anApp, aProfile, codeOf, launchFacts, tryAdmit } from '../testing/test-facts.ts';
import { aRung } from '../testing/test-rungs.ts';
import { admitLocked, type LaunchFacts, type LockedFacts } from './admission.ts';
import { type LaunchBody, PERSONAL_TERMS } from './stages.ts';

/** Id of the chosen profile; null: none was chosen. */
const chosen = (...args: Parameters<typeof tryAdmit>) => admitted(...args).profile?.profile.id ?? null;

const TILE = {
  parent_app_id: 'parent',
  external_source: 'steam' as const,
  external_id: '440',
  runtime_spec: {},
};
const A = aProfile('a');
const B = aProfile('b');
const CATALOG = [A, B, aProfile('1080p60'), aProfile('hidden', undefined, 'internal')];
const SLOW = {
  client_type: 'web' as const,
  bandwidth_kbps: 1_000,
  rtt_ms: null,
  max_decode_height: null,
  codecs: { hevc: false, av1: false },
  display_refresh_hz: null,
  h264_profiles: null,
};
const demanding = aProfile('demanding', [aRung('demanding', { min_offer_bandwidth_kbps: 9_000 })]);
const slow = { probe: SLOW, failures: [] };

describe('rows of the admission before the transaction', () => {
  test('no app, or a disabled one', () => {
    expect(codeOf(launchFacts({ app: null, entitled: false }))).toBe('not_found');
  });

  test('a tile whose parent is disabled; the message names it', () => {
    const parent = anApp({ id: 'parent', name: 'Launcher', enabled: false });
    const outcome = tryAdmit(launchFacts({ app: anApp(TILE), parent }));
    expect(outcome).toMatchObject({ refusal: { code: 'parent_app_disabled' } });
    expect(JSON.stringify(outcome)).toContain('Launcher');
  });

  test('no entitlement, for administrators too', () => {
    expect(codeOf(launchFacts({ entitled: false }))).toBe('forbidden');
    expect(codeOf(launchFacts({ entitled: false }, { isAdmin: true }))).toBe('forbidden');
  });

  describe('a profile choice where none is allowed', () => {
    const forced = { app: anApp({ profile_policy: 'force', default_profile_id: 'a' }) };
    const closed = { policy: { globalDefaultProfileId: 'a', userOverridesAllowed: false } };
    test.each([
      ['the app forces its profile, another one', forced, {}, { profile_id: 'b' }, 'conflict'],
      ['the app forces its profile, an override', forced, {}, { stream: { fps: 30 } }, 'conflict'],
      ['the app forces its profile, the same one', forced, {}, { profile_id: 'a' }, null],
      [
        'the app forces its profile, the same one and an override',
        forced,
        {},
        { profile_id: 'a', stream: { fps: 30 } },
        'conflict',
      ],
      ['the app forces its profile, only a codec', forced, {}, { stream: { codec: 'h264' } }, null],
      ['overrides are disallowed, another one', {}, closed, { profile_id: 'b' }, 'conflict'],
      ['overrides are disallowed, an override', {}, closed, { stream: { height: 720 } }, 'conflict'],
      ['overrides are disallowed, the same one', {}, closed, { profile_id: 'a' }, null],
    ] as const)('%s: %s', (_what, facts, choice, request, code) => {
      const snapshot = launchFacts(facts, { ...choice, profiles: CATALOG });
      expect(codeOf(snapshot, request)).toBe(code);
      const asAdmin = launchFacts(facts, { ...choice, profiles: CATALOG, isAdmin: true });
      expect(codeOf(asAdmin, request)).toBeNull();
    });
  });

  describe('a profile outside the allow-list', () => {
    const limited = { profiles: CATALOG, allowList: ['a'] };
    test.each([
      ['outside', {}, { profile_id: 'b' }, 'profile_not_launchable_for_app'],
      [
        'outside, with an override',
        {},
        { profile_id: 'b', stream: { fps: 30 } },
        'profile_not_launchable_for_app',
      ],
      ['on it', {}, { profile_id: 'a' }, null],
      [
        "a preferring app's own",
        { app: anApp({ profile_policy: 'prefer', default_profile_id: 'b' }) },
        { profile_id: 'b' },
        null,
      ],
    ] as const)('%s', (_what, facts, request, code) => {
      expect(codeOf(launchFacts(facts, limited), request)).toBe(code);
      expect(codeOf(launchFacts(facts, { ...limited, isAdmin: true }), request)).toBeNull();
    });

    test('an empty list is no limit', () => {
      expect(codeOf(launchFacts({}, { profiles: CATALOG }), { profile_id: 'b' })).toBeNull();
    });
  });

  describe('a launch without a choice of profile', () => {
    const prefers = anApp({ profile_policy: 'prefer', default_profile_id: 'b' });
    const everything = {
      profiles: CATALOG,
      preference: 'a',
      policy: { globalDefaultProfileId: '1080p60', userOverridesAllowed: true },
    };
    test.each([
      ["the app's own first, where it prefers one", { app: prefers }, everything, 'b'],
      [
        'or forces one',
        { app: anApp({ profile_policy: 'force', default_profile_id: 'b' }) },
        everything,
        'b',
      ],
      [
        'an app that inherits has no own',
        { app: anApp({ default_profile_id: 'b' }) },
        { ...everything, preference: null },
        '1080p60',
      ],
      ["then the person's", {}, everything, 'a'],
      [
        "not the person's where overrides are disallowed",
        {},
        { ...everything, policy: { globalDefaultProfileId: '1080p60', userOverridesAllowed: false } },
        '1080p60',
      ],
      ["not the person's outside the allow-list", {}, { ...everything, allowList: ['1080p60'] }, '1080p60'],
      [
        "not the person's where the app forces and names none",
        { app: anApp({ profile_policy: 'force' }) },
        everything,
        '1080p60',
      ],
      ["then the instance's", {}, { ...everything, preference: null }, '1080p60'],
      [
        "not the instance's outside the allow-list: the recommended one of the list",
        {},
        { ...everything, preference: null, allowList: ['b'] },
        'b',
      ],
      ['then the recommended one: without a probe 1080p60', {}, { profiles: CATALOG }, '1080p60'],
      ['with a probe the first that is eligible', {}, { profiles: [demanding, A, B], client: slow }, 'a'],
      ['what people may not choose is not recommended', {}, { profiles: [CATALOG[3]!] }, null],
      ['no catalog: none', {}, {}, null],
    ] as const)('%s', (_what, facts, choice, expected) => {
      expect(chosen(launchFacts(facts, choice))).toBe(expected);
    });

    test('an override of the envelope takes no profile; with a profile named it does', () => {
      const snapshot = launchFacts({}, everything);
      expect(chosen(snapshot, { stream: { fps: 30 } })).toBeNull();
      expect(chosen(snapshot, { stream: { codec: 'h264' } })).toBe('a');
      expect(chosen(snapshot, { profile_id: 'b', stream: { fps: 30 } })).toBe('b');
    });
  });

  test('an unknown profile', () => {
    for (const isAdmin of [false, true])
      expect(codeOf(launchFacts({}, { profiles: CATALOG, isAdmin }), { profile_id: 'nope' })).toBe(
        'validation_failed',
      );
  });

  describe('a profile that does not suit', () => {
    const risky = aProfile('risky', [aRung('x', { codec: 'av1' }), aRung('y')]);
    const catalog = { profiles: [...CATALOG, demanding, risky], client: slow };
    test.each([
      ['not for people', { profile_id: 'hidden' }, 'profile_ineligible'],
      ['ineligible', { profile_id: 'demanding' }, 'profile_ineligible'],
      ['ineligible, with an override', { profile_id: 'demanding', stream: { fps: 5 } }, 'profile_ineligible'],
      ['risky', { profile_id: 'risky' }, null],
      ['eligible', { profile_id: 'a' }, null],
    ] as const)('%s', (_what, request, code) => {
      expect(codeOf(launchFacts({}, catalog), request)).toBe(code);
      expect(codeOf(launchFacts({}, { ...catalog, isAdmin: true }), request)).toBeNull();
    });

    test('a failure of the device with the profile', () => {
      const failures = [{ launch_profile_id: 'a', stream_profile_id: null, codec: null }];
      const snapshot = launchFacts({}, { profiles: CATALOG, client: { probe: null, failures } });
      expect(codeOf(snapshot, { profile_id: 'a' })).toBe('profile_ineligible');
    });

    test('without a probe nothing is refused', () => {
      expect(codeOf(launchFacts({}, { profiles: [demanding] }), { profile_id: 'demanding' })).toBeNull();
    });

    test('a default profile has the same checks', () => {
      const forced = anApp({ profile_policy: 'force', default_profile_id: 'demanding' });
      expect(codeOf(launchFacts({ app: forced }, catalog))).toBe('profile_ineligible');
    });
  });

  describe('a tile whose parent has a managed home', () => {
    const parent = anApp({ id: 'parent', managed_home: true });
    const tile = anApp(TILE);
    test('that the person has nowhere', () => {
      expect(codeOf(launchFacts({ app: tile, parent }))).toBe('home_not_provisioned');
      const preset = {
        image: '',
        args: [],
        env: {},
        mounts: [],
        managed_home: true,
        home_container_path: '',
        network: '' as const,
      };
      const byPreset = anApp({ id: 'parent', preset });
      expect(codeOf(launchFacts({ app: tile, parent: byPreset }))).toBe('home_not_provisioned');
    });
    test('pins to the host of that home', () => {
      const { demand } = admitted(launchFacts({ app: tile, parent, homeHostId: 'h1' }));
      expect(demand.pin).toEqual({ host_id: 'h1', gpu_index: null });
    });
    test('is refused on another host that something else pinned', () => {
      const terms = { ...PERSONAL_TERMS, pin: { host_id: 'h2', gpu_index: null } };
      expect(codeOf(launchFacts({ app: tile, parent, homeHostId: 'h1' }), {}, terms)).toBe(
        'home_not_provisioned',
      );
    });
    test('a volume with a process app is a conflict', () => {
      const settings = { ...launchFacts().settings, storageProvider: 'volume' as const };
      expect(codeOf(launchFacts({ app: anApp({ managed_home: true }), settings }))).toBe('conflict');
      const contained = anApp({ managed_home: true, runtime_spec: { image: 'x' } });
      expect(codeOf(launchFacts({ app: contained, settings }))).toBeNull();
    });
    test('an app never starts without the base of its homes', () => {
      const base = { home_base: '/srv/base' };
      const { demand } = admitted(launchFacts({ app: anApp({ managed_home: true, ...base }) }));
      expect(demand.needs_home_base).toBe(true);
      // The preset that gave it homes was changed.
      expect(codeOf(launchFacts({ app: anApp(base) }))).toBe('conflict');
      const settings = { ...launchFacts().settings, storageProvider: 'volume' as const };
      const contained = anApp({ managed_home: true, runtime_spec: { image: 'x' }, ...base });
      expect(codeOf(launchFacts({ app: contained, settings }))).toBe('conflict');
    });
  });

  test('the first failed check gives the answer, even if later checks would fail too', () => {
    const mends: [
      string,
      Partial<Omit<LaunchFacts, 'choice'>>,
      Partial<LaunchFacts['choice']>,
      Partial<LaunchBody>,
    ][] = [
      ['not_found', { app: anApp(TILE) }, {}, {}],
      ['parent_app_disabled', { parent: anApp({ id: 'parent', managed_home: true }) }, {}, {}],
      ['forbidden', { entitled: true }, {}, {}],
      ['conflict', {}, { policy: { globalDefaultProfileId: null, userOverridesAllowed: true } }, {}],
      ['profile_not_launchable_for_app', {}, { allowList: [] }, {}],
      ['validation_failed', {}, {}, { profile_id: 'demanding' }],
      ['profile_ineligible', {}, {}, { profile_id: 'a' }],
      ['home_not_provisioned', { homeHostId: 'h1' }, {}, {}],
    ];
    let facts: Partial<Omit<LaunchFacts, 'choice'>> = {
      app: null,
      parent: anApp({ id: 'parent', managed_home: true, enabled: false }),
      entitled: false,
    };
    let choice: Partial<LaunchFacts['choice']> = {
      policy: { globalDefaultProfileId: null, userOverridesAllowed: false },
      allowList: ['a'],
      profiles: [...CATALOG, demanding],
      client: slow,
    };
    let request: Partial<LaunchBody> = { profile_id: 'nope' };
    for (const [code, mendFacts, mendChoice, mendRequest] of mends) {
      expect(codeOf(launchFacts(facts, choice), request)).toBe(code);
      facts = { ...facts, ...mendFacts };
      choice = { ...choice, ...mendChoice };
      request = { ...request, ...mendRequest };
    }
    expect(codeOf(launchFacts(facts, choice), request)).toBeNull();
  });

  test('a local session demands no slots, dual output those of the app, a tile those of its parent', () => {
    const terms = (topology: 'local_only' | 'dual_output') => ({ ...PERSONAL_TERMS, topology });
    const two = launchFacts({ app: anApp({ default_encode_slots: 2 }) });
    expect(admitted(two, {}, terms('local_only')).demand.encode_slots).toBe(0);
    expect(admitted(two, {}, terms('dual_output')).demand.encode_slots).toBe(2);
    const tile = launchFacts({
      app: anApp({ ...TILE, default_encode_slots: 7 }),
      parent: anApp({ id: 'parent', default_encode_slots: 3 }),
    });
    expect(admitted(tile).demand.encode_slots).toBe(3);
  });

  test('the microphone is granted where it is asked for and allowed', () => {
    const allowed = { ...launchFacts().settings, micCaptureEnabled: true };
    expect(admitted(launchFacts({ settings: allowed }), { mic: true }).mic).toBe(true);
    expect(admitted(launchFacts({ settings: allowed }), { mic: false }).mic).toBe(false);
    expect(admitted(launchFacts(), { mic: true }).mic).toBe(false);
  });

  test('locality prefers the host of the home, and nothing does without it', () => {
    const app = anApp({ managed_home: true });
    const at = (prefersHomeHost: boolean) =>
      admitted(launchFacts({ app, homeHostId: 'h1', prefersHomeHost })).demand.prefer_host_id;
    expect([at(true), at(false)]).toEqual(['h1', null]);
  });
});

describe('rows of the admission inside the transaction', () => {
  const app = anApp({ managed_home: true });
  const held = (more: Partial<LockedFacts> = {}): LockedFacts => ({
    username: 'alice',
    maxConcurrentSessions: 3,
    entitled: true,
    disabled: false,
    deviceExists: true,
    sessions: 0,
    homes: [],
    ...more,
  });
  const refusalOf = (facts: LockedFacts) => admitLocked(admitted(launchFacts({ app })), facts);
  const session = (id: string, ...home_app_ids: string[]) => ({ id, home_app_ids });

  test('the entitlement or the account is deleted, or the account is disabled', () => {
    expect(refusalOf(held({ disabled: true, sessions: 3 }))?.code).toBe('forbidden');
    expect(refusalOf(held({ entitled: false }))?.code).toBe('forbidden');
    expect(refusalOf(held({ maxConcurrentSessions: null }))?.code).toBe('forbidden');
  });
  test('the sign-in was deleted with its device', () => {
    expect(refusalOf(held({ deviceExists: false }))?.code).toBe('unauthorized');
  });
  test('the quota; 0 blocks', () => {
    expect(refusalOf(held({ sessions: 3 }))?.code).toBe('session_quota_exceeded');
    expect(refusalOf(held({ maxConcurrentSessions: 0 }))?.code).toBe('session_quota_exceeded');
    expect(refusalOf(held({ sessions: 2 }))).toBeNull();
  });
  test('the home is held by another session, which is named', () => {
    expect(refusalOf(held({ sessions: 2, homes: [session('1', 'else'), session('2', 'app')] }))).toEqual({
      code: 'home_in_use',
      session_id: '2',
    });
  });
  test('a tile holds the home of its parent', () => {
    const tile = launchFacts({
      app: anApp(TILE),
      parent: anApp({ id: 'parent', managed_home: true }),
      homeHostId: 'h1',
    });
    const holder = held({ sessions: 1, homes: [session('1', 'parent')] });
    expect(admitLocked(admitted(tile), holder)?.code).toBe('home_in_use');
  });
  test('their order', () => {
    const all = held({
      entitled: false,
      maxConcurrentSessions: 1,
      sessions: 1,
      homes: [session('1', 'app')],
    });
    expect(refusalOf(all)?.code).toBe('forbidden');
    expect(refusalOf({ ...all, entitled: true })?.code).toBe('session_quota_exceeded');
    expect(refusalOf({ ...all, entitled: true, maxConcurrentSessions: 2 })?.code).toBe('home_in_use');
  });
});
