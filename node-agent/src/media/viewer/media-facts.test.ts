import { describe, expect, test } from 'vitest';
import { DropWatch, EncoderWatch } from '../encode/encoder-watch.ts';
import { readMediaSettings } from '../session/media-settings.ts';
import { MetricsCollector } from '../session/metrics-window.ts';
import { nativeIceServers } from '../webrtc/ice-servers.ts';

describe('watching the encoder', () => {
  test('an encoder stalls after a second, recovers, and is dead after five', () => {
    const watch = new EncoderWatch(0);
    watch.input(900);
    expect(watch.tick(999)).toBeNull();
    expect(watch.tick(1000)).toMatchObject({ kind: 'stalled', reason: 'negotiation' });
    expect(watch.tick(1500)).toBeNull();
    expect(watch.output(2000)).toEqual({ kind: 'recovered', reason: 'negotiation', stalledMs: 2000 });
    watch.input(6900);
    expect(watch.tick(3100)).toMatchObject({ kind: 'stalled' });
    expect(watch.tick(7000)).toEqual({ kind: 'dead', reason: 'no_output' });
    expect(watch.tick(9000)).toBeNull();
  });

  test('silence without input is blamed on the display', () => {
    const watch = new EncoderWatch(0);
    watch.output(10);
    expect(watch.tick(5010)).toEqual({ kind: 'dead', reason: 'input_starved' });
  });

  test('frames that leave out of order or late are counted as lost', () => {
    const drops = new DropWatch();
    for (const pts of [0, 16, 33]) drops.input(pts, pts);
    expect(drops.output(16)).toBe(1);
    expect(drops.tick(532)).toBe(0);
    expect(drops.tick(533)).toBe(1);
  });
});

test('a window contains only measured values', () => {
  const metrics = new MetricsCollector(0);
  for (let index = 0; index < 300; index++) {
    metrics.captured(index * 16.667, 1);
    metrics.encoded(10_000, 2 + (index % 3));
  }
  const window = metrics.takeWindow(5000);
  expect(window.window_ms).toBe(5000);
  expect(window.metrics).toMatchObject({
    fps: 60,
    compositor_fps: 60,
    frames_encoded: 300,
    bitrate_kbps: 4800,
  });
  expect(window.metrics.encode_ms).toBe(3);
  expect(window.metrics).not.toHaveProperty('rtp_fps');
  expect(Object.keys(window.metrics).every((key) => /^[a-z][a-z0-9_]{0,63}$/.test(key))).toBe(true);
  expect(metrics.takeWindow(10_000).metrics).toMatchObject({ fps: 0, frames_encoded: 0 });
});

test('missing or invalid settings get their defaults', () => {
  expect(readMediaSettings({})).toMatchObject({ gop: 60, slices: 8, target_usage: 6, queue_buffers: 3 });
  expect(readMediaSettings({ gop: 30, slices: '4', target_usage: 99, abr_floor_kbps: null })).toMatchObject({
    gop: 30,
    slices: 8,
    target_usage: 6,
    abr_floor_kbps: null,
  });
});

test('ICE servers that the library cannot use are left out', () => {
  expect(
    nativeIceServers([
      { urls: ['stun:stun.example:3478', 'stun:[2001:db8::2]', 'turn:turn.example', 'http://x'] },
      {
        urls: [
          'turns:turn.example?transport=tcp',
          'turns:turn.example',
          'turn:turn.example?transport=tcp',
          'turn:turn.example?transport=udp',
          'turn:[2001:db8::1]:443',
        ],
        username: 'u',
        credential: 'c',
      },
    ]),
  ).toEqual([
    { hostname: 'stun.example', port: 3478 },
    { hostname: '2001:db8::2', port: 3478 },
    { hostname: 'turn.example', port: 3478, username: 'u', password: 'c', relayType: 'TurnUdp' },
    { hostname: '2001:db8::1', port: 443, username: 'u', password: 'c', relayType: 'TurnUdp' },
  ]);
});
