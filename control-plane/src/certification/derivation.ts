/** Derives a cell's verdict from its samples. Pure. Source: docs/quality.md, "Verdicts". */
import type { CertificationVerdict } from '@footlight/protocol/rest';

/** A sample of a cell's session, as its host sent it. */
export interface CellSample {
  /** Time of the host's clock, epoch ms. */
  ts_unix_ms: number;
  metrics: Readonly<Record<string, unknown>>;
}

export interface Derived {
  verdict: CertificationVerdict;
  /** Encode time per frame, ms. */
  encode_ms_p50: number;
  encode_ms_p95: number;
  encode_ms_max: number;
  /** Frames per second. */
  output_fps: number;
  /** Dropped frames per sample; may exceed 1. */
  drop_rate: number;
  live_write_stable: boolean;
  /** Time from the first to the last kept sample, ms. */
  sample_window_ms: number;
  sample_count: number;
}

/** Samples within this time after the first one are ignored, because the encoder and its rate control still settle. */
const SETTLING_MS = 6_000;
/** Limits of the verdict `ok`: shares of the frame time and of the requested frame rate. */
const OK_ENCODE_SHARE = 0.7;
const OK_FPS_SHARE = 0.97;
const OK_DROP_RATE = 0.01;
const UNSAFE_DROP_RATE = 0.05;

/** Time budget of one frame, ms. */
export const budgetMs = (fps: number): number => 1000 / fps;

/**
 * @param samples in any order; samples without an encode time or a frame rate are ignored
 * @param fps requested frame rate
 * @returns null: no sample can be used
 */
export function deriveVerdict(samples: readonly CellSample[], fps: number): Derived | null {
  const usable = samples.flatMap(readSample).sort((a, b) => a.ts - b.ts);
  const [first] = usable;
  if (first === undefined) return null;
  const kept = usable.filter(({ ts }) => ts - first.ts > SETTLING_MS);
  const n = kept.length;
  const [firstKept] = kept;
  const lastKept = kept.at(-1);
  if (firstKept === undefined || lastKept === undefined) return null;
  const encode = kept.map(({ encodeMs }) => encodeMs).sort((a, b) => a - b);
  const figures = {
    encode_ms_p50: encode[Math.floor((n * 50) / 100)] ?? 0,
    // Computed with integers, because 0.95 × n as a float can be slightly above the exact value.
    encode_ms_p95: encode[Math.ceil((n * 95) / 100) - 1] ?? 0,
    encode_ms_max: encode[n - 1] ?? 0,
    output_fps: kept.reduce((sum, sample) => sum + sample.fps, 0) / n,
    drop_rate: kept.reduce((sum, sample) => sum + sample.dropped, 0) / n,
  };
  return {
    verdict: judge(figures, fps),
    ...figures,
    live_write_stable: kept.every(({ isStable }) => isStable),
    sample_window_ms: lastKept.ts - firstKept.ts,
    sample_count: n,
  };
}

/** The verdict for measured figures. @param fps requested frame rate */
export function judge(
  { encode_ms_p95, output_fps, drop_rate }: Pick<Derived, 'encode_ms_p95' | 'output_fps' | 'drop_rate'>,
  fps: number,
): CertificationVerdict {
  const budget = budgetMs(fps);
  if (encode_ms_p95 > budget || drop_rate > UNSAFE_DROP_RATE) return 'unsafe';
  const isOk =
    encode_ms_p95 <= OK_ENCODE_SHARE * budget &&
    output_fps >= OK_FPS_SHARE * fps &&
    drop_rate <= OK_DROP_RATE;
  return isOk ? 'ok' : 'capped';
}

function readSample({ ts_unix_ms: ts, metrics }: CellSample) {
  const encodeMs = figure(metrics.encode_ms);
  const fps = figure(metrics.fps);
  if (encodeMs === null || fps === null) return [];
  const dropped = figure(metrics.frames_dropped) ?? 0;
  return [{ ts, encodeMs, fps, dropped, isStable: metrics.live_write_stable !== false }];
}

/** Larger figures are ignored as invalid, because their sums would lose precision. */
const MAX_FIGURE = Number.MAX_SAFE_INTEGER;

/** A figure from an agent; null: it is missing or invalid. */
const figure = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= MAX_FIGURE ? value : null;
