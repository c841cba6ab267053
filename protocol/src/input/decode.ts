/** Parser of binary messages. Never throws. */
import { MAX_CONTACTS, MAX_PADS, MAX_TEXT_BYTES, RUMBLE_MAX_MS } from './channels.ts';
import { isKeyAllowed } from './key-codes.ts';
import { HEADER_BYTES, type InputMessage, KIND, type Stamp } from './messages.ts';

/** Channel of a message, and the side that receives it. */
export type InputLane = 'input' | 'motion';
export type InputReceiver = 'agent' | 'viewer';

/**
 * message: valid. ignored: a kind that is reserved for later versions (0x80–0xFF), not counted as a fault. malformed:
 * dropped and counted.
 */
export type DecodedInput =
  | { kind: 'message'; message: InputMessage }
  | { kind: 'ignored' }
  | { kind: 'malformed'; why: 'length' | 'kind' | 'channel' | 'range' | 'utf8' };

type Why = Extract<DecodedInput, { kind: 'malformed' }>['why'];

const malformed = (why: Why): DecodedInput => ({ kind: 'malformed', why });
const TOUCH_ACTIONS = ['down', 'move', 'up', 'cancel'] as const;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

interface Layout {
  /** exact length in bytes; null for TEXT, which checks its length itself */
  bytes: number | null;
  lane: InputLane | 'either';
  receiver: InputReceiver;
  read(view: DataView, stamp: Stamp): InputMessage | null;
}

const LAYOUTS = new Map<number, Layout>([
  [KIND.key, { bytes: 16, lane: 'input', receiver: 'agent', read: readKey }],
  [
    KIND.release_all,
    { bytes: 12, lane: 'input', receiver: 'agent', read: (_, stamp) => ({ kind: 'release_all', ...stamp }) },
  ],
  [KIND.button, { bytes: 20, lane: 'input', receiver: 'agent', read: readButton }],
  [KIND.wheel, { bytes: 16, lane: 'input', receiver: 'agent', read: readWheel }],
  [KIND.touch, { bytes: 20, lane: 'either', receiver: 'agent', read: readTouch }],
  [KIND.pad_on, { bytes: 16, lane: 'input', receiver: 'agent', read: readPadOn }],
  [KIND.pad_off, { bytes: 16, lane: 'input', receiver: 'agent', read: readPadOff }],
  [KIND.pointer_abs, { bytes: 16, lane: 'motion', receiver: 'agent', read: readPointerAbs }],
  [KIND.pointer_rel, { bytes: 20, lane: 'motion', receiver: 'agent', read: readPointerRel }],
  [KIND.pad_state, { bytes: 28, lane: 'motion', receiver: 'agent', read: readPadState }],
  [KIND.ping, { bytes: 20, lane: 'motion', receiver: 'agent', read: readPing }],
  [KIND.pong, { bytes: 44, lane: 'motion', receiver: 'viewer', read: readPong }],
  [KIND.frame, { bytes: 40, lane: 'motion', receiver: 'viewer', read: readFrame }],
  [KIND.rumble, { bytes: 20, lane: 'input', receiver: 'viewer', read: readRumble }],
]);

/**
 * Parses one binary message.
 * @param bytes the whole data-channel message
 * @param lane its channel
 * @param receiver the side that receives the message; kinds that only this side sends are malformed
 */
