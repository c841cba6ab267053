import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, expect, test } from 'vitest';
import { AgentMetrics } from './agent-metrics.ts';

const ID = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
let clock: ManualClock;
let metrics: AgentMetrics;
beforeEach(() => {
  clock = new ManualClock();
  metrics = new AgentMetrics(clock);
});

/** Reads the metrics page. @returns the values by name and labels */
async function read(): Promise<Map<string, number>> {
  const text = await metrics.text({ sessions: 2, connected: true });
  const lines = text.split('\n').filter((line) => line.startsWith('footlight_agent'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

test('has encode time, rates, loss and round trip of each session in base units, and only measured values', async () => {
  metrics.observe({
    session_id: ID(1),
    metrics: { fps: 60, encode_ms_p95: 8.5, rtp_bitrate_kbps: 6_000, rtt_ms: 12, packet_loss: 0.01 },
  });
  metrics.observe({ session_id: ID(2), metrics: { fps: 30, abr_mode: 'smooth' } });
  const series = await read();
  expect(series.get('footlight_agent_session_encoded_fps{seat="0"}')).toBe(60);
  expect(series.get('footlight_agent_session_encode_seconds_p95{seat="0"}')).toBeCloseTo(0.0085);
  expect(series.get('footlight_agent_session_sent_bits_per_second{seat="0"}')).toBe(6_000_000);
  expect(series.get('footlight_agent_session_path_round_trip_seconds{seat="0"}')).toBeCloseTo(0.012);
  expect(series.get('footlight_agent_session_path_loss_ratio{seat="0"}')).toBe(0.01);
  expect(series.get('footlight_agent_session_encoded_fps{seat="1"}')).toBe(30);
  expect(series.has('footlight_agent_session_path_loss_ratio{seat="1"}')).toBe(false);
  expect(series.get('footlight_agent_sessions')).toBe(2);
  expect(series.get('footlight_agent_connected')).toBe(1);
  expect([...series.keys()].join()).not.toMatch(/00000000|smooth/);
});

test('counts the encoded frames of all sessions and the drops of each, and ignores impossible counts', async () => {
  metrics.observe({ session_id: ID(1), metrics: { frames_encoded: 300, frames_dropped: 2 } });
  metrics.observe({ session_id: ID(2), metrics: { frames_encoded: 150, interpipe_queue_drops: 4 } });
  metrics.observe({ session_id: ID(2), metrics: { frames_encoded: -5, frames_dropped: 1e300 } });
  const series = await read();
  expect(series.get('footlight_agent_frames_encoded_total')).toBe(450);
  expect(series.get('footlight_agent_frames_dropped_total{seat="0"}')).toBe(2);
  expect(series.get('footlight_agent_frames_dropped_total{seat="1"}')).toBe(0);
  expect(series.get('footlight_agent_capture_drops_total{seat="0"}')).toBe(0);
  expect(series.get('footlight_agent_capture_drops_total{seat="1"}')).toBe(4);
});

test('a later session does not get the drops of an ended session with the same seat', async () => {
  metrics.observe({ session_id: ID(1), metrics: { frames_dropped: 2, interpipe_queue_drops: 4 } });
  clock.advance(15_001);
  metrics.observe({ session_id: ID(2), metrics: { frames_dropped: 1, interpipe_queue_drops: 3 } });
  const series = await read();
  expect(series.get('footlight_agent_frames_dropped_total{seat="0"}')).toBe(1);
  expect(series.get('footlight_agent_capture_drops_total{seat="0"}')).toBe(3);
});

test('a thousand sessions one after the other have one seat', async () => {
  for (let n = 0; n < 1_000; n += 1) {
    metrics.observe({ session_id: ID(n), metrics: { fps: 60 } });
    clock.advance(16_000);
  }
  metrics.observe({ session_id: ID(1_000), metrics: { fps: 60 } });
  const seats = [...(await read()).keys()].filter((name) => name.includes('encoded_fps'));
  expect(seats).toEqual(['footlight_agent_session_encoded_fps{seat="0"}']);
});

test('an ended session is no longer listed', async () => {
  metrics.observe({ session_id: ID(1), metrics: { fps: 60, frames_dropped: 2, interpipe_queue_drops: 4 } });
  const seated = async () => [...(await read()).keys()].filter((name) => name.includes('seat="0"'));
  expect(await seated()).toHaveLength(3);
  clock.advance(15_001);
  expect(await seated()).toEqual([]);
});

test('a thousand sessions at once have 256 seats', async () => {
  for (let n = 0; n < 1_000; n += 1) metrics.observe({ session_id: ID(n), metrics: { fps: 60 } });
  const seats = [...(await read()).keys()].filter((name) => name.includes('encoded_fps'));
  expect(seats).toHaveLength(256);
});
