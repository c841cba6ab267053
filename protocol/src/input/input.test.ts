import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  coordinateToPixel,
  decodeInput,
  encodeControl,
  encodeInput,
  fractionToCoordinate,
  type InputLane,
  type InputMessage,
  type InputReceiver,
  isKeyAllowed,
  isNewerSeq,
  KEY_CODES,
  parseAgentControl,
  parseViewerControl,
  wrappedDifference,
} from './index.ts';

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
const bytes = (text: string) => Uint8Array.from(text.split(' '), (byte) => Number.parseInt(byte, 16));

const vectors: [string, string, InputMessage, InputLane, InputReceiver][] = [
  [
    'KEY A down, num lock on',
    '01 00 00 00 07 00 00 00 e8 03 00 00 1e 00 01 02',
    { kind: 'key', seq: 7, t: 1000, code: 30, down: true, locks: 2 },
    'input',
    'agent',
  ],
  [
    'TEXT é',
    '02 00 00 00 08 00 00 00 e9 03 00 00 02 00 c3 a9',
    { kind: 'text', seq: 8, t: 1001, text: 'é' },
    'input',
    'agent',
  ],
  [
    'BUTTON left down at the centre',
    '04 01 00 00 09 00 00 00 ea 03 00 00 00 01 00 00 00 80 00 80',
    { kind: 'button', seq: 9, t: 1002, button: 0, down: true, position: { x: 32768, y: 32768 } },
    'input',
    'agent',
  ],
  [
    'WHEEL one notch down',
    '05 00 00 00 0a 00 00 00 eb 03 00 00 00 00 78 00',
    { kind: 'wheel', seq: 10, t: 1003, dx: 0, dy: 120 },
    'input',
    'agent',
  ],
  [
    'POINTER_REL 4 px right, 2 px up',
    '11 00 00 00 01 00 00 00 d0 07 00 00 40 00 00 00 e0 ff ff ff',
    { kind: 'pointer_rel', seq: 1, t: 2000, sum_x: 64, sum_y: -32 },
    'motion',
    'agent',
  ],
  [
    'PAD_STATE A and R3, right trigger full, left stick full left',
    '12 00 00 00 02 00 00 00 d1 07 00 00 00 00 ff 00 01 08 00 00 01 80 00 00 00 00 00 00',
    {
      kind: 'pad_state',
      seq: 2,
      t: 2001,
      index: 0,
      left_trigger: 0,
      right_trigger: 255,
      buttons: (1 << 0) | (1 << 11),
      axes: [-32767, 0, 0, 0],
    },
    'motion',
    'agent',
  ],
  [
    'PING',
    '20 00 00 00 03 00 00 00 d2 07 00 00 00 08 c0 0d 42 77 79 42',
    { kind: 'ping', seq: 3, t: 2002, client_ms: 1750000000000.5 },
    'motion',
    'agent',
  ],
  [
    'RUMBLE strong, 200 ms',
    '31 00 00 00 01 00 00 00 05 00 00 00 00 00 ff ff 00 00 c8 00',
    { kind: 'rumble', seq: 1, t: 5, index: 0, strong: 65535, weak: 0, duration_ms: 200 },
    'input',
    'viewer',
  ],
  [
    'FRAME',
    '30 00 00 00 01 00 00 00 06 00 00 00 90 5f 01 00 2a 00 00 00 00 40 c6 0d 42 77 79 42 09 00 00 00 d8 53 01 00 29 00 00 00',
    {
      kind: 'frame',
      seq: 1,
      t: 6,
      rtp_timestamp: 90000,
      encode_ms: 4.2,
      capture_ms: 1750000000100,
      input_seq: 9,
      input_rtp_timestamp: 87000,
      motion_seq: 41,
    },
    'motion',
    'viewer',
  ],
];

describe('test vectors', () => {
  test.each(vectors)('%s', (_name, text, message, lane, receiver) => {
    expect(hex(encodeInput(message))).toBe(text);
    expect(decodeInput(bytes(text), lane, receiver)).toEqual({ kind: 'message', message });
  });
});

