/**
 * Binary messages of the channels input and motion. Numbers are little-endian. Each data-channel message contains
 * exactly one message. Header, 12 bytes: u8 kind · u8 flags · u16 reserved · u32 seq (per channel and direction, from
 * 1, wraps) · u32 t (low 32 bits of the sender's monotonic milliseconds).
 */

export const KIND = {
  key: 0x01,
  text: 0x02,
  release_all: 0x03,
  button: 0x04,
  wheel: 0x05,
  touch: 0x06,
  pad_on: 0x07,
  pad_off: 0x08,
  pointer_abs: 0x10,
  pointer_rel: 0x11,
  pad_state: 0x12,
  ping: 0x20,
  pong: 0x21,
  frame: 0x30,
  rumble: 0x31,
} as const;

/** kind, flags, reserved, seq and t. */
export const HEADER_BYTES = 12;
export const TOUCH_ACTION = { down: 0, move: 1, up: 2, cancel: 3 } as const;

/** seq and t of the header; both wrap at 32 bits. */
export interface Stamp {
  seq: number;
  t: number;
}

export interface Key extends Stamp {
  kind: 'key';
  /** evdev code */
  code: number;
  down: boolean;
  /** bits of LOCK that are set on the sender's keyboard */
  locks: number;
}
export interface Text extends Stamp {
  kind: 'text';
  text: string;
}
export interface ReleaseAll extends Stamp {
  kind: 'release_all';
}
export interface Button extends Stamp {
  kind: 'button';
  /** 0 left, 1 middle, 2 right, 3 back, 4 forward */
  button: number;
  down: boolean;
  /** 0–65535; null: the pointer's current position */
  position: { x: number; y: number } | null;
}
export interface Wheel extends Stamp {
  kind: 'wheel';
  /** 1/120 notch; positive is right and down */
  dx: number;
  dy: number;
}
export interface Touch extends Stamp {
  kind: 'touch';
  action: 'down' | 'move' | 'up' | 'cancel';
  contact: number;
  x: number;
  y: number;
  /** 0–255 */
  pressure: number;
}
export interface PadOn extends Stamp {
  kind: 'pad_on';
  index: number;
  rumble: boolean;
}
export interface PadOff extends Stamp {
  kind: 'pad_off';
  index: number;
}
export interface PointerAbs extends Stamp {
  kind: 'pointer_abs';
  x: number;
  y: number;
}
export interface PointerRel extends Stamp {
  kind: 'pointer_rel';
  /** running total of the movement in 1/16 stream pixel, signed, wraps at 32 bits */
  sum_x: number;
  sum_y: number;
}
export interface PadState extends Stamp {
  kind: 'pad_state';
  index: number;
  left_trigger: number;
  right_trigger: number;
  /** bit n: button n of the standard mapping */
  buttons: number;
  /** left x, left y, right x, right y; −32767…32767; down is positive */
  axes: [number, number, number, number];
}
export interface Ping extends Stamp {
  kind: 'ping';
  /** Unix milliseconds of the client, with fractions */
  client_ms: number;
}
export interface Pong extends Stamp {
  kind: 'pong';
  ping_seq: number;
  client_ms: number;
  receive_ms: number;
  send_ms: number;
}
export interface Frame extends Stamp {
  kind: 'frame';
  rtp_timestamp: number;
  /** milliseconds, in steps of 0.1 */
  encode_ms: number;
  /** Unix milliseconds of the host */
  capture_ms: number;
  /** last input seq that was applied before this frame was captured; 0: none */
  input_seq: number;
  /** RTP timestamp of the first frame that contained this input */
  input_rtp_timestamp: number;
  motion_seq: number;
}
export interface Rumble extends Stamp {
  kind: 'rumble';
  index: number;
  /** 0–65535 */
  strong: number;
  weak: number;
  /** 0: stop */
  duration_ms: number;
}

export type InputMessage =
  | Key
  | Text
  | ReleaseAll
  | Button
  | Wheel
  | Touch
  | PadOn
  | PadOff
  | PointerAbs
  | PointerRel
  | PadState
  | Ping
  | Pong
  | Frame
  | Rumble;

/** Messages that a viewer sends. */
export type ViewerMessage = Exclude<InputMessage, Pong | Frame | Rumble>;