export function decodeInput(
  bytes: Uint8Array,
  lane: InputLane,
  receiver: InputReceiver = 'agent',
): DecodedInput {
  const kind = bytes[0];
  if (kind === undefined) return malformed('length');
  if (kind >= 0x80) return { kind: 'ignored' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (kind === KIND.text) {
    return lane === 'input' && receiver === 'agent' ? decodeText(bytes, view) : malformed('channel');
  }
  const layout = LAYOUTS.get(kind);
  if (layout === undefined) return malformed('kind');
  if (bytes.length !== layout.bytes) return malformed('length');
  if (layout.receiver !== receiver || (layout.lane !== 'either' && layout.lane !== lane))
    return malformed('channel');
  const message = layout.read(view, readStamp(view));
  if (message === null) return malformed('range');
  // Down, up and cancel must use the reliable channel; only moves may be lost.
  if (message.kind === 'touch' && (message.action === 'move') !== (lane === 'motion'))
    return malformed('channel');
  return { kind: 'message', message };
}

function readStamp(view: DataView): Stamp {
  return { seq: view.getUint32(4, true), t: view.getUint32(8, true) };
}

function decodeText(bytes: Uint8Array, view: DataView): DecodedInput {
  if (bytes.length < HEADER_BYTES + 3) return malformed('length');
  const length = view.getUint16(12, true);
  if (bytes.length !== HEADER_BYTES + 2 + length) return malformed('length');
  if (length > MAX_TEXT_BYTES) return malformed('range');
  try {
    const text = utf8.decode(bytes.subarray(HEADER_BYTES + 2));
    return { kind: 'message', message: { kind: 'text', ...readStamp(view), text } };
  } catch {
    return malformed('utf8');
  }
}

function readKey(view: DataView, stamp: Stamp): InputMessage | null {
  const code = view.getUint16(12, true);
  const action = view.getUint8(14);
  const locks = view.getUint8(15);
  if (!isKeyAllowed(code) || action > 1 || locks > 7) return null;
  return { kind: 'key', ...stamp, code, down: action === 1, locks };
}

function readButton(view: DataView, stamp: Stamp): InputMessage | null {
  const button = view.getUint8(12);
  const action = view.getUint8(13);
  if (button > 4 || action > 1) return null;
  const positioned = (view.getUint8(1) & 1) === 1;
  const position = positioned ? { x: view.getUint16(16, true), y: view.getUint16(18, true) } : null;
  return { kind: 'button', ...stamp, button, down: action === 1, position };
}

function readWheel(view: DataView, stamp: Stamp): InputMessage {
  return { kind: 'wheel', ...stamp, dx: view.getInt16(12, true), dy: view.getInt16(14, true) };
}

function readTouch(view: DataView, stamp: Stamp): InputMessage | null {
  const action = TOUCH_ACTIONS[view.getUint8(12)];
  const contact = view.getUint8(13);
  if (action === undefined || contact >= MAX_CONTACTS) return null;
  const x = view.getUint16(14, true);
  const y = view.getUint16(16, true);
  return { kind: 'touch', ...stamp, action, contact, x, y, pressure: view.getUint8(18) };
}

function readPadOn(view: DataView, stamp: Stamp): InputMessage | null {
  const index = view.getUint8(12);
  if (index >= MAX_PADS) return null;
  return { kind: 'pad_on', ...stamp, index, rumble: (view.getUint8(13) & 1) === 1 };
}

function readPadOff(view: DataView, stamp: Stamp): InputMessage | null {
  const index = view.getUint8(12);
  return index >= MAX_PADS ? null : { kind: 'pad_off', ...stamp, index };
}

function readPointerAbs(view: DataView, stamp: Stamp): InputMessage {
  return { kind: 'pointer_abs', ...stamp, x: view.getUint16(12, true), y: view.getUint16(14, true) };
}

function readPointerRel(view: DataView, stamp: Stamp): InputMessage {
  return { kind: 'pointer_rel', ...stamp, sum_x: view.getInt32(12, true), sum_y: view.getInt32(16, true) };
}

function readPadState(view: DataView, stamp: Stamp): InputMessage | null {
  const index = view.getUint8(12);
  const axis = (position: number) => view.getInt16(20 + 2 * position, true);
  const axes: [number, number, number, number] = [axis(0), axis(1), axis(2), axis(3)];
  if (index >= MAX_PADS || axes.includes(-32768)) return null;
  return {
    kind: 'pad_state',
    ...stamp,
    index,
    left_trigger: view.getUint8(13),
    right_trigger: view.getUint8(14),
    buttons: view.getUint32(16, true),
    axes,
  };
}

function readPing(view: DataView, stamp: Stamp): InputMessage | null {
  const client_ms = view.getFloat64(12, true);
  return Number.isFinite(client_ms) ? { kind: 'ping', ...stamp, client_ms } : null;
}

function readPong(view: DataView, stamp: Stamp): InputMessage | null {
  const client_ms = view.getFloat64(20, true);
  const receive_ms = view.getFloat64(28, true);
  const send_ms = view.getFloat64(36, true);
  if (!Number.isFinite(client_ms) || !Number.isFinite(receive_ms) || !Number.isFinite(send_ms)) return null;
  return { kind: 'pong', ...stamp, ping_seq: view.getUint32(12, true), client_ms, receive_ms, send_ms };
}

function readFrame(view: DataView, stamp: Stamp): InputMessage | null {
  const capture_ms = view.getFloat64(20, true);
  if (!Number.isFinite(capture_ms)) return null;
  return {
    kind: 'frame',
    ...stamp,
    rtp_timestamp: view.getUint32(12, true),
    encode_ms: view.getUint16(16, true) / 10,
    capture_ms,
    input_seq: view.getUint32(28, true),
    input_rtp_timestamp: view.getUint32(32, true),
    motion_seq: view.getUint32(36, true),
  };
}

function readRumble(view: DataView, stamp: Stamp): InputMessage | null {
  const index = view.getUint8(12);
  // The receiver limits the duration, so that a sender cannot make a pad rumble for a minute.
  const duration_ms = Math.min(RUMBLE_MAX_MS, view.getUint16(18, true));
  if (index >= MAX_PADS) return null;
  return {
    kind: 'rumble',
    ...stamp,
    index,
    strong: view.getUint16(14, true),
    weak: view.getUint16(16, true),
    duration_ms,
  };
}