const u8 = fc.integer({ min: 0, max: 255 });
const u16 = fc.integer({ min: 0, max: 65535 });
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const i16 = fc.integer({ min: -32768, max: 32767 });
const i32 = fc.integer({ min: -0x80000000, max: 0x7fffffff });
const axis = fc.integer({ min: -32767, max: 32767 });
const ms = fc.double({ noNaN: true, noDefaultInfinity: true });
const pad = fc.integer({ min: 0, max: 3 });
const stamp = { seq: u32, t: u32 };
const key = fc.integer({ min: 1, max: 247 }).filter(isKeyAllowed);

const anyMessage: fc.Arbitrary<InputMessage> = fc.oneof(
  fc.record({
    kind: fc.constant('key' as const),
    ...stamp,
    code: key,
    down: fc.boolean(),
    locks: fc.integer({ min: 0, max: 7 }),
  }),
  fc.record({
    kind: fc.constant('text' as const),
    ...stamp,
    text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  }),
  fc.record({ kind: fc.constant('release_all' as const), ...stamp }),
  fc.record({
    kind: fc.constant('button' as const),
    ...stamp,
    button: fc.integer({ min: 0, max: 4 }),
    down: fc.boolean(),
    position: fc.option(fc.record({ x: u16, y: u16 })),
  }),
  fc.record({ kind: fc.constant('wheel' as const), ...stamp, dx: i16, dy: i16 }),
  fc.record({
    kind: fc.constant('touch' as const),
    ...stamp,
    action: fc.constantFrom('down' as const, 'move' as const, 'up' as const, 'cancel' as const),
    contact: fc.integer({ min: 0, max: 9 }),
    x: u16,
    y: u16,
    pressure: u8,
  }),
  fc.record({ kind: fc.constant('pad_on' as const), ...stamp, index: pad, rumble: fc.boolean() }),
  fc.record({ kind: fc.constant('pad_off' as const), ...stamp, index: pad }),
  fc.record({ kind: fc.constant('pointer_abs' as const), ...stamp, x: u16, y: u16 }),
  fc.record({ kind: fc.constant('pointer_rel' as const), ...stamp, sum_x: i32, sum_y: i32 }),
  fc.record({
    kind: fc.constant('pad_state' as const),
    ...stamp,
    index: pad,
    left_trigger: u8,
    right_trigger: u8,
    buttons: u32,
    axes: fc.tuple(axis, axis, axis, axis),
  }),
  fc.record({ kind: fc.constant('ping' as const), ...stamp, client_ms: ms }),
  fc.record({
    kind: fc.constant('pong' as const),
    ...stamp,
    ping_seq: u32,
    client_ms: ms,
    receive_ms: ms,
    send_ms: ms,
  }),
  fc.record({
    kind: fc.constant('frame' as const),
    ...stamp,
    rtp_timestamp: u32,
    encode_ms: u16.map((tenths) => tenths / 10),
    capture_ms: ms,
    input_seq: u32,
    input_rtp_timestamp: u32,
    motion_seq: u32,
  }),
  fc.record({
    kind: fc.constant('rumble' as const),
    ...stamp,
    index: pad,
    strong: u16,
    weak: u16,
    duration_ms: fc.integer({ min: 0, max: 5000 }),
  }),
);

const INPUT_KINDS = new Set(['key', 'text', 'release_all', 'button', 'wheel', 'pad_on', 'pad_off', 'rumble']);
const VIEWER_KINDS = new Set(['pong', 'frame', 'rumble']);
const laneOf = (message: InputMessage): InputLane => {
  if (message.kind === 'touch') return message.action === 'move' ? 'motion' : 'input';
  return INPUT_KINDS.has(message.kind) ? 'input' : 'motion';
};
const receiverOf = (message: InputMessage): InputReceiver =>
  VIEWER_KINDS.has(message.kind) ? 'viewer' : 'agent';

