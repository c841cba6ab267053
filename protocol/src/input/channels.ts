/** The three data channels of a viewer, which are negotiated by number, and their limits. */

export interface ChannelSpec {
  id: number;
  label: string;
  ordered: boolean;
  /** null: retransmitted until delivered */
  maxRetransmits: number | null;
  /** largest message in bytes */
  maxMessageBytes: number;
}

/**
 * input: reliable messages. motion: messages that a later one supersedes. control: JSON.
 *
 * The limits are set by the longest messages. input: a TEXT of MAX_TEXT_BYTES after its header. motion: a PONG of 44
 * bytes. control: twice a clipboard of 64 KiB, because JSON escapes a line end with two bytes.
 */
export const CHANNELS = {
  input: { id: 0, label: 'input', ordered: true, maxRetransmits: null, maxMessageBytes: 1100 },
  motion: { id: 1, label: 'motion', ordered: false, maxRetransmits: 0, maxMessageBytes: 64 },
  control: { id: 2, label: 'control', ordered: true, maxRetransmits: null, maxMessageBytes: 128 * 1024 },
} as const satisfies Record<string, ChannelSpec>;
export type ChannelName = keyof typeof CHANNELS;
/** Name of the channel for files. Only the agent opens this channel; its messages are in files.ts. */
export const FILES_LABEL = 'files';

/**
 * Number of buffered bytes above which cursor and clipboard wait (control), and FRAMEs are skipped (motion). It equals
 * eight of the longest control messages, or 17 s of FRAMEs at 60 a second, so only a stalled path exceeds it.
 */
export const CONTROL_BUFFER_BYTES = 1024 * 1024;
export const MOTION_BUFFER_BYTES = 64 * 1024;

/**
 * Limit of the ordered channel. A person presses a few dozen keys and buttons a second, but a wheel or touch device
 * sends up to 250 reports.
 */
export const INPUT_RATE_PER_SECOND = 500;
/**
 * Limit of the motion channel. The pointer and four pads with 250 states a second need 1,250; the rest is for pings and
 * touches.
 */
export const MOTION_RATE_PER_SECOND = 2_000;
/**
 * A connection whose input exceeds its rate for this time is closed (`input_flood`). A path that was stalled delivers
 * shorter bursts.
 */
export const INPUT_FLOOD_MS = 5_000;
/**
 * Number of malformed messages within the window after which the connection is closed with `input_malformed`. This is
 * 20 a second; Footlight's own page never sends malformed messages. Chosen, not measured.
 */
export const INPUT_MALFORMED_LIMIT = 200;
export const INPUT_MALFORMED_WINDOW_MS = 10_000;
/** Silence on all channels after which pressed keys and buttons are released. It equals three missing pings. */
export const RELEASE_ALL_AFTER_MS = 3_000;
/**
 * Interval of pings. It detects a dead path within RELEASE_ALL_AFTER_MS, and clock drift before it reaches a
 * millisecond.
 */
export const PING_INTERVAL_MS = 1_000;
/**
 * Number and interval of the first pings after connecting. The fastest of them gives the clock offset for the first
 * picture.
 */
export const PING_BURST = 8;
export const PING_BURST_INTERVAL_MS = 200;
/** Limit of pings: twice the rate of the burst. */
export const PING_MAX_PER_SECOND = 10;
/** Limit of pointer messages: more than the number of pictures of the fastest stream (240 fps). */
export const POINTER_MAX_PER_SECOND = 250;
/**
 * FRAME messages per second while frame_timing is off: enough for the statistics, which the page updates once a second.
 */
export const FRAME_IDLE_PER_SECOND = 4;
/** Limit of FRAMEs that report an input: one for each picture at the usual frame rate. */
export const FRAME_INPUT_PER_SECOND = 60;
/** The motion channel does not retransmit. So a changed pad state is sent three more times, within four pictures. */
export const PAD_REPEAT_MS = 20;
export const PAD_REPEATS = 3;
/**
 * Interval at which an unchanged pad state is sent again, so that a state whose repeats were all lost is soon
 * corrected.
 */
export const PAD_IDLE_MS = 500;
/**
 * The same number as in XInput, because these pads are for games that use XInput. Source: XUSER_MAX_COUNT in Xinput.h.
 */
export const MAX_PADS = 4;
/** The number of a person's fingers. */
export const MAX_CONTACTS = 10;
/** Enough for a word or phrase of an input method. A longer text is split into several messages. */
export const MAX_TEXT_BYTES = 1024;
/** Distance in pixels above which a relative move only sets a new base. It is wider than the widest stream (7,680). */
export const POINTER_REL_MAX_PX = 8_192;
/** Fixed-point unit of POINTER_REL: 1/16 stream pixel, so that slow moves in a scaled picture are not rounded away. */
export const POINTER_REL_UNIT = 16;
/** Units of one wheel notch, the same as REL_WHEEL_HI_RES of Linux. Source: Documentation/input/event-codes.rst. */
export const WHEEL_NOTCH = 120;
/**
 * Longest duration in one message. Longer effects are sent again, so a pad stops after this time if its connection
 * dies.
 */
export const RUMBLE_MAX_MS = 5_000;

/**
 * Whether sequence number `a` is newer than `b`, also when the numbers wrap at 32 bits.
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

/**
 * Converts a position between 0 (left or top edge) and 1 (right or bottom edge) to a 16-bit coordinate; other positions
 * are clamped.
 */
export function fractionToCoordinate(fraction: number): number {
  if (!(fraction > 0)) return 0;
  return fraction >= 1 ? 65535 : Math.round(fraction * 65535);
}
