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

/**
 * input: reliable messages. motion: messages that a later one supersedes. control: JSON.
 *
 * The longest messages: a TEXT of MAX_TEXT_BYTES after its header; a PONG of 44 bytes; a clipboard of 64 KiB, twice,
 * because JSON escapes line ends with two bytes.
 */
export const CHANNELS = {
  input: { id: 0, label: 'input', ordered: true, maxRetransmits: null, maxMessageBytes: 1100 },
  motion: { id: 1, label: 'motion', ordered: false, maxRetransmits: 0, maxMessageBytes: 64 },
  control: { id: 2, label: 'control', ordered: true, maxRetransmits: null, maxMessageBytes: 128 * 1024 },
} as const satisfies Record<string, ChannelSpec>;
export type ChannelName = keyof typeof CHANNELS;
/** Name of the channel for files, which the agent opens by itself; its messages are in files.ts. */
export const FILES_LABEL = 'files';

/**
 * Buffered bytes above which cursor and clipboard wait (control) and FRAME is skipped (motion): eight of the longest
 * control messages, or 17 s of FRAMEs at 60 a second; only a stalled path buffers so much.
 */
export const CONTROL_BUFFER_BYTES = 1024 * 1024;
export const MOTION_BUFFER_BYTES = 64 * 1024;

/** A person presses a few dozen keys and buttons a second; a wheel or touch device reports up to 250 times. */
export const INPUT_RATE_PER_SECOND = 500;
/** Pointer and four pads at 250 states a second are 1,250; the rest is for pings and touches. */
export const MOTION_RATE_PER_SECOND = 2_000;
/** Input over its rate for this long closes the connection (`input_flood`); a stalled path delivers shorter bursts. */
export const INPUT_FLOOD_MS = 5_000;
/**
 * Malformed messages within the window that close the connection with `input_malformed`: 20 a second, which Footlight's
 * own page never sends. Chosen, not measured.
 */
export const INPUT_MALFORMED_LIMIT = 200;
export const INPUT_MALFORMED_WINDOW_MS = 10_000;
/** Silence on every channel after which held keys and buttons are released: three missing pings. */
export const RELEASE_ALL_AFTER_MS = 3_000;
/** Detects a dead path within RELEASE_ALL_AFTER_MS, and clock drift long before it reaches a millisecond. */
export const PING_INTERVAL_MS = 1_000;
/**
 * Number and interval of the first pings after connecting. The clock offset for the first picture comes from the
 * fastest.
 */
export const PING_BURST = 8;
export const PING_BURST_INTERVAL_MS = 200;
/** Twice the rate of the burst. */
export const PING_MAX_PER_SECOND = 10;
/** More than the pictures of the fastest stream (240 fps). */
export const POINTER_MAX_PER_SECOND = 250;
/** FRAME timing messages while frame_timing is off: enough for the statistics, which the page shows once a second. */
export const FRAME_IDLE_PER_SECOND = 4;
/** FRAMEs that name an input: one for each picture at the usual rate. */
export const FRAME_INPUT_PER_SECOND = 60;
/** The motion channel does not retransmit, so a changed pad state is sent three more times within four pictures. */
export const PAD_REPEAT_MS = 20;
export const PAD_REPEATS = 3;
/** An unchanged pad state is sent again after this time, so that a state lost with all repeats is soon corrected. */
export const PAD_IDLE_MS = 500;
/** As many as XInput, whose games these pads are for. Source: XUSER_MAX_COUNT in Xinput.h. */
export const MAX_PADS = 4;
/** Fingers of a person. */
export const MAX_CONTACTS = 10;
/** A word or phrase of an input method; a longer text goes in several messages. */
export const MAX_TEXT_BYTES = 1024;
/** A relative jump above this many pixels sets a new base instead of moving: wider than the widest stream (7,680). */
export const POINTER_REL_MAX_PX = 8_192;
/** Fixed-point unit of POINTER_REL: 1/16 stream pixel, so that slow moves in a scaled picture are not rounded away. */
export const POINTER_REL_UNIT = 16;
/** One wheel notch, as REL_WHEEL_HI_RES of Linux. Source: Documentation/input/event-codes.rst. */
export const WHEEL_NOTCH = 120;
/** Effects that last longer are sent again; a pad stops after this time when its connection dies. */
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