describe('binary messages', () => {
  test('decode(encode(x)) = x', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const decoded = decodeInput(encodeInput(message), laneOf(message), receiverOf(message));
        expect(decoded).toEqual({ kind: 'message', message });
      }),
      { numRuns: 2_000 },
    );
  });

  test('any bytes are read without throwing', () => {
    const lane = fc.constantFrom<InputLane>('input', 'motion');
    const receiver = fc.constantFrom<InputReceiver>('agent', 'viewer');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), lane, receiver, (data, from, to) => {
        expect(['message', 'ignored', 'malformed']).toContain(decodeInput(data, from, to).kind);
      }),
      { numRuns: 5_000 },
    );
  });

  test('another length, channel or direction is malformed', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const data = encodeInput(message);
        const lane = laneOf(message);
        const receiver = receiverOf(message);
        const other = lane === 'input' ? 'motion' : 'input';
        expect(decodeInput(data.subarray(0, -1), lane, receiver).kind).toBe('malformed');
        expect(decodeInput(Uint8Array.of(...data, 0), lane, receiver).kind).toBe('malformed');
        expect(decodeInput(data, other, receiver).kind).toBe('malformed');
        expect(decodeInput(data, lane, receiver === 'agent' ? 'viewer' : 'agent').kind).toBe('malformed');
      }),
    );
  });

  const key16 = (code: number, action: number) =>
    Uint8Array.of(1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, code & 0xff, code >> 8, action, 0);

  test.each([0, 116, 142, 143, 205, 248, 65535])('key %d is out of range', (code) => {
    expect(decodeInput(key16(code, 1), 'input')).toEqual({ kind: 'malformed', why: 'range' });
  });

  test('values outside their range are malformed', () => {
    expect(decodeInput(key16(30, 2), 'input').kind).toBe('malformed');
    expect(decodeInput(bytes('02 00 00 00 08 00 00 00 e9 03 00 00 02 00 c3 28'), 'input')).toEqual({
      kind: 'malformed',
      why: 'utf8',
    });
    expect(
      decodeInput(bytes('20 00 00 00 03 00 00 00 d2 07 00 00 00 00 00 00 00 00 f8 7f'), 'motion').kind,
    ).toBe('malformed');
    expect(decodeInput(Uint8Array.of(), 'input').kind).toBe('malformed');
  });

  test('kinds from 0x80 on are ignored without counting', () => {
    for (let kind = 0x80; kind <= 0xff; kind += 1)
      expect(decodeInput(Uint8Array.of(kind), 'input').kind).toBe('ignored');
    expect(decodeInput(Uint8Array.of(0x7f), 'input')).toEqual({ kind: 'malformed', why: 'kind' });
  });

  test('text is bounded at 1024 bytes', () => {
    const text = (length: number) => encodeInput({ kind: 'text', seq: 1, t: 0, text: 'a'.repeat(length) });
    expect(decodeInput(text(1024), 'input').kind).toBe('message');
    expect(decodeInput(text(1025), 'input').kind).toBe('malformed');
    expect(decodeInput(text(0), 'input').kind).toBe('malformed');
  });
});

describe('numbers that wrap', () => {
  test.each([
    [2, 1, true],
    [1, 1, false],
    [1, 2, false],
    [0, 0xffffffff, true],
    [5, 0xfffffff0, true],
    [0xffffffff, 0, false],
    [0x80000000, 0, false],
  ])('%d is newer than %d: %s', (a, b, newer) => {
    expect(isNewerSeq(a, b)).toBe(newer);
  });

  test('differences of totals survive the wrap', () => {
    expect(wrappedDifference(-0x80000000, 0x7fffffff)).toBe(1);
    expect(wrappedDifference(0x7fffffff, -0x80000000)).toBe(-1);
  });
});

describe('coordinates', () => {
  test.each([
    [0, 1280, 0],
    [65535, 1280, 1279],
    [32768, 1281, 640],
  ])('%d of %d pixels is pixel %d', (value, size, pixel) => {
    expect(coordinateToPixel(value, size)).toBe(pixel);
  });

  test('every pixel can be hit', () => {
    for (const size of [2, 720, 1280, 7680]) {
      for (let pixel = 0; pixel < size; pixel += Math.ceil(size / 97)) {
        expect(coordinateToPixel(fractionToCoordinate(pixel / (size - 1)), size)).toBe(pixel);
      }
    }
    expect(fractionToCoordinate(Number.NaN)).toBe(0);
    expect(fractionToCoordinate(7)).toBe(65535);
  });
});

