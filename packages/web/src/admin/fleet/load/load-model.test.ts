import type { HostLoadSample } from '@footlight/protocol/rest';
import { expect, test } from 'vitest';
import { loadCharts, sampleAt, samplesIn, spanOf } from './load-model.ts';

const sample = (n: number, part: Partial<HostLoadSample> = {}): HostLoadSample => ({
  ts_unix_ms: n * 5_000,
  cpu_busy: 0.256,
  mem_free_mb: 6_000,
  net_rx_kbps: 300,
  net_tx_kbps: 24_000,
  sessions: 2,
  gpus: [{ gpu_index: 0, encoder_busy: 0.1, vram_mb_used: 700 }],
  ...part,
});
const now = (samples: HostLoadSample[], memMb: number | null = 8_000) =>
  Object.fromEntries(loadCharts(samples, memMb, 4).map((chart) => [chart.key, chart.now]));

test('the newest values are text, each with its total', () => {
  expect(now([sample(1), sample(2, { cpu_busy: 0.5 })])).toEqual({
    cpu: '50 %',
    gpu: '10 %',
    memory: '2.0 GB of 7.8 GB',
    network: '↑ 24 ↓ 0.3 Mbit/s',
    sessions: '2 sessions, 4 slots',
  });
});

test('values that are not measured are not drawn', () => {
  const nothing = sample(1, {
    cpu_busy: null,
    mem_free_mb: null,
    net_rx_kbps: null,
    net_tx_kbps: null,
    gpus: [{ gpu_index: 0, encoder_busy: null, vram_mb_used: null }],
  });
  expect(now([nothing])).toEqual({
    cpu: null,
    gpu: null,
    memory: null,
    network: null,
    sessions: '2 sessions, 4 slots',
  });
  expect(loadCharts([nothing], 8_000, 4).find(({ key }) => key === 'gpu')?.lines).toEqual([]);
});

test('the busiest GPU is the value, and each GPU has a line', () => {
  const gpus = [
    { gpu_index: 0, encoder_busy: 0.1, vram_mb_used: null },
    { gpu_index: 1, encoder_busy: 0.8, vram_mb_used: null },
  ];
  const chart = loadCharts([sample(1, { gpus })], null, 0).find(({ key }) => key === 'gpu');
  expect([chart?.now, chart?.lines.map(({ label }) => label)]).toEqual(['80 %', ['GPU 0', 'GPU 1']]);
});

test('the window ends with the newest sample, and has the samples of five minutes or an hour', () => {
  const samples = [sample(1), sample(40), sample(100)];
  const span = spanOf(samples, 'minutes');
  expect(span).toEqual({ from_ms: 200_000, to_ms: 500_000 });
  expect(samplesIn(samples, span)).toEqual(samples.slice(1));
  expect(spanOf(samples, 'hour')).toEqual({ from_ms: -3_100_000, to_ms: 500_000 });
});

test.each([
  ['minutes', 11_000, [2]],
  ['minutes', 17_000, []],
  ['hour', 17_000, [2]],
  ['minutes', 97_000, [20]],
] as const)('in the window of %s the sample at %d ms is %j', (shown, ms, numbers) => {
  expect(sampleAt([sample(1), sample(2), sample(20)], ms, shown)).toEqual(numbers.map((n) => sample(n)));
});
