/** Judges how well this device plays one second of the stream, independently of the network. Pure. */
import type { ClientHealth, ClientMetrics } from '@footlight/protocol/telemetry';
import type { SecondFacts } from './quality.ts';

export interface DeviceHealth {
  health: ClientHealth;
  /** Reason in a few words; "" for smooth. */
  reason: string;
}

/**
 * Largest number of missing frames in a second at which a decoder counts as fast enough. A report can come while frames
 * are on the way from arrival to display, so up to two frames count in the next second. Chosen, not measured.
 */
const IN_FLIGHT = 2;
/**
 * Share of a second's frames that may be missing before the device counts as too slow: six frames at 60 fps. Chosen,
 * not measured.
 */
const MISSED_SHARE = 0.1;
/**
 * If a smaller share of the decoded frames is shown, the display counts as uneven. A 50 Hz display shows 0.83 of 60
 * fps. Chosen, not measured.
 */
const SHOWN_SHARE = 0.75;
/**
 * If the share of lost packets is above this value, missing and late frames are a fault of the network. The quality is
 * then at most `good`.
 */
const LOSS_EXPLAINS = 0.005;
/**
 * Smallest deviation of the shown intervals that counts as a hitch, in frame times. Source: docs/troubleshooting.md,
 * "Verdicts".
 */
const HITCH = 1.08;
/** Smallest share of the frame rate at which a host counts as steady. Source: docs/troubleshooting.md, "Verdicts". */
const STEADY = 5 / 6;

/**
 * Judges one second. The decoder is the cause if complete frames arrived but were not decoded in time. The display is
 * the cause if decoded frames were not shown evenly. A second with packet loss does not count against the device.
 *
 * A long decode time alone is no fault, because hardware decoders process several frames at once and still reach the
 * frame rate.
 */
export function judgeDevice(metrics: ClientMetrics, facts: SecondFacts): DeviceHealth {
  if (facts.hidden) return { health: 'backgrounded_or_hidden', reason: 'page hidden' };
  if ((facts.loss ?? 0) > LOSS_EXPLAINS) return { health: 'smooth', reason: '' };
  const decoding = whyDecodeDegrades(metrics, facts);
  if (decoding !== null) return { health: 'decode_degrading', reason: decoding };
  const showing = whyPresentationDegrades(metrics, facts);
  if (showing !== null) return { health: 'presentation_degrading', reason: showing };
  return { health: 'smooth', reason: '' };
}

function whyDecodeDegrades(
  { decode_ms }: ClientMetrics,
  { targetFps, received, decoded, dropped }: SecondFacts,
): string | null {
  const undecoded = received === undefined || decoded === undefined ? undefined : received - decoded;
  const missed = Math.max(dropped, undecoded ?? 0);
  const keepsUp = undecoded !== undefined && missed <= IN_FLIGHT;
  if (typeof decode_ms === 'number' && decode_ms > 1000 / targetFps && !keepsUp)
    return `decoding takes ${decode_ms.toFixed(1)} ms a frame`;
  if (missed <= Math.max(IN_FLIGHT, MISSED_SHARE * targetFps)) return null;
  return dropped >= missed ? `${dropped} frames dropped` : `${missed} of ${received} frames not decoded`;
}

function whyPresentationDegrades(
  metrics: ClientMetrics,
  { targetFps, decoded = 0 }: SecondFacts,
): string | null {
  const shown = numberOf(metrics.present_n);
  // Some browsers report no shown frames at all.
  if (shown > 0 && decoded - shown > IN_FLIGHT && shown < SHOWN_SHARE * decoded)
    return `${shown} of ${decoded} frames shown`;
  // If frames arrive unevenly, the display cannot show them evenly.
  if (decoded < STEADY * targetFps) return null;
  const deviationMs = numberOf(metrics.present_interval_sd_ms);
  if (deviationMs >= (HITCH * 1000) / targetFps) return `frames ${Math.round(deviationMs)} ms uneven`;
  const long = numberOf(metrics.present_long_frames);
  return long > MISSED_SHARE * targetFps ? `${long} long frames` : null;
}

const numberOf = (value: number | boolean | undefined): number => (typeof value === 'number' ? value : 0);
