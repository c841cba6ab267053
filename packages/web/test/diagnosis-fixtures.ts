/** Five minutes of a session with a bad network around the third minute. */
import type { SessionVerdict, Trace } from '@footlight/protocol/rest';

const SECOND_MS = 1_000;
const LENGTH_MS = 300 * SECOND_MS;

const END_MS = Math.floor(Date.now() / SECOND_MS) * SECOND_MS;
const window = { from_ms: END_MS - LENGTH_MS, to_ms: END_MS };

type Series = Trace['series'];

/** Repeatable noise between 0 and 1. */
const noise = (n: number): number => {
  const value = Math.sin(n * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
};
/** 1 in the middle of the bad period, 0 outside of it. */
const trouble = (second: number): number => Math.max(0, 1 - Math.abs(second - 170) / 25);

function points(everySecs: number, v: (second: number) => number | undefined): Series[string] {
  return Array.from({ length: LENGTH_MS / SECOND_MS / everySecs }, (_none, n) => n * everySecs).flatMap(
    (second) => {
      const value = v(second);
      return value === undefined ? [] : [{ ts_unix_ms: window.from_ms + second * SECOND_MS, v: value }];
    },
  );
}

let lost = 120;
const series: Series = {
  'encoder.fps': points(5, (second) => 60 - noise(second) - trouble(second) * 4),
  'encoder.encode_ms_p95': points(5, (second) => 7 + noise(second) * 2),
  'encoder.bitrate_kbps': points(5, (second) => 14_200 - trouble(second) * 9_000 + noise(second) * 900),
  'abr.setpoint_kbps': points(5, (second) => 15_000 - trouble(second) * 9_500),
  'client.fps': points(1, (second) => 60 - noise(second) * 2 - trouble(second) * 24),
  'transport.rtt_ms': points(1, (second) => 18 + noise(second) * 5 + trouble(second) * 96),
  'transport.packets_lost': points(1, (second) => {
    lost += Math.round(trouble(second) * 6 * noise(second + 1));
    return lost;
  }),
  'client.present_interval_sd_ms': points(1, (second) => 1.5 + noise(second) + trouble(second) * 22),
  'client.click_to_photon_ms': points(1, (second) =>
    noise(second + 7) > 0.6 ? 44 + noise(second) * 14 + trouble(second) * 110 : undefined,
  ),
  'client.is_hidden': points(1, (second) => (second > 60 && second < 84 ? 1 : 0)),
};

const at = (second: number) => window.from_ms + second * SECOND_MS;
const events: Trace['events'] = [
  { source: 'browser', ts_unix_ms: at(61), type: 'client.visibility_changed', payload: { hidden: true } },
  { source: 'browser', ts_unix_ms: at(84), type: 'client.visibility_changed', payload: { hidden: false } },
  {
    source: 'agent',
    ts_unix_ms: at(155),
    type: 'abr.retarget',
    payload: { from_kbps: 15_000, to_kbps: 9_400, reason: 'network_down' },
  },
  { source: 'browser', ts_unix_ms: at(164), type: 'client.freeze_detected', payload: { gap_ms: 412.7 } },
  { source: 'browser', ts_unix_ms: at(168), type: 'client.freeze_detected', payload: { gap_ms: 633.1 } },
  {
    source: 'agent',
    ts_unix_ms: at(172),
    type: 'encoder.stall',
    payload: { phase: 'detected', reason: 'no_output', since_ms: 1_040 },
  },
  {
    source: 'agent',
    ts_unix_ms: at(174),
    type: 'encoder.stall',
    payload: { phase: 'recovered', reason: 'no_output', stalled_ms: 2_110 },
  },
  {
    source: 'agent',
    ts_unix_ms: at(180),
    type: 'operator.annotation',
    payload: { label: 'Ada called: the picture hangs', tags: ['support'] },
  },
  {
    source: 'agent',
    ts_unix_ms: at(196),
    type: 'abr.retarget',
    payload: { from_kbps: 9_400, to_kbps: 14_800, reason: 'network_up' },
  },
];

const verdict: SessionVerdict = {
  verdict: 'likely_network_congestion',
  reason: 'The network lost 87 packets while the round trip took up to 104.2 ms; the encoder stalled.',
  evidence: ['transport.packets_lost', 'transport.rtt_ms', 'encoder.stall'],
  window: { ...window, n_host: 60, n_client: 300, warmup_excluded_ms: 0 },
  clock: { quality: 'measured', offset_ms: -35.2, uncertainty_ms: 4, applied: true, age_ms: 21_400 },
  evidence_tier: 'full',
  falsifiers: [
    condition('transport.packets_lost', 'delta', 87, '>', 5, 'count', true),
    condition('transport.rtt_ms', 'p95', 104.213, '>', 50, 'ms', true),
    condition('encoder.encode_ms_p95', 'p95', 8.912, '<', 16, 'ms', true),
    condition('client.is_hidden', 'any', 1, '==', 0, 'bool', false),
  ],
  thresholds_version: '1',
  report: {
    played_ms: 47 * 60_000 + 12_000,
    seconds: 571,
    smooth_fraction: 0.912,
    clicks: 212,
    click_to_photon_ms: 58.4,
    limit: 'The connection to this device lost data and answered slowly.',
    remedy:
      'Use a cable or move closer to the Wi-Fi, pause other downloads, or choose a quality with a lower bitrate.',
  },
};

function condition(
  name: string,
  estimator: SessionVerdict['falsifiers'][number]['estimator'],
  value: number,
  op: SessionVerdict['falsifiers'][number]['op'],
  threshold: number,
  unit: SessionVerdict['falsifiers'][number]['unit'],
  holds: boolean,
): SessionVerdict['falsifiers'][number] {
  return { name, estimator, value, op, threshold, unit, n: name.startsWith('encoder') ? 60 : 300, holds };
}

export const diagnosis = { verdict, window, series, events };
