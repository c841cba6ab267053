/** Writers of the binary messages. Each returns the bytes of exactly one message. */
import type {
  Button,
  Frame,
  InputMessage,
  Key,
  PadOff,
  PadOn,
  PadState,
  Ping,
  PointerAbs,
  PointerRel,
  Pong,
  ReleaseAll,
  Rumble,
  Stamp,
  Text,
  Touch,
  Wheel,
} from './messages.ts';
import { HEADER_BYTES, KIND, TOUCH_ACTION } from './messages.ts';

type Body<M> = Omit<M, 'kind'>;

const textEncoder = new TextEncoder();

function open(kind: number, flags: number, bytes: number, stamp: Stamp): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(bytes));
  view.setUint8(0, kind);
  view.setUint8(1, flags);
  view.setUint32(4, stamp.seq, true);
  view.setUint32(8, stamp.t, true);
  return view;
}

const done = (view: DataView<ArrayBuffer>) => new Uint8Array(view.buffer);

export function encodeKey(message: Body<Key>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.key, 0, 16, message);
  view.setUint16(12, message.code, true);
  view.setUint8(14, message.down ? 1 : 0);
  view.setUint8(15, message.locks);
  return done(view);
}

/** @param message.text 1–1024 bytes in UTF-8; the caller must split a longer text */
export function encodeText(message: Body<Text>): Uint8Array<ArrayBuffer> {
  const bytes = textEncoder.encode(message.text);
  const view = open(KIND.text, 0, HEADER_BYTES + 2 + bytes.length, message);
  view.setUint16(12, bytes.length, true);
  const out = done(view);
  out.set(bytes, HEADER_BYTES + 2);
  return out;
}

export function encodeReleaseAll(message: Body<ReleaseAll>): Uint8Array<ArrayBuffer> {
  return done(open(KIND.release_all, 0, HEADER_BYTES, message));
}

export function encodeButton(message: Body<Button>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.button, message.position === null ? 0 : 1, 20, message);
  view.setUint8(12, message.button);
  view.setUint8(13, message.down ? 1 : 0);
  view.setUint16(16, message.position?.x ?? 0, true);
  view.setUint16(18, message.position?.y ?? 0, true);
  return done(view);
}

export function encodeWheel(message: Body<Wheel>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.wheel, 0, 16, message);
  view.setInt16(12, message.dx, true);
  view.setInt16(14, message.dy, true);
  return done(view);
}

export function encodeTouch(message: Body<Touch>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.touch, 0, 20, message);
  view.setUint8(12, TOUCH_ACTION[message.action]);
  view.setUint8(13, message.contact);
  view.setUint16(14, message.x, true);
  view.setUint16(16, message.y, true);
  view.setUint8(18, message.pressure);
  return done(view);
}

export function encodePadOn(message: Body<PadOn>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.pad_on, 0, 16, message);
  view.setUint8(12, message.index);
  view.setUint8(13, message.rumble ? 1 : 0);
  return done(view);
}

export function encodePadOff(message: Body<PadOff>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.pad_off, 0, 16, message);
  view.setUint8(12, message.index);
  return done(view);
}

export function encodePointerAbs(message: Body<PointerAbs>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.pointer_abs, 0, 16, message);
  view.setUint16(12, message.x, true);
  view.setUint16(14, message.y, true);
  return done(view);
}

export function encodePointerRel(message: Body<PointerRel>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.pointer_rel, 0, 20, message);
  view.setInt32(12, message.sum_x, true);
  view.setInt32(16, message.sum_y, true);
  return done(view);
}

export function encodePadState(message: Body<PadState>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.pad_state, 0, 28, message);
  view.setUint8(12, message.index);
  view.setUint8(13, message.left_trigger);
  view.setUint8(14, message.right_trigger);
  view.setUint32(16, message.buttons, true);
  for (const [index, axis] of message.axes.entries()) view.setInt16(20 + 2 * index, axis, true);
  return done(view);
}

export function encodePing(message: Body<Ping>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.ping, 0, 20, message);
  view.setFloat64(12, message.client_ms, true);
  return done(view);
}

export function encodePong(message: Body<Pong>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.pong, 0, 44, message);
  view.setUint32(12, message.ping_seq, true);
  view.setFloat64(20, message.client_ms, true);
  view.setFloat64(28, message.receive_ms, true);
  view.setFloat64(36, message.send_ms, true);
  return done(view);
}

export function encodeFrame(message: Body<Frame>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.frame, 0, 40, message);
  view.setUint32(12, message.rtp_timestamp, true);
  view.setUint16(16, Math.min(65535, Math.max(0, Math.round(message.encode_ms * 10))), true);
  view.setFloat64(20, message.capture_ms, true);
  view.setUint32(28, message.input_seq, true);
  view.setUint32(32, message.input_rtp_timestamp, true);
  view.setUint32(36, message.motion_seq, true);
  return done(view);
}

export function encodeRumble(message: Body<Rumble>): Uint8Array<ArrayBuffer> {
  const view = open(KIND.rumble, 0, 20, message);
  view.setUint8(12, message.index);
  view.setUint16(14, message.strong, true);
  view.setUint16(16, message.weak, true);
  view.setUint16(18, message.duration_ms, true);
  return done(view);
}

/** Encodes a message of any kind. */
export function encodeInput(message: InputMessage): Uint8Array<ArrayBuffer> {
  switch (message.kind) {
    case 'key':
      return encodeKey(message);
    case 'text':
      return encodeText(message);
    case 'release_all':
      return encodeReleaseAll(message);
    case 'button':
      return encodeButton(message);
    case 'wheel':
      return encodeWheel(message);
    case 'touch':
      return encodeTouch(message);
    case 'pad_on':
      return encodePadOn(message);
    case 'pad_off':
      return encodePadOff(message);
    case 'pointer_abs':
      return encodePointerAbs(message);
    case 'pointer_rel':
      return encodePointerRel(message);
    case 'pad_state':
      return encodePadState(message);
    case 'ping':
      return encodePing(message);
    case 'pong':
      return encodePong(message);
    case 'frame':
      return encodeFrame(message);
    case 'rumble':
      return encodeRumble(message);
  }
}
