/**
 * Derives from a session whether its device cannot decode the rung, or can decode it despite an earlier failure.
 *
 * Pure; never throws. Source: docs/sessions.md, "Health".
 */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { ViewerSecond } from '../../telemetry/index.ts';
import type { JudgedSecond } from './viewer-health.ts';

/** Total times (ms) from the seconds that the session's own device reported. */
export interface DecodeCount {
  /** Time in the state client_decode_degrading. */
  readonly degradedMs: number;
  readonly smoothMs: number;
  /** The device reported that it cannot decode the codec at all. */
  readonly isUnsupported: boolean;
}

export const NOTHING_COUNTED: DecodeCount = { degradedMs: 0, smoothMs: 0, isUnsupported: false };

/**
 * fail: the device cannot decode the rung. forget: the device can decode the rung, so a failure of an earlier session
 * no longer counts.
 */
export type DecodeOutcome = 'fail' | 'forget';

const FAILED_AFTER_MS = 60 * SECOND_MS;
const FORGOTTEN_AFTER_MS = 5 * MINUTE_MS;

/**
 * Adds one second of the session's device.
 * @param isOverridden the verdict on the network is shown instead, so the session does not count as
 *   client_decode_degrading
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

/** @param stored outcome that this session has already stored; null: none */
export function decideOutcome(count: DecodeCount, stored: DecodeOutcome | null): DecodeOutcome | null {
  if (stored === 'fail') return null;
  if (count.isUnsupported || count.degradedMs >= FAILED_AFTER_MS) return 'fail';
  return stored === null && count.smoothMs >= FORGOTTEN_AFTER_MS ? 'forget' : null;
}
