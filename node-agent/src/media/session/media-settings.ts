import { HOST_SETTINGS, isSettingValue } from '@footlight/protocol/agent';
import type { LadderSettings, RateSettings } from '../rate/rate-settings.ts';

/** Host settings that a media worker needs, with the names in the settings table. */
export interface MediaSettings extends RateSettings, LadderSettings {
  gop: number;
  slices: number;
  target_usage: number;
  queue_buffers: number;
  /** CUDA number of the GPU. */
  cuda_device: number;
}

/**
 * @param settings effective host settings. A missing or invalid value is replaced by its default, because readiness has
 * already reported it and the session must start.
 */
export function readMediaSettings(settings: Record<string, unknown>): MediaSettings {
  const values = HOST_SETTINGS.map((setting) => {
    const value = settings[setting.key];
    return [setting.key, isSettingValue(setting, value) ? value : setting.default];
  });
  // The cast is safe: media-facts.test.ts checks that the table has every key of the interface with its type.
  return Object.fromEntries(values) as unknown as MediaSettings;
}

/** The settings of a measurement. With them, rate control changes neither the picture nor its bitrate. */
export const heldMediaSettings = (settings: MediaSettings): MediaSettings => ({
  ...settings,
  abr_mode: 'off',
  // So that session_tune may set any low bitrate.
  abr_floor_kbps: 1,
  abr_ladder: false,
  abr_ladder_resolution: false,
  abr_ladder_fps: false,
});
