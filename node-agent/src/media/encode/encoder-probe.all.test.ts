import { systemClock } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { probeEncoders } from './encoder-probe.ts';

describe('encoders are tested by encoding', () => {
  test('a host without a GPU has openh264, with a measured rate', async () => {
    const { encoders, throughput } = await probeEncoders(
      [{ index: 0, vendor: 'software', render_node: null }],
      { clock: systemClock },
    );
    expect(encoders).toEqual([
      expect.objectContaining({ family: 'openh264', codec: 'h264', available: true, live_bitrate: true }),
    ]);
    expect(throughput.openh264?.h264?.max_pixel_rate_mpix_s).toBeGreaterThan(5);
  });

  test('encoders that do not work are listed with the reason', async () => {
    const { encoders } = await probeEncoders(
      [{ index: 1, vendor: 'nvidia', render_node: '/dev/dri/renderD128' }],
      { clock: systemClock },
    );
    const nvenc = encoders.filter(({ family }) => family === 'nvenc');
    expect(nvenc).toHaveLength(3);
    for (const row of nvenc) if (!row.available) expect(row.reason).toBeTruthy();
  });
});
