import type { Capacity } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { changesNothing, planCapacity, type StoredGpu } from './capacity.ts';

const NOW = 5_000;
const card = (index: number, overrides: Partial<Capacity['gpus'][number]> = {}) => ({
  index,
  vendor: 'nvidia' as const,
  model: 'RTX',
  vram_mb_total: 8_000,
  encode_slots_total: 8,
  render_node: `/dev/dri/by-path/${index}`,
  ...overrides,
});
const stored = (index: number, overrides: Partial<StoredGpu> = {}): StoredGpu => ({
  id: `gpu-${index}`,
  gpu_index: index,
  vendor: 'nvidia',
  model: 'RTX',
  vram_mb_total: 8_000,
  slots_total: 8,
  render_node: `/dev/dri/by-path/${index}`,
  reported: 0,
  ...overrides,
});
const report = (overrides: Partial<Capacity> = {}): Capacity => ({
  type: 'capacity',
  detection: 'ok',
  host: { cpu_cores: 8, mem_mb: 16_000 },
  gpus: [card(0)],
  ...overrides,
});
const plan = (given: Capacity, gpus: StoredGpu[] = [], readiness: string | null = null) =>
  planCapacity({ host: { readiness, first_capacity_at: 1 }, gpus }, given, NOW);

describe('a capacity report', () => {
  test('that is ok lists its GPUs and clears the reason', () => {
    const { host, gpus } = plan(report());
    expect(host).toMatchObject({ capacity_detection: 'ok', capacity_reason: null, cpu_cores: 8 });
    expect(gpus).toEqual({ insert: [card(0)], update: [], show: [], unreport: [] });
  });

  test('that is ok without a GPU is unavailable, and leaves the stored GPUs alone', () => {
    const { host, gpus } = plan(report({ gpus: [] }), [stored(0, { reported: 1 })]);
    expect(host).toMatchObject({ capacity_detection: 'unavailable', capacity_reason: 'no GPU was reported' });
    expect(gpus).toBeNull();
  });

  test('that is empty is ok with GPUs and unavailable without', () => {
    expect(plan(report({ detection: '' }), []).host.capacity_detection).toBe('ok');
    expect(plan(report({ detection: '', gpus: [] }), []).host).toMatchObject({
      capacity_detection: 'unavailable',
      capacity_reason: 'no GPU was reported',
    });
  });

  test.each(['unavailable', 'failed'] as const)('that is %s keeps its reason', (detection) => {
    const { host, gpus } = plan(report({ detection, detection_reason: 'driver gone' }), [stored(0)]);
    expect(host).toMatchObject({ capacity_detection: detection, capacity_reason: 'driver gone' });
    expect(gpus).toBeNull();
  });

  test('hides what it no longer lists and keeps the sample of what is the same', () => {
    const { gpus } = plan(report({ gpus: [card(0)] }), [
      stored(0, { reported: 1 }),
      stored(1, { reported: 1 }),
    ]);
    expect(gpus).toEqual({ insert: [], update: [], show: [], unreport: ['gpu-1'] });
  });

  test('shows again what was hidden, and keeps its sample', () => {
    const { gpus } = plan(report(), [stored(0)]);
    expect(gpus).toMatchObject({ update: [], show: ['gpu-0'] });
  });

  test('that equals the stored values changes nothing, and every difference is stored', () => {
    const readiness = [{ id: 'x', status: 'fail' as const, summary: 'x', remediation: ['x'] }];
    const full = report({ readiness, codecs: ['h264'], effective_settings: { encoder: 'openh264' } });
    const gpus = [stored(0, { reported: 1 })];
    const { host } = plan(full, gpus);
    const known = { first_capacity_at: 1, readiness: null, ...host };
    const next = (given: Capacity, rows = gpus) => planCapacity({ host: known, gpus: rows }, given, NOW + 1);
    expect(changesNothing(next(full))).toBe(true);
    expect(next({ ...full, codecs: ['h265'] }).host).toEqual({ codecs: '["h265"]' });
    for (const change of [{ vram_mb_total: 1 }, { encode_slots_total: 9 }, { model: 'RTX 2' }])
      expect(changesNothing(next({ ...full, gpus: [card(0, change)] }))).toBe(false);
    expect(changesNothing(next(full, [stored(0)]))).toBe(false);
    expect(changesNothing(next({ ...full, gpus: [card(0), card(1)] }))).toBe(false);
    expect(changesNothing(next({ ...full, detection: 'failed' }))).toBe(false);
  });

  test.each([{ vendor: 'amd' as const }, { model: 'RTX 2' }, { render_node: null }])(
    'with another card at an index (%o) clears its sample',
    (change) => {
      const { gpus } = plan(report({ gpus: [card(0, change)] }), [stored(0)]);
      expect(gpus?.update[0]).toMatchObject({ clearSample: true });
    },
  );

  test('leaves alone what it does not mention', () => {
    const { host } = plan(report());
    for (const key of ['cpu_model', 'storage', 'codecs', 'readiness', 'effective_settings', 'encoders']) {
      expect(host).not.toHaveProperty(key);
    }
  });

  test('stamps readiness only when it changed', () => {
    const check = { id: 'gpu_driver', status: 'fail', summary: 'missing', remediation: ['install it'] };
    const first = plan(report({ readiness: [check] })).host;
    expect(first).toMatchObject({ readiness_reported_at: NOW });
    const again = plan(report({ readiness: [check] }), [], first.readiness ?? null).host;
    expect(again).not.toHaveProperty('readiness_reported_at');
  });

  test('keeps no remedy for a check that passed', () => {
    const check = { id: 'gpu_driver', status: 'pass', summary: 'fine', remediation: ['nothing'] };
    expect(plan(report({ readiness: [check] })).host.readiness).toContain('"remediation":[]');
  });

  test('makes the record count, once', () => {
    const first = planCapacity(
      { host: { readiness: null, first_capacity_at: null }, gpus: [] },
      report(),
      NOW,
    );
    expect(first.host.first_capacity_at).toBe(NOW);
    expect(plan(report()).host).not.toHaveProperty('first_capacity_at');
  });
});
