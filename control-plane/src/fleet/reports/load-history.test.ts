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

test('only the last five minutes are kept', () => {
  const history = new LoadHistory();
  for (let n = 0; n < 1_000; n++) history.add(beat(), [], n * 5_000);
  const samples = history.samples();
  expect([samples.length, samples[0]?.ts_unix_ms, samples.at(-1)?.ts_unix_ms]).toEqual([
    60,
    940 * 5_000,
    999 * 5_000,
  ]);
});
