/** Rates a second of measurements for people. Pure. */
import type { ClientHealth, ClientMetrics } from '@footlight/protocol/telemetry';
import type { Quality } from '../types.ts';

/** Facts of one second besides the metrics. */
export interface SecondFacts {
  /** frame rate the session is made for */
  targetFps: number;
  /** share of packets lost in this second, 0–1; null without packets */
  loss: number | null;
  /** frames that arrived whole in this second; undefined where the browser does not count them */
  received: number | undefined;
  /** frames decoded in this second; undefined before the second report */
  decoded: number | undefined;
  /** frames dropped in this second */
  dropped: number;
  /** freezes in this second */
  freezes: number;
  hidden: boolean;
}

type Mark = [value: number | undefined, good: number, poor: number, say: (value: number) => string];

/** Words about the device that need no measurement; a verdict on it comes first in the session's record too. */
const DEVICE_WORDS: Partial<Record<ClientHealth, string>> = {
  decode_degrading: 'this device decodes too slowly; a lower quality helps',
  presentation_degrading: 'this device shows the picture unevenly; other programs may keep it busy',
};

/**
 * The stream's quality in one word. Above the threshold `good` it is good, above `poor` it is poor; the worst value
 * gives the reason.
 * @param health of the device in the same second; where it copes badly, the quality is at most good
 */
export function judgeQuality(metrics: ClientMetrics, facts: SecondFacts, health: ClientHealth): Quality {
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
    [DEVICE_WORDS[health] === undefined ? 0 : 1, 0, 1, () => DEVICE_WORDS[health] ?? ''],
  ];
  let good: string | null = null;
  for (const [value, goodLimit, poorLimit, say] of marks) {
    if (value === undefined || value <= goodLimit) continue;
    if (value > poorLimit) return { word: 'poor', reason: say(value) };
    good ??= say(value);
  }
  return good === null ? { word: 'excellent', reason: '' } : { word: 'good', reason: good };
}
