import { isKnobValue, KNOBS } from '@footlight/protocol/agent';
import type { LadderSettings, RateSettings } from '../rate/rate-settings.ts';

/** The host settings that a media worker uses, under the names of the table of knobs. */
export interface MediaSettings extends RateSettings, LadderSettings {
  gop: number;
  slices: number;
  target_usage: number;
  queue_buffers: number;
  /** CUDA's number of the GPU, where there are several. */
  cuda_device: number;
}

/**
 * @param settings effective host settings. A missing or bad value takes its default: the agent has reported a bad one
 *   in readiness already, and a session must start.
 */
export function readMediaSettings(settings: Record<string, unknown>): MediaSettings {
  const values = KNOBS.map((knob) => {
    const value = settings[knob.key];
    return [knob.key, isKnobValue(knob, value) ? value : knob.default];
  });
  // The table gives every key of the interface with its type; media-facts.test.ts checks that.
  return Object.fromEntries(values) as unknown as MediaSettings;
}
