/** Rates a second of measurements for people, and for the session's health. Pure. */
import type { ClientHealth, ClientMetrics } from '@footlight/protocol/telemetry';
import type { Quality } from '../types.ts';

/** Facts of one second besides the metrics. */
export interface SecondFacts {
  /** frame rate the session is made for */
  targetFps: number;
  /** share of packets lost in this second, 0–1; null without packets */
  loss: number | null;
  /** frames dropped in this second */
  dropped: number;
  /** freezes in this second */
  freezes: number;
  hidden: boolean;
}

type Mark = [value: number | undefined, good: number, poor: number, say: (value: number) => string];

/**
 * The stream's quality in one word. Above the threshold `good` it is good, above `poor` it is poor; the worst value
 * gives the reason.
 */
export function judgeQuality(metrics: ClientMetrics, facts: SecondFacts): Quality {
  const number = (value: number | boolean | undefined) => (typeof value === 'number' ? value : undefined);
  const fps = number(metrics.fps);
  const missing =
    fps === undefined || facts.hidden ? undefined : Math.max(0, 1 - fps / Math.max(1, facts.targetFps));
  const marks: Mark[] = [
    [facts.hidden ? 0 : facts.freezes, 0, 1, () => 'the picture froze'],
    [missing, 0.1, 0.35, () => `${Math.round(fps ?? 0)} of ${facts.targetFps} frames a second`],
    [facts.loss ?? undefined, 0.005, 0.05, (value) => `${(value * 100).toFixed(1)} % of packets lost`],
    [number(metrics.rtt_ms), 40, 120, (value) => `network delay ${Math.round(value)} ms`],
    [number(metrics.jitter_ms), 10, 40, (value) => `network jitter ${Math.round(value)} ms`],
    [number(metrics.jitter_buffer_ms), 60, 200, (value) => `pictures wait ${Math.round(value)} ms`],
    [
      number(metrics.decode_ms),
      1000 / facts.targetFps,
      2000 / facts.targetFps,
      () => 'this device decodes slowly',
    ],
  ];
  let good: string | null = null;
  for (const [value, goodLimit, poorLimit, say] of marks) {
    if (value === undefined || value <= goodLimit) continue;
    if (value > poorLimit) return { word: 'poor', reason: say(value) };
    good ??= say(value);
  }
  return good === null ? { word: 'excellent', reason: '' } : { word: 'good', reason: good };
}

/** Health of this device, apart from the network. */
export function judgeHealth(
  metrics: ClientMetrics,
  facts: SecondFacts,
): { health: ClientHealth; reason: string } {
  if (facts.hidden) return { health: 'backgrounded_or_hidden', reason: 'page hidden' };
  const frameMs = 1000 / Math.max(1, facts.targetFps);
  const decode = metrics.decode_ms;
  if (typeof decode === 'number' && decode > frameMs) {
    return { health: 'decode_degrading', reason: `decoding takes ${decode.toFixed(1)} ms a frame` };
  }
  if (facts.dropped > facts.targetFps * 0.1) {
    return { health: 'decode_degrading', reason: `${facts.dropped} frames dropped` };
  }
  const long = metrics.present_long_frames;
  if (typeof long === 'number' && long > facts.targetFps * 0.1) {
    return { health: 'presentation_degrading', reason: `${long} long frames` };
  }
  return { health: 'smooth', reason: '' };
}
