import { readdirSync, readFileSync } from 'node:fs';
import { silentLogger, systemClock } from '@footlight/platform';
import { expect, test } from 'vitest';
import { createMediaWorkerPool } from '../worker/worker-pool.ts';
import { createEncoderWarmUp } from './encoder-warm-up.ts';

test('a real media worker loads its encoder, and is gone afterwards', async () => {
  const loaded: boolean[] = [];
  const pool = createMediaWorkerPool({ clock: systemClock, size: 0, ownIpc: false });
  const info = { family: 'openh264', gpu_index: 0, codec: 'h264', available: true } as const;
  const warmUp = (family: 'openh264' | 'nvenc') =>
    createEncoderWarmUp({
      clock: systemClock,
      logger: silentLogger(),
      workers: {
        async acquire() {
          const worker = await pool.acquire();
          worker.on('encoder_warm', () => {
            loaded.push(readFileSync(`/proc/${worker.pid}/maps`, 'utf8').includes('gstopenh264'));
          });
          return worker;
        },
      },
      host: () => ({
        ...{ images: 2, sessions: 0, settings: {}, renderNode: () => null },
        ...{ encoderFamily: family, encoders: [{ ...info, family, live_bitrate: true, live_resize: true }] },
      }),
    }).run({ params: {}, signal: new AbortController().signal });
  try {
    expect(await warmUp('openh264')).toEqual({
      ...{ state: 'succeeded', summary: { images: 2, workers: 2, failed: 0 } },
    });
    expect(loaded).toEqual([true, true]);
    // Must fail on a machine without an NVIDIA GPU; with a GPU, the encoder works.
    if (!readdirSync('/dev').includes('nvidia0'))
      await expect(warmUp('nvenc')).rejects.toThrow('this host has no encoder of nvenc for h264');
  } finally {
    await pool.close();
  }
}, 60_000);
