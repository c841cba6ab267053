import { HOST_SETTINGS, isSettingValue } from '@footlight/protocol/agent';
import type { LadderSettings, RateSettings } from '../rate/rate-settings.ts';

/** Host settings of a media worker, under the names of the settings table. */
export interface MediaSettings extends RateSettings, LadderSettings {
  gop: number;
  slices: number;
  target_usage: number;
  queue_buffers: number;
  /** CUDA number of the GPU. */
  cuda_device: number;
}

/**
 * @param settings effective host settings. A missing or bad value takes its default: readiness has already reported a
 *   bad one, and a session must start.
 */
export function readMediaSettings(settings: Record<string, unknown>): MediaSettings {
  const values = HOST_SETTINGS.map((setting) => {
    const value = settings[setting.key];
    return [setting.key, isSettingValue(setting, value) ? value : setting.default];
  });
  // The table has every key of the interface with its type, which media-facts.test.ts checks.
  return Object.fromEntries(values) as unknown as MediaSettings;
}

/** The settings of a measurement: rate control changes neither bitrate, size, frame rate nor effort. */
export const heldMediaSettings = (settings: MediaSettings): MediaSettings => ({
  ...settings,
  abr_mode: 'off',
  // session_tune may set any low bitrate.
  abr_floor_kbps: 1,
  abr_ladder: false,
  abr_ladder_resolution: false,
  abr_ladder_fps: false,
});
