import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Demand,
  decidePlacement,
  type GpuFacts,
  type HostFacts,
  type PlacementSettings,
  refusalOf,
  refuseBareHost,
  refusesForNow,
  vramVeto,
} from './placement.ts';

const NOW = 1_000_000;
const settings: PlacementSettings = {
  vramMinFreeMb: 1024,
  vramInflightEstimateMb: 1024,
  vramStalenessSecs: 20,
};
const host = (more: Partial<HostFacts> = {}): HostFacts => ({
  host_id: 'h1',
  node_name: 'node-1',
  status: 'online',
  capacity_detection: 'ok',
  features: ['process_runtime'],
  encoder: null,
  render_node: null,
  home_root: '/homes',
  images: new Map(),
  ...more,
});
const gpu = (more: Partial<Omit<GpuFacts, 'host'>> & { host?: HostFacts } = {}): GpuFacts => ({
  host: host(),
  gpu_id: 'g1',
  gpu_index: 0,
  vendor: 'nvidia',
  render_node: null,
  reported: true,
  slots_total: 4,
  slots_used: 0,
  active_sessions: 0,
  in_flight: 0,
  vram_mb_total: 8192,
  vram_mb_free: null,
  vram_sampled_at: null,
  ...more,
});
const demand = (more: Partial<Demand> = {}): Demand => ({
  encode_slots: 1,
  runtime: 'process',
  needs_home_root: false,
  needs_home_base: false,
  pin: null,
  prefer_host_id: null,
  image: null,
  encoder: null,
  skip_vram_veto: false,
  unreachable: new Set(),
  ...more,
});
const decide = (gpus: GpuFacts[], need = demand()) => decidePlacement(gpus, need, settings, NOW);
const ids = (gpus: GpuFacts[]) => gpus.map((one) => one.gpu_id);

describe('rules for a candidate', () => {
  test.each([
    ['online', { host: host({ status: 'offline' }) }, {}, 'offline', 'online'],
    ['online', { host: host({ status: 'draining' }) }, {}, 'draining', 'online'],
    ['online', {}, { unreachable: new Set(['h1']) }, 'out of reach', 'online'],
    ['capacity_detection', { host: host({ capacity_detection: 'failed' }) }, {}, 'failed', 'ok'],
    ['capacity_detection', { reported: false }, {}, 'GPU not reported', 'reported'],
    [
      'capacity_detection',
      { host: host({ home_root: null }) },
      { needs_home_root: true },
      'no home root reported',
      'home_root',
    ],
    ['runtime', { host: host({ features: ['images'] }) }, {}, 'no process_runtime', 'process_runtime'],
    ['runtime', {}, { runtime: 'container' }, 'no images', 'images'],
    ['runtime', {}, { needs_home_base: true }, 'no home_base', 'home_base'],
    ['encoder_binding', { host: host({ encoder: 'va' }) }, {}, 'nvidia', 'va: amd or intel'],
    ['encoder_binding', { vendor: 'amd', host: host({ encoder: 'nvenc' }) }, {}, 'amd', 'nvenc: nvidia'],
    ['encoder_binding', { gpu_index: 1, host: host({ encoder: 'vulkan' }) }, {}, 1, 'vulkan: gpu_index 0'],
    [
      'encoder_binding',
      { render_node: '/dev/dri/b', host: host({ render_node: '/dev/dri/a' }) },
      {},
      '/dev/dri/b',
      '/dev/dri/a',
    ],
    ['pin', {}, { pin: { host_id: 'h2', gpu_index: null } }, 'h1', 'h2'],
    ['pin', { gpu_index: 1 }, { pin: { host_id: 'h1', gpu_index: 0 } }, 1, 0],
    [
      'image',
      { host: host({ images: new Map([['retro', { state: 'pulling', version: null }]]) }) },
      { image: { image_id: 'retro', version: '1.2' } },
      'pulling',
      'ready',
    ],
    [
      'image',
      { host: host({ images: new Map([['retro', { state: 'ready', version: '1.1' }]]) }) },
      { image: { image_id: 'retro', version: '1.2' } },
      '1.1',
      '1.2',
    ],
    ['slots', { slots_used: 3 }, { encode_slots: 2 }, 1, 2],
    ['vram', { vram_mb_free: 1000, vram_sampled_at: NOW }, {}, 1000, 1024],
  ] as const)('%s', (rule, facts, need, have, wanted) => {
    const { candidates, refusals } = decide([gpu(facts as Partial<GpuFacts>)], demand(need));
    expect(candidates).toEqual([]);
    expect(refusals).toEqual([
      { host_id: 'h1', node_name: 'node-1', gpu_id: 'g1', rule, have, need: wanted },
    ]);
  });

  test.each([
    [
      'container apps need no process runtime',
      { host: host({ features: ['images'] }) },
      { runtime: 'container' },
    ],
    ['va on AMD', { vendor: 'amd', host: host({ encoder: 'va' }) }, {}],
    ['va on Intel', { vendor: 'intel', host: host({ encoder: 'va' }) }, {}],
    ['nvenc on NVIDIA', { host: host({ encoder: 'nvenc' }) }, {}],
    ['openh264 anywhere', { vendor: 'software', host: host({ encoder: 'openh264' }) }, {}],
    ['"software" does not pin', { host: host({ render_node: 'software' }) }, {}],
    ['"" does not pin', { host: host({ render_node: '' }) }, {}],
    ['a homeless app needs no home root', { host: host({ home_root: null }) }, {}],
    ['the last slot', { slots_used: 3 }, {}],
    ['a pin on this GPU', { gpu_index: 1 }, { pin: { host_id: 'h1', gpu_index: 1 } }],
    [
      'an image that is there',
      { host: host({ images: new Map([['retro', { state: 'ready', version: '1.2' }]]) }) },
      { image: { image_id: 'retro', version: '1.2' } },
    ],
    [
      'an image whose version the host does not say',
      { host: host({ images: new Map([['retro', { state: 'ready', version: null }]]) }) },
      { image: { image_id: 'retro', version: '1.2' } },
    ],
    [
      'an image that hosts fetch when they need it',
      { host: host({ images: new Map([['retro', { state: 'absent', version: null }]]) }) },
      {},
    ],
    [
      'a console, exempt from the veto',
      { vram_mb_free: 0, vram_sampled_at: NOW },
      { skip_vram_veto: true, encode_slots: 0 },
    ],
    ['no slots for nothing to encode', { slots_used: 4 }, { encode_slots: 0 }],
  ] as const)('passes: %s', (_why, facts, need) => {
    expect(
      decide([gpu(facts as Partial<GpuFacts>)], demand(need as Partial<Demand>)).candidates,
    ).toHaveLength(1);
  });
});

