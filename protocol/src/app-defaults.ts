/**
 * Values that a new app gets for fields that its creation leaves out. Without schemas, so that pages can import them.
 */

/** Path at which an app sees its home. */
export const DEFAULT_HOME_PATH = '/home/service';

/**
 * The stream of an app without a profile (pixels, frames and kilobits per second), and the encode slots of its
 * sessions.
 */
export const APP_DEFAULTS = {
  default_width: 1920,
  default_height: 1080,
  default_fps: 60,
  default_bitrate_kbps: 15_000,
  default_encode_slots: 1,
} as const;
