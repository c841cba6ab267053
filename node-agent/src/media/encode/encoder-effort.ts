import type { PropertyValue } from '@footlight/gst';
import type { MediaSettings } from '../session/media-settings.ts';
import type { EncoderRow } from './encoders.ts';

/** The fastest target usage of a VA encoder. */
const FASTEST_USAGE = 7;

/**
 * Steps by which a running encoder can be made faster (count). openh264 runs at its lowest complexity from the start,
 * and the others take their preset only when they begin.
 */
export function effortSteps(row: EncoderRow, settings: MediaSettings): number {
  return row.family === 'va' ? Math.max(0, FASTEST_USAGE - settings.target_usage) : 0;
}

/** Properties of the encoder that is so many steps faster; no more than effortSteps(). */
export function effortProperties(
  row: EncoderRow,
  settings: MediaSettings,
  steps: number,
): Record<string, PropertyValue> {
  return row.family === 'va'
    ? { 'target-usage': Math.min(FASTEST_USAGE, settings.target_usage + steps) }
    : {};
}
