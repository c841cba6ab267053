/** Values of an app whose creation names none. Without schemas, so that pages can import them. */

/** Where an app sees its home. */
export const DEFAULT_HOME_PATH = '/home/service';

/** The stream without a profile (pixels, frames and kilobits a second), and the encode slots of its sessions. */
export const APP_DEFAULTS = {
  default_width: 1920,
  default_height: 1080,
  default_fps: 60,
  default_bitrate_kbps: 15_000,
  default_encode_slots: 1,
} as const;