describe('the key table', () => {
  test.each([
    ['Escape', 1],
    ['Digit1', 2],
    ['Digit0', 11],
    ['Minus', 12],
    ['Equal', 13],
    ['Backspace', 14],
    ['Tab', 15],
    ['KeyQ', 16],
    ['KeyP', 25],
    ['BracketRight', 27],
    ['Enter', 28],
    ['ControlLeft', 29],
    ['KeyA', 30],
    ['KeyL', 38],
    ['Backquote', 41],
    ['ShiftLeft', 42],
    ['Backslash', 43],
    ['KeyZ', 44],
    ['KeyM', 50],
    ['Slash', 53],
    ['ShiftRight', 54],
    ['NumpadMultiply', 55],
    ['AltLeft', 56],
    ['Space', 57],
    ['CapsLock', 58],
    ['F1', 59],
    ['F10', 68],
    ['NumLock', 69],
    ['ScrollLock', 70],
    ['Numpad7', 71],
    ['NumpadSubtract', 74],
    ['NumpadAdd', 78],
    ['Numpad1', 79],
    ['Numpad0', 82],
    ['NumpadDecimal', 83],
    ['IntlBackslash', 86],
    ['F11', 87],
    ['F12', 88],
    ['IntlRo', 89],
    ['Lang3', 90],
    ['Lang4', 91],
    ['Convert', 92],
    ['KanaMode', 93],
    ['NonConvert', 94],
    ['NumpadEnter', 96],
    ['ControlRight', 97],
    ['NumpadDivide', 98],
    ['PrintScreen', 99],
    ['AltRight', 100],
    ['Home', 102],
    ['PageUp', 104],
    ['ArrowLeft', 105],
    ['ArrowRight', 106],
    ['End', 107],
    ['ArrowDown', 108],
    ['PageDown', 109],
    ['Insert', 110],
    ['Delete', 111],
    ['AudioVolumeMute', 113],
    ['AudioVolumeDown', 114],
    ['AudioVolumeUp', 115],
    ['NumpadEqual', 117],
    ['Pause', 119],
    ['NumpadComma', 121],
    ['Lang1', 122],
    ['Lang2', 123],
    ['IntlYen', 124],
    ['MetaLeft', 125],
    ['MetaRight', 126],
    ['ContextMenu', 127],
    ['Undo', 131],
    ['Copy', 133],
    ['Paste', 135],
    ['Find', 136],
    ['Cut', 137],
    ['Help', 138],
    ['BrowserBack', 158],
    ['BrowserForward', 159],
    ['MediaTrackNext', 163],
    ['MediaPlayPause', 164],
    ['MediaTrackPrevious', 165],
    ['MediaStop', 166],
    ['BrowserRefresh', 173],
    ['NumpadParenLeft', 179],
    ['NumpadParenRight', 180],
    ['F13', 183],
    ['F24', 194],
    ['BrowserSearch', 217],
  ])('%s is %d', (code, evdev) => {
    expect(KEY_CODES.get(code)).toBe(evdev);
  });

  test('holds allowed codes, each once', () => {
    const codes = [...KEY_CODES.values()];
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.every(isKeyAllowed)).toBe(true);
    expect(KEY_CODES.size).toBe(147);
  });
});

describe('the control channel', () => {
  test('messages survive a round trip unchanged', () => {
    const viewer = {
      type: 'hello',
      protocol: 1,
      features: ['cursor'],
      viewport: { width: 1, height: 2, dpr: 1.5 },
    } as const;
    expect(parseViewerControl(encodeControl({ ...viewer, features: [...viewer.features] }))).toEqual({
      kind: 'message',
      message: viewer,
    });
    const cursor = {
      type: 'cursor',
      id: 'a',
      width: 32,
      height: 32,
      hot_x: 1,
      hot_y: 2,
      png: 'iVBO',
    } as const;
    expect(parseAgentControl(encodeControl(cursor))).toEqual({ kind: 'message', message: cursor });
  });

  test.each([
    ['a clipboard over 64 KiB', { type: 'clipboard', text: 'x'.repeat(65_537) }],
    ['a cursor without size', { type: 'cursor', id: 1, width: 0, height: 1, hot_x: 0, hot_y: 0, png: '' }],
    ['a giant cursor', { type: 'cursor', id: 1, width: 129, height: 1, hot_x: 0, hot_y: 0, png: '' }],
    ['a bye with an unknown reason', { type: 'bye', reason: 'tired' }],
  ])('%s is malformed', (_name, message) => {
    expect(parseAgentControl(JSON.stringify(message)).kind).toBe('malformed');
  });

  test('any text is read without throwing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (frame) => {
        expect(['message', 'unknown', 'malformed']).toContain(parseViewerControl(frame).kind);
        expect(['message', 'unknown', 'malformed']).toContain(parseAgentControl(frame).kind);
      }),
    );
  });
});