test('the first rule that is broken is the one that is named', () => {
  const broken = gpu({
    host: host({
      status: 'offline',
      capacity_detection: 'failed',
      features: [],
      encoder: 'va',
      images: new Map([['retro', { state: 'absent', version: null }]]),
    }),
    slots_used: 4,
    vram_mb_free: 0,
    vram_sampled_at: NOW,
  });
  const need = demand({
    pin: { host_id: 'h2', gpu_index: null },
    image: { image_id: 'retro', version: '1' },
  });
  const mend: [string, (one: GpuFacts) => void][] = [
    ['online', (one) => Object.assign(one.host, { status: 'online' })],
    ['capacity_detection', (one) => Object.assign(one.host, { capacity_detection: 'ok' })],
    ['runtime', (one) => Object.assign(one.host, { features: ['process_runtime'] })],
    ['encoder_binding', (one) => Object.assign(one.host, { encoder: 'nvenc' })],
    ['pin', (one) => Object.assign(one.host, { host_id: 'h2' })],
    [
      'image',
      (one) => Object.assign(one.host, { images: new Map([['retro', { state: 'ready', version: '1' }]]) }),
    ],
    ['slots', (one) => Object.assign(one, { slots_used: 0 })],
    ['vram', (one) => Object.assign(one, { vram_mb_free: null })],
  ];
  for (const [rule, repair] of mend) {
    expect(decide([broken], need).refusals.map((refusal) => refusal.rule)).toEqual([rule]);
    repair(broken);
  }
  expect(decide([broken], need).candidates).toHaveLength(1);
});

test('a host without a GPU on record says so', () => {
  expect(refuseBareHost(host())).toMatchObject({ gpu_id: null, rule: 'capacity_detection', have: 'no GPU' });
  expect(refuseBareHost(host({ status: 'draining' }))).toMatchObject({ rule: 'online', have: 'draining' });
});

describe('no candidate', () => {
  test('nothing could ever fit: no_host_available', () => {
    for (const facts of [[], [gpu({ host: host({ status: 'offline' }) })], [gpu({ slots_total: 1 })]])
      expect(refusalOf(decide(facts, demand({ encode_slots: 2 })))).toEqual({ code: 'no_host_available' });
  });

  test('a container while no host runs any: the refusal says so', () => {
    const container = demand({ runtime: 'container' });
    const runs = gpu({ host: host({ features: ['images'], status: 'offline' }) });
    expect(refusalOf(decide([gpu()], container)).message).toContain('no host runs containers');
    for (const facts of [[], [runs], [gpu(), runs]])
      expect(refusalOf(decide(facts, container))).toEqual({ code: 'no_host_available' });
  });

  test('an image that no host has: the refusal says so, and a busy host that has it comes first', () => {
    const need = demand({ image: { image_id: 'retro', version: '1' } });
    expect(refusalOf(decide([gpu()], need)).message).toContain('No host has the image');
    const has = host({ images: new Map([['retro', { state: 'ready', version: '1' }]]) });
    expect(refusalOf(decide([gpu(), gpu({ host: has, slots_used: 4 })], need))).toEqual({
      code: 'capacity_exhausted',
    });
  });

  test('something could when idle: capacity_exhausted', () => {
    expect(refusalOf(decide([gpu({ slots_used: 4 })]))).toEqual({ code: 'capacity_exhausted' });
    expect(refusalOf(decide([gpu({ vram_mb_free: 0, vram_sampled_at: NOW })]))).toEqual({
      code: 'capacity_exhausted',
    });
  });
});

