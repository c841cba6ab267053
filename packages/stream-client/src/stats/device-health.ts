/** How well this device plays one second of the stream, apart from the network. Pure. */
import type { ClientHealth, ClientMetrics } from '@footlight/protocol/telemetry';
import type { SecondFacts } from './quality.ts';

export interface DeviceHealth {
  health: ClientHealth;
  /** Reason in a few words; "" for smooth. */
  reason: string;
}

/**
 * A decoder keeps up if at most this many frames of a second are missing: reports are not in step with frames, so one
 * second may count up to two frames of the next. Chosen, not measured.
 */
const IN_FLIGHT = 2;
/** Share of a second's frames that a device may miss without blame: six at 60 fps. Chosen, not measured. */
const MISSED_SHARE = 0.1;
/**
 * A smaller ratio of shown to decoded frames counts as uneven; a 50 Hz display shows 0.83 of 60. Chosen, not measured.
 */
const SHOWN_SHARE = 0.75;
/** Above this share of lost packets the network explains missing and late frames; the quality is then at most good. */
const LOSS_EXPLAINS = 0.005;
/**
 * Smallest deviation of the shown intervals that is a hitch, in frame times. Source: docs/troubleshooting.md,
 * "Verdicts".
 */
const HITCH = 1.08;
/** Smallest share of the frame rate at which a host counts as steady. Source: docs/troubleshooting.md, "Verdicts". */
const STEADY = 5 / 6;

/**
 * Judges one second. The decoder is blamed for frames that arrived whole and were not decoded in time; the display for
 * frames that were decoded and not shown evenly. A second with packet loss does not count against the device.
 *
 * A long decode time alone is no fault: hardware decoders hold several frames at once and still keep up with the rate.
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
  // Frames that arrive unevenly cannot be shown evenly.
  if (decoded < STEADY * targetFps) return null;
  const deviationMs = numberOf(metrics.present_interval_sd_ms);
  if (deviationMs >= (HITCH * 1000) / targetFps) return `frames ${Math.round(deviationMs)} ms uneven`;
  const long = numberOf(metrics.present_long_frames);
  return long > MISSED_SHARE * targetFps ? `${long} long frames` : null;
}

const numberOf = (value: number | boolean | undefined): number => (typeof value === 'number' ? value : 0);
