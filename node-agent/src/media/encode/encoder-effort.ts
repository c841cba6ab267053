import type { PropertyValue } from '@footlight/gst';
import type { MediaSettings } from '../session/media-settings.ts';
import type { EncoderRow } from './encoders.ts';

/** Fastest target usage of VA encoders (GStreamer property target-usage, 1 to 7). */
const FASTEST_USAGE = 7;

/**
 * Number of steps by which a running encoder can be made faster. openh264 already runs at its lowest complexity, and
 * the other encoders read their preset only at the start.
 */
export function effortSteps(row: EncoderRow, settings: MediaSettings): number {
  return row.family === 'va' ? Math.max(0, FASTEST_USAGE - settings.target_usage) : 0;
}

/** Encoder properties after a number of steps, which is at most effortSteps(). */
export function effortProperties(
  row: EncoderRow,
  settings: MediaSettings,
  steps: number,
): Record<string, PropertyValue> {
  return row.family === 'va'
    ? { 'target-usage': Math.min(FASTEST_USAGE, settings.target_usage + steps) }
    : {};
}