describe('VRAM veto', () => {
  const veto = (more: Partial<GpuFacts>, over: Partial<PlacementSettings> = {}) =>
    vramVeto(gpu({ vram_sampled_at: NOW, ...more }), { ...settings, ...over }, NOW);

  test.each([
    ['enough is free', { vram_mb_free: 1024 }, {}, null],
    ['less than the floor', { vram_mb_free: 1023 }, {}, { have: 1023, need: 1024 }],
    [
      'each session in flight is debited',
      { vram_mb_free: 3000, in_flight: 2 },
      {},
      { have: 952, need: 1024 },
    ],
    ['nothing is known', { vram_mb_free: null }, {}, null],
    ['never sampled', { vram_mb_free: 0, vram_sampled_at: null }, {}, null],
    [
      'a sample of 20 s ago counts',
      { vram_mb_free: 0, vram_sampled_at: NOW - 20_000 },
      {},
      { have: 0, need: 1024 },
    ],
    ['an older one does not', { vram_mb_free: 0, vram_sampled_at: NOW - 20_001 }, {}, null],
    ['the floor could never be met', { vram_mb_free: 0, vram_mb_total: 1024 }, {}, null],
    ['off', { vram_mb_free: 0 }, { vramMinFreeMb: 0 }, null],
  ] as const)('%s', (_why, facts, over, expected) => {
    expect(veto(facts, over)).toEqual(expected);
  });
});

describe('order', () => {
  test('most free slots, then most free VRAM with the unknown last, then fewest sessions, then the id', () => {
    const fresh = { vram_sampled_at: NOW };
    const gpus = [
      gpu({ gpu_id: 'z-many-sessions', active_sessions: 2 }),
      gpu({ gpu_id: 'b-idle' }),
      gpu({ gpu_id: 'a-idle' }),
      gpu({ gpu_id: 'stale', vram_mb_free: 9999, vram_sampled_at: NOW - 60_000, active_sessions: 1 }),
      gpu({ gpu_id: 'roomy', vram_mb_free: 6000, ...fresh }),
      gpu({ gpu_id: 'tight', vram_mb_free: 2000, ...fresh }),
      gpu({ gpu_id: 'wide', slots_total: 8 }),
    ];
    expect(ids(decide(gpus).candidates)).toEqual([
      'wide',
      'roomy',
      'tight',
      'a-idle',
      'b-idle',
      'stale',
      'z-many-sessions',
    ]);
  });

  test("locality puts the home's host first", () => {
    const gpus = [
      gpu({ gpu_id: 'wide', slots_total: 8 }),
      gpu({ gpu_id: 'home', host: host({ host_id: 'h2' }) }),
    ];
    expect(ids(decide(gpus, demand({ prefer_host_id: 'h2' })).candidates)).toEqual(['home', 'wide']);
  });
});

describe('invariants', () => {
  const gpus = fc.array(
    fc.record({
      total: fc.integer({ min: 0, max: 8 }),
      used: fc.integer({ min: 0, max: 12 }),
      online: fc.boolean(),
      free: fc.option(fc.integer({ min: 0, max: 9000 })),
    }),
    { maxLength: 12 },
  );

  test('slots are never overbooked, however many launches follow one another', () => {
    fc.assert(
      fc.property(gpus, fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 }), (fleet, launches) => {
        const facts = fleet.map((one, index) =>
          gpu({
            gpu_id: `g${index}`,
            slots_total: one.total,
            slots_used: Math.min(one.used, one.total),
            host: host({ status: one.online ? 'online' : 'offline' }),
            vram_mb_free: one.free,
            vram_sampled_at: NOW,
          }),
        );
        for (const encode_slots of launches) {
          const need = demand({ encode_slots });
          const { candidates, refusals } = decide(facts, need);
          expect(candidates.length + refusals.length).toBe(facts.length);
          const [first] = candidates;
          if (first === undefined) continue;
          expect(first.host.status).toBe('online');
          expect(refusesForNow(first, need, settings, NOW)).toBeNull();
          first.slots_used += encode_slots;
          first.in_flight += 1;
          for (const one of facts) expect(one.slots_used).toBeLessThanOrEqual(one.slots_total);
        }
      }),
    );
  });
});
