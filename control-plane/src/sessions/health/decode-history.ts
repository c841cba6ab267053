/**
 * What a session proves about its device: that it cannot decode the rung, or that it can after all.
 *
 * Pure; never throws. Source: docs/sessions.md, "Health".
 */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { ViewerSecond } from '../../telemetry/index.ts';
import type { JudgedSecond } from './viewer-health.ts';

/** Time in all, ms, of the seconds that came from the session's own device. */
export interface DecodeCount {
  /** Spent in client_decode_degrading. */
  readonly degradedMs: number;
  readonly smoothMs: number;
  /** The device said that it cannot decode the codec at all. */
  readonly isUnsupported: boolean;
}

export const NOTHING_COUNTED: DecodeCount = { degradedMs: 0, smoothMs: 0, isUnsupported: false };

/** fail: the device cannot decode the rung. forget: it can, so a failure of an earlier session counts no longer. */
export type DecodeOutcome = 'fail' | 'forget';

const FAILED_AFTER_MS = 60 * SECOND_MS;
const FORGOTTEN_AFTER_MS = 5 * MINUTE_MS;

/**
 * Adds one second of the session's device.
 * @param isOverridden the network has a verdict of its own, so the session is not in client_decode_degrading
 */
export function countSecond(
  count: DecodeCount,
  { health }: Pick<ViewerSecond, 'health'>,
  { during, provedMs }: JudgedSecond,
  isOverridden: boolean,
): DecodeCount {
  const isDegraded = during === 'client_decode_degrading' && !isOverridden;
  return {
    degradedMs: count.degradedMs + (isDegraded ? provedMs : 0),
    smoothMs: count.smoothMs + (health === 'smooth' ? provedMs : 0),
    isUnsupported: count.isUnsupported || health === 'client_unsupported',
  };
}

/** @param stored what this session stored already; null: nothing */
export function decideOutcome(count: DecodeCount, stored: DecodeOutcome | null): DecodeOutcome | null {
  if (stored === 'fail') return null;
  if (count.isUnsupported || count.degradedMs >= FAILED_AFTER_MS) return 'fail';
  return stored === null && count.smoothMs >= FORGOTTEN_AFTER_MS ? 'forget' : null;
}
