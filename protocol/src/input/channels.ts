/** The three data channels of a viewer, negotiated by number, with their limits. */

export interface ChannelSpec {
  id: number;
  label: string;
  ordered: boolean;
  /** null = retransmitted until delivered */
  maxRetransmits: number | null;
  /** largest message in bytes */
  maxMessageBytes: number;
}

/** input: reliable messages. motion: messages that the next one replaces. control: JSON. */
export const CHANNELS = {
  input: { id: 0, label: 'input', ordered: true, maxRetransmits: null, maxMessageBytes: 1100 },
  motion: { id: 1, label: 'motion', ordered: false, maxRetransmits: 0, maxMessageBytes: 64 },
  control: { id: 2, label: 'control', ordered: true, maxRetransmits: null, maxMessageBytes: 128 * 1024 },
} as const satisfies Record<string, ChannelSpec>;
export type ChannelName = keyof typeof CHANNELS;

/** Buffered bytes above which cursor and clipboard wait (control) and FRAME is skipped (motion). */
export const CONTROL_BUFFER_BYTES = 1024 * 1024;
export const MOTION_BUFFER_BYTES = 64 * 1024;

export const INPUT_RATE_PER_SECOND = 500;
export const MOTION_RATE_PER_SECOND = 2_000;
/** Input over its rate for this long closes the connection with `input_flood`. */
export const INPUT_FLOOD_MS = 5_000;
/** Malformed messages within the window that close the connection with `input_malformed`. */
export const INPUT_MALFORMED_LIMIT = 200;
export const INPUT_MALFORMED_WINDOW_MS = 10_000;
/** Silence on every channel after which held keys and buttons are released. */
export const RELEASE_ALL_AFTER_MS = 3_000;
export const PING_INTERVAL_MS = 1_000;
/** Number of the first pings after connecting, and their distance. */
export const PING_BURST = 8;
export const PING_BURST_INTERVAL_MS = 200;
export const PING_MAX_PER_SECOND = 10;
export const POINTER_MAX_PER_SECOND = 250;
/** FRAME timing messages while frame_timing is off. */
export const FRAME_IDLE_PER_SECOND = 4;
export const FRAME_INPUT_PER_SECOND = 60;
export const PAD_REPEAT_MS = 20;
export const PAD_REPEATS = 3;
export const PAD_IDLE_MS = 500;
export const MAX_PADS = 4;
export const MAX_CONTACTS = 10;
export const MAX_TEXT_BYTES = 1024;
/** A relative jump above this many pixels sets a new base instead of moving. */
export const POINTER_REL_MAX_PX = 8_192;
/** Fixed-point unit of POINTER_REL: 1/16 stream pixel. */
export const POINTER_REL_UNIT = 16;
/** One wheel notch. */
export const WHEEL_NOTCH = 120;
export const RUMBLE_MAX_MS = 5_000;

/**
 * Whether seq `a` is newer than `b` when numbers wrap at 32 bits.
 * Source: RFC 1982, serial number arithmetic.
 */
export function isNewerSeq(a: number, b: number): boolean {
  const distance = (a - b) >>> 0;
  return distance !== 0 && distance < 0x8000_0000;
}

/** Difference a − b of two wrapping unsigned 32-bit counters, as a signed number. */
export function wrappedDifference(a: number, b: number): number {
  return (a - b) | 0;
}

/** Pixel of a 16-bit coordinate on an axis of `size` pixels. */
export function coordinateToPixel(value: number, size: number): number {
  return Math.round((value * (size - 1)) / 65535);
}

/** 16-bit coordinate of a position between 0 (left or top edge) and 1 (right or bottom edge); clamped. */
export function fractionToCoordinate(fraction: number): number {
  if (!(fraction > 0)) return 0;
  return fraction >= 1 ? 65535 : Math.round(fraction * 65535);
}
