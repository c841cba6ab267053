import type { Heartbeat } from '@footlight/protocol/agent';
import { expect, test } from 'vitest';
import { LoadHistory } from './load-history.ts';

const beat = (part: Partial<Heartbeat> = {}): Heartbeat => ({
  type: 'heartbeat',
  ts: 1,
  running_sessions: [],
  ...part,
});
const GPU = { id: 'a', index: 0, vramMbTotal: 8_000 };

test('a sample has what the host measured, and null for the rest', () => {
  const history = new LoadHistory();
  history.add(beat(), [GPU], 5_000);
  history.add(
    beat({
      running_sessions: ['x', 'y'],
      cpu_busy: 0.5,
      mem_free_mb: 900,
      net: { rx_kbps: 10, tx_kbps: 2_000 },
      encoder_load: [{ gpu_index: 0, sessions: 2, load: 0.25 }],
      gpu_vram: [
        { index: 0, used_mb: 700, free_mb: 7_300 },
        { index: 9, used_mb: 1 },
      ],
    }),
    [GPU],
    10_000,
  );
  expect(history.samples()).toEqual([
    {
      ts_unix_ms: 5_000,
      cpu_busy: null,
      mem_free_mb: null,
      net_rx_kbps: null,
      net_tx_kbps: null,
      sessions: 0,
      gpus: [{ gpu_index: 0, encoder_busy: null, vram_mb_used: null }],
    },
    {
      ts_unix_ms: 10_000,
      cpu_busy: 0.5,
      mem_free_mb: 900,
      net_rx_kbps: 10,
      net_tx_kbps: 2_000,
      sessions: 2,
      gpus: [{ gpu_index: 0, encoder_busy: 0.25, vram_mb_used: 700 }],
    },
  ]);
});

test('an impossible figure of video memory is none', () => {
  const history = new LoadHistory();
  history.add(beat({ gpu_vram: [{ index: 0, used_mb: 9_000_000 }], mem_free_mb: -4 }), [GPU], 0);
  expect(history.samples()[0]).toMatchObject({ mem_free_mb: 0, gpus: [{ vram_mb_used: null }] });
});

test('the last five minutes have each sample, the hour before has means of minutes', () => {
  const history = new LoadHistory();
  // Two hours with a heartbeat every 5 s. Every second heartbeat has no measurement of the CPU.
  for (let n = 0; n < 1_440; n++)
    history.add(
      beat({ cpu_busy: n % 2 === 0 ? (n % 12) / 12 : undefined, running_sessions: n % 3 === 0 ? ['x'] : [] }),
      [GPU],
      n * 5_000,
    );
  const samples = history.samples();
  const minutes = samples.slice(0, -60);
  const first = (1_440 - 60) * 5_000;
  expect(samples.slice(-60).map(({ ts_unix_ms }) => ts_unix_ms)).toEqual(
    Array.from({ length: 60 }, (_, n) => first + n * 5_000),
  );
  expect(minutes).toHaveLength(55);
  expect(minutes.at(-1)).toEqual({
    // The middle of the twelve samples of the minute before.
    ts_unix_ms: first - 60_000 + 27_500,
    cpu_busy: (0 + 2 + 4 + 6 + 8 + 10) / 12 / 6,
    mem_free_mb: null,
    net_rx_kbps: null,
    net_tx_kbps: null,
    sessions: 0,
    gpus: [{ gpu_index: 0, encoder_busy: null, vram_mb_used: null }],
  });
  expect(
    new Set(minutes.slice(1).map(({ ts_unix_ms }, n) => ts_unix_ms - (minutes[n]?.ts_unix_ms ?? 0))),
  ).toEqual(new Set([60_000]));
});

test('a minute in which another GPU replaced one has the new one, with its own number', () => {
  const history = new LoadHistory();
  for (let n = 0; n < 72; n++) history.add(beat(), [n < 4 ? GPU : { ...GPU, id: 'b', index: 1 }], n * 5_000);
  expect(history.samples()[0]?.gpus.map(({ gpu_index }) => gpu_index)).toEqual([1]);
});

test('a minute in which the GPUs changed has the new ones', () => {
  const history = new LoadHistory();
  const load = (index: number) => beat({ encoder_load: [{ gpu_index: index, sessions: 0, load: 0.5 }] });
  for (let n = 0; n < 72; n++)
    if (n < 4) history.add(load(0), [GPU], n * 5_000);
    else history.add(load(1), [GPU, { ...GPU, id: 'b', index: 1 }], n * 5_000);
  expect(history.samples()[0]?.gpus).toEqual([
    { gpu_index: 0, encoder_busy: null, vram_mb_used: null },
    { gpu_index: 1, encoder_busy: 0.5, vram_mb_used: null },
  ]);
});
