/** Rates the quality of one second in a word that people understand. Pure. */
import type { ClientHealth, ClientMetrics } from '@footlight/protocol/telemetry';
import type { DelaySplit, Quality, QualityCause } from '../types.ts';

/** Facts of one second in addition to the metrics. */
export interface SecondFacts {
  /** frame rate of the session */
  targetFps: number;
  /** share of packets lost in this second, 0–1; null without packets */
  loss: number | null;
  /** frames that arrived whole in this second; undefined if the browser does not count them */
  received: number | undefined;
  /** frames decoded in this second; undefined before the second report */
  decoded: number | undefined;
  /** frames dropped in this second */
  dropped: number;
  /** freezes in this second */
  freezes: number;
  hidden: boolean;
}

type Mark = [value: number | undefined, good: number, poor: number, cause: (value: number) => QualityCause];

/** Causes for the states of a device that is too slow. */
const DEVICE_CAUSES: Partial<Record<ClientHealth, QualityCause>> = {
  decode_degrading: { kind: 'decoding' },
  presentation_degrading: { kind: 'presenting' },
};
/**
 * Limits of a wait on the host or in the browser's buffer, ms: above the first limit the quality is `good`, above the
 * second it is `poor`. Chosen, not measured.
 */
const WAIT_MS = [60, 200] as const;
/** The same two limits for the share of frames that arrived but were not shown. Chosen, not measured. */
const MISSING = [0.1, 0.35] as const;
/**
 * The same two limits for the share of frames that did not arrive. Below 5/6 of the frames, the verdict of a session
 * says that the host does not deliver steadily (docs/troubleshooting.md, "Verdicts"), so the bar must not say `good`.
 */
const NOT_ARRIVED = [0.1, 1 / 6] as const;
/**
 * Longest normal time on the host in frame times: encoding may take one frame time, and a capture waits half a frame
 * time on average.
 */
const HOST_FRAMES = 1.5;
/**
 * Delays in ms: above the first value a click feels late, above the second the app is hard to use. Chosen, not
 * measured.
 */
const DELAY_MS = [150, 400] as const;

/**
 * Judges the stream's quality in one word. Without an exceeded limit it is `excellent`; above the first limit of a
 * value it is `good`, above the second `poor`. The worst value is the cause; of equally bad values, the first.
 * @param health of the device in the same second; if the device is too slow, the quality is at most `good`
 * @param delay of the pictures in that second; null: not known
 */
export function judgeQuality(
  metrics: ClientMetrics,
  facts: SecondFacts,
  health: ClientHealth,
  delay: Pick<DelaySplit, 'capture_ms' | 'encode_ms'> | null,
): Quality {
  const number = (value: number | boolean | undefined) => (typeof value === 'number' ? value : undefined);
  const fps = number(metrics.fps);
  const wanted = Math.max(1, facts.targetFps);
  const missing = fps === undefined || facts.hidden ? undefined : Math.max(0, 1 - fps / wanted);
  const { received } = facts;
  const notArrived =
    received === undefined || facts.hidden ? undefined : Math.max(0, (wanted - received) / wanted);
  const hostGoodMs = Math.max(WAIT_MS[0], (HOST_FRAMES * 1000) / wanted);
  const device = DEVICE_CAUSES[health];
  const marks: Mark[] = [
    [facts.hidden ? 0 : facts.freezes, 0, 1, () => ({ kind: 'frozen' })],
    [
      delay === null ? undefined : delay.capture_ms + delay.encode_ms,
      hostGoodMs,
      WAIT_MS[1],
      (ms) => ({ kind: 'host_wait', ms }),
    ],
    [notArrived, ...NOT_ARRIVED, () => ({ kind: 'few_arrive', arrived: received ?? 0, wanted })],
    [missing, ...MISSING, () => ({ kind: 'few_frames', shown: fps ?? 0, wanted })],
    [facts.loss ?? undefined, 0.005, 0.05, (share) => ({ kind: 'loss', share })],
    [number(metrics.rtt_ms), 40, 120, (ms) => ({ kind: 'network_delay', ms })],
    [number(metrics.jitter_ms), 10, 40, (ms) => ({ kind: 'network_jitter', ms })],
    [number(metrics.jitter_buffer_ms), ...WAIT_MS, (ms) => ({ kind: 'buffer', ms })],
    [device && 1, 0, 1, () => device ?? { kind: 'presenting' }],
    [number(metrics.glass_to_glass_ms), ...DELAY_MS, (ms) => ({ kind: 'picture_delay', ms })],
  ];
  let good: QualityCause | null = null;
  for (const [value, goodLimit, poorLimit, causeOf] of marks) {
    if (value === undefined || value <= goodLimit) continue;
    if (value > poorLimit) return { word: 'poor', cause: causeOf(value) };
    good ??= causeOf(value);
  }
  return good === null ? { word: 'excellent', cause: null } : { word: 'good', cause: good };
}
