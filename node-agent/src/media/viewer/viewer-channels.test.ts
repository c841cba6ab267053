import {
  type AgentControl,
  type ChannelName,
  CURSOR_SHAPES_KEPT,
  decodeInput,
  encodeButton,
  encodeControl,
  encodeInput,
  encodeKey,
  encodePadOn,
  encodePadState,
  encodePointerAbs,
  encodeTouch,
  type InputLane,
  type InputMessage,
  KIND,
  MOTION_RATE_PER_SECOND,
  parseAgentControl,
} from '@footlight/protocol/input';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { XInput } from '../../display/x11/x-input.ts';
import { Gamepads } from '../../input/gamepads.ts';
import { FakeDeviceFile } from '../../input/testing/fake-device-file.ts';
import { TouchScreen } from '../../input/touch-screen.ts';
import { ABS, EV } from '../../input/uinput-layout.ts';
import { SessionInput } from '../input/session-input.ts';
import type { SendResult } from '../webrtc/peer.ts';
import { ViewerChannels } from './viewer-channels.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const MUTATIONS = LONG ? 100_000 : 2_000;
const DECODES = LONG ? 100_000_000 : 200_000;
const SIZE = { width: 640, height: 480 };

let nowMs: number;
let file: FakeDeviceFile;
let gamepads: Gamepads;
let input: SessionInput;
let display: XInput;
/** What reached the display. */
let performed: unknown[][];
let offences: string[];
let clipboards: string[];
let open: ViewerChannels[];
/** Times that waiting text was given up (count). */
let dropped: number;
/** What becomes of messages to viewers. */
let outcome: SendResult;

beforeEach(() => {
  nowMs = 0;
  outcome = 'sent';
  dropped = 0;
  [performed, offences, clipboards, open] = [[], [], [], []];
  file = new FakeDeviceFile();
  gamepads = new Gamepads({
    files: [file],
    sessionId: 's',
    monotonicMs: () => nowMs,
    onRumble: () => undefined,
    onCreated: () => undefined,
    onProblem: (why) => performed.push([why]),
  });
  input = new SessionInput(SIZE, gamepads);
  const record =
    (name: string) =>
    (...values: unknown[]) =>
      performed.push([name, ...values]);
  display = {
    locks: 0,
    key: record('key'),
    button: record('button'),
    moveTo: record('moveTo'),
    moveBy: record('moveBy'),
    wheel: record('wheel'),
    text: record('text'),
    dropText: () => dropped++,
  } as unknown as XInput;
  input.connect(display, null);
});

afterEach(() => {
  for (const channels of open) channels.close();
  gamepads.close();
});

interface Connected {
  channels: ViewerChannels;
  sent: { channel: string; data: Buffer | string }[];
}

function connect(): Connected {
  const sent: Connected['sent'] = [];
  const channels = new ViewerChannels({
    pcId: '11111111-1111-4111-8111-111111111111',
    stream: {
      ...SIZE,
      fps: 60,
      bitrate_kbps: 2_000,
      abr_floor_kbps: 0,
      codec: 'h264',
      h264_profile: 'main',
      playout0_ms: 0,
      audio: false,
      mic: false,
      rungs: [],
    },
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    input,
    send: (channel, data) => {
      if (outcome === 'sent') sent.push({ channel, data });
      return outcome;
    },
    onClipboard: (text) => clipboards.push(text),
    onFreeze: () => undefined,
    onOffence: (code) => offences.push(code),
    onReady: () => undefined,
    onGreeted: () => undefined,
  });
  open.push(channels);
  channels.onOpen('control');
  channels.setActive(true);
  return { channels, sent };
}

/** Control messages of one type that went out. */
function toldOf<T extends AgentControl['type']>(
  sent: Connected['sent'],
  type: T,
): Extract<AgentControl, { type: T }>[] {
  return sent.flatMap(({ channel, data }) => {
    const parsed = channel === 'control' ? parseAgentControl(String(data)) : null;
    const message = parsed?.kind === 'message' ? parsed.message : null;
    return message?.type === type ? [message as Extract<AgentControl, { type: T }>] : [];
  });
}

const stamp = (seq: number, t = 0) => ({ seq, t });
const key = (code: number, down: boolean, seq = 1) =>
  Buffer.from(encodeKey({ ...stamp(seq), code, down, locks: 0 }));
const padOn = (rumble: boolean, seq = 1) => Buffer.from(encodePadOn({ ...stamp(seq), index: 0, rumble }));
const padState = (buttons: number, seq = 1) =>
  Buffer.from(
    encodePadState({
      ...stamp(seq),
      index: 0,
      left_trigger: 0,
      right_trigger: 0,
      buttons,
      axes: [0, 0, 0, 0],
    }),
  );

describe('gamepads of a viewer', () => {
  test('the greeting says how many there can be', () => {
    const { sent } = connect();
    const greeting = parseAgentControl(String(sent[0]?.data));
    expect(greeting).toMatchObject({
      message: { type: 'hello', max_pads: 1, features: ['cursor', 'clipboard', 'rumble', 'frame_timing'] },
    });
    expect(greeting).toMatchObject({
      message: { input: ['keyboard', 'pointer', 'text', 'touch', 'gamepad'] },
    });
  });

  test('a host without them says so', () => {
    input = new SessionInput(SIZE, null);
    expect(parseAgentControl(String(connect().sent[0]?.data))).toMatchObject({
      message: {
        max_pads: 0,
        features: ['cursor', 'clipboard', 'frame_timing'],
        input: ['keyboard', 'pointer', 'text', 'touch'],
      },
    });
  });

  test('presses reach the device, and a lost viewer leaves it neutral', () => {
    const { channels } = connect();
    channels.onMessage('input', padOn(false));
    channels.onMessage('motion', padState(1));
    channels.close();
    expect(file.isConnected).toBe(true);
    expect(file.reports).toEqual([
      [{ type: EV.key, code: 0x130, value: 1 }],
      [{ type: EV.key, code: 0x130, value: 0 }],
    ]);
  });

  test('rumble goes out on input, numbered by itself, to the viewer whose pad can', () => {
    const { channels, sent } = connect();
    const order = { strong: 65_535, weak: 0, durationMs: 200 };
    channels.onMessage('input', padOn(false));
    channels.rumble(0, order);
    channels.onMessage('input', padOn(true, 2));
    channels.rumble(0, order);
    channels.setActive(false);
    channels.rumble(0, order);
    const rumbles = sent.filter(({ channel }) => channel === 'input');
    expect(rumbles).toHaveLength(1);
    expect(decodeInput(rumbles[0]?.data as Buffer, 'input', 'viewer')).toMatchObject({
      message: { kind: 'rumble', seq: 1, index: 0, strong: 65_535, weak: 0, duration_ms: 200 },
    });
  });
});

describe('fingers of a viewer', () => {
  const finger = (action: 'down' | 'move', contact: number, x: number) =>
    Buffer.from(encodeTouch({ ...stamp(1), action, contact, x, y: 0, pressure: 0 }));
  const two = ({ channels }: Connected) => {
    channels.onMessage('input', finger('down', 0, 0));
    channels.onMessage('input', finger('down', 1, 65_535));
    channels.onMessage('motion', finger('move', 1, 0));
  };

  test('on a display that reads no devices the first one is the pointer', () => {
    two(connect());
    expect(performed).toEqual([
      ['moveTo', 0, 0],
      ['button', 0, true],
    ]);
  });

  test('on one that does, each comes to the touch screen where the display shows it, and goes with the viewer', () => {
    const touched = new FakeDeviceFile();
    input.toDisplay = (x, y) => ({ x: x * 2, y });
    const screen = new TouchScreen(touched, { sessionId: 's', size: SIZE, onProblem: () => undefined });
    input.connect(display, screen);
    const viewer = connect();
    two(viewer);
    const values = (code: number) =>
      touched.reports
        .flat()
        .flatMap((event) => (event.type === EV.abs && event.code === code ? [event.value] : []));
    expect(values(ABS.mtPositionX)).toEqual([0, 2 * (SIZE.width - 1), 0]);
    viewer.channels.close();
    expect(values(ABS.mtTrackingId)).toEqual([0, 1, -1, -1]);
    expect(performed).toEqual([]);
  });
});

describe('a second viewer', () => {
  test('what the first one held is let go before the second one counts', () => {
    const first = connect().channels;
    first.onMessage('input', key(30, true));
    first.onMessage('input', padOn(false, 2));
    first.onMessage('motion', padState(1));
    first.setActive(false);
    const second = connect().channels;
    second.onMessage('input', key(30, true));
    first.onMessage('input', key(31, true, 3));
    expect(performed).toEqual([
      ['key', 30, true],
      ['key', 30, false],
      ['key', 30, true],
    ]);
    expect(file.reports.at(-1)).toEqual([{ type: EV.key, code: 0x130, value: 0 }]);
    first.close();
    expect(performed).toHaveLength(3);
  });

  test('a clipboard counts from the newest one only, and at most five times a second', () => {
    const first = connect().channels;
    first.setActive(false);
    const second = connect().channels;
    first.onMessage('control', encodeControl({ type: 'clipboard', text: 'old' }));
    for (let count = 0; count < 7; count++) {
      second.onMessage('control', encodeControl({ type: 'clipboard', text: `${count}` }));
    }
    expect(clipboards).toEqual(['0', '1', '2', '3', '4']);
  });

  test('what apps copy goes out five times a second; of the rest the newest follows', () => {
    const { channels, sent } = connect();
    const texts = () => toldOf(sent, 'clipboard').map(({ text }) => text);
    for (let count = 0; count < 9; count++) channels.clipboard(`${count}`);
    expect(texts()).toEqual(['0', '1', '2', '3', '4']);
    nowMs = 999;
    channels.tick();
    expect(texts()).toHaveLength(5);
    nowMs = 1_000;
    channels.tick();
    channels.tick();
    expect(texts()).toEqual(['0', '1', '2', '3', '4', '8']);
  });

  test.each([
    ['65,536 new lines', '\n'.repeat(65_536)],
    ['64 KiB of control characters', '\u0001'.repeat(65_536)],
    ['more than 64 KiB', 'é'.repeat(32_769)],
  ])('%s make a message that no viewer takes, and are not sent', (_name, text) => {
    const { channels, sent } = connect();
    channels.clipboard(text);
    expect(toldOf(sent, 'clipboard')).toEqual([]);
    channels.clipboard('after it');
    expect(toldOf(sent, 'clipboard')).toHaveLength(1);
  });

  test('text beyond 64 KiB is malformed and reaches no viewer', () => {
    const { channels } = connect();
    channels.onMessage('control', JSON.stringify({ type: 'clipboard', text: 'x'.repeat(65_537) }));
    channels.onMessage('control', JSON.stringify({ type: 'clipboard', text: 'é'.repeat(32_769) }));
    expect(clipboards).toEqual([]);
  });
});

describe('pointer shapes', () => {
  const shape = (number: number) => ({
    type: 'cursor' as const,
    id: `${number}`,
    width: 1,
    height: 1,
    hot_x: 0,
    hot_y: 0,
    png: 'iVBORw0KGgo=',
  });
  const shapes = (sent: Connected['sent']) => toldOf(sent, 'cursor').map(({ id }) => Number(id));
  const shown = (sent: Connected['sent']) => toldOf(sent, 'cursor_use').at(-1)?.id;

  test('go over the channel once, and again when the viewer has forgotten them for newer ones', () => {
    const { channels, sent } = connect();
    for (let number = 0; number < CURSOR_SHAPES_KEPT; number++) channels.cursor(shape(number));
    channels.cursor(shape(0));
    expect(shapes(sent)).toHaveLength(CURSOR_SHAPES_KEPT);
    channels.cursor(shape(CURSOR_SHAPES_KEPT));
    sent.length = 0;
    channels.cursor(shape(1));
    channels.cursor(shape(0));
    expect(shapes(sent)).toEqual([0]);
    expect(shown(sent)).toBe('0');
  });

  test('of more than wait for a full channel the oldest go, and are sent when they are used again', () => {
    vi.useFakeTimers();
    const { channels, sent } = connect();
    outcome = 'full';
    for (let number = 0; number < 40; number++) channels.cursor(shape(number));
    channels.cursor(shape(39));
    outcome = 'sent';
    vi.advanceTimersByTime(100);
    vi.useRealTimers();
    expect(shapes(sent)).toEqual(Array.from({ length: 16 }, (_, index) => 24 + index));
    expect(shown(sent)).toBe('39');
    channels.cursor(shape(3));
    channels.cursor(shape(39));
    expect(shapes(sent).slice(16)).toEqual([3]);
  });
});

/** One valid message of each layout that a viewer sends, with its channel. */
const LAYOUTS: readonly (readonly [InputLane, InputMessage])[] = [
  ['input', { kind: 'key', ...stamp(1), code: 30, down: true, locks: 0 }],
  ['input', { kind: 'text', ...stamp(2), text: 'aé' }],
  ['input', { kind: 'release_all', ...stamp(3) }],
  ['input', { kind: 'button', ...stamp(4), button: 0, down: true, position: { x: 1, y: 2 } }],
  ['input', { kind: 'wheel', ...stamp(5), dx: 0, dy: 120 }],
  ['input', { kind: 'touch', ...stamp(6), action: 'down', contact: 0, x: 0, y: 0, pressure: 0 }],
  ['motion', { kind: 'touch', ...stamp(6), action: 'move', contact: 0, x: 0, y: 0, pressure: 0 }],
  ['input', { kind: 'pad_on', ...stamp(7), index: 0, rumble: true }],
  ['input', { kind: 'pad_off', ...stamp(8), index: 0 }],
  ['motion', { kind: 'pointer_abs', ...stamp(9), x: 5, y: 5 }],
  ['motion', { kind: 'pointer_rel', ...stamp(10), sum_x: 0, sum_y: 0 }],
  [
    'motion',
    {
      kind: 'pad_state',
      ...stamp(11),
      index: 0,
      left_trigger: 0,
      right_trigger: 0,
      buttons: 1,
      axes: [0, 0, 0, 0],
    },
  ],
  ['motion', { kind: 'ping', ...stamp(12), client_ms: 1 }],
];

const layout = fc.constantFrom(...LAYOUTS);
type Mutation =
  | { do: 'flip'; at: number; bits: number }
  | { do: 'cut'; at: number }
  | { do: 'grow'; at: number };
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ do: fc.constant('flip' as const), at: fc.nat(63), bits: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ do: fc.constant('cut' as const), at: fc.nat(40) }),
  fc.record({ do: fc.constant('grow' as const), at: fc.integer({ min: 1, max: 40 }) }),
);

function mutate(message: InputMessage, changes: readonly Mutation[]): Buffer {
  let bytes = Buffer.from(encodeInput(message));
  for (const change of changes) {
    if (change.do === 'cut') bytes = bytes.subarray(0, change.at);
    else if (change.do === 'grow') bytes = Buffer.concat([bytes, Buffer.alloc(change.at)]);
    else if (bytes.length > 0) {
      const at = change.at % bytes.length;
      bytes[at] = (bytes[at] ?? 0) ^ change.bits;
    }
  }
  return bytes;
}

describe('frames that are not what they should be', () => {
  const spoil = (message: InputMessage, at: number, ...values: number[]) => {
    const bytes = Buffer.from(encodeInput(message));
    bytes.set(values, at);
    return bytes;
  };
  const named = (kind: InputMessage['kind']) =>
    LAYOUTS.find(([, message]) => message.kind === kind)?.[1] as InputMessage;

  test.each<[string, InputLane, Buffer]>([
    ['no byte at all', 'input', Buffer.alloc(0)],
    ['a kind that does not exist', 'input', spoil(named('key'), 0, 0x7f)],
    ['a power key', 'input', spoil(named('key'), 12, 116, 0)],
    ['key 0', 'input', spoil(named('key'), 12, 0, 0)],
    ['key 248', 'input', spoil(named('key'), 12, 248, 0)],
    ['a key that does more than up and down', 'input', spoil(named('key'), 14, 2)],
    ['an unknown lock', 'input', spoil(named('key'), 15, 8)],
    ['text longer than it is', 'input', spoil(named('text'), 12, 4, 0)],
    ['text that is not UTF-8', 'input', spoil(named('text'), 14, 0xff)],
    ['a sixth button', 'input', spoil(named('button'), 12, 5)],
    ['an eleventh finger', 'input', spoil(named('touch'), 13, 10)],
    ['a finger that floats', 'input', spoil(named('touch'), 12, 4)],
    ['a fifth gamepad', 'input', spoil(named('pad_on'), 12, 4)],
    ['a stick beyond its end', 'motion', spoil(named('pad_state'), 20, 0, 0x80)],
    ['a ping at no time', 'motion', spoil(named('ping'), 12, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)],
    ['what only hosts send', 'motion', spoil(named('pad_state'), 0, KIND.pong)],
    ['a key on motion', 'motion', key(30, true)],
    ['a move on input', 'input', Buffer.from(encodePointerAbs({ ...stamp(1), x: 0, y: 0 }))],
    [
      'a finger that comes down on motion',
      'motion',
      Buffer.from(encodeTouch({ ...stamp(1), action: 'down', contact: 0, x: 0, y: 0, pressure: 0 })),
    ],
    ['a kind kept for later', 'input', spoil(named('key'), 0, 0x80)],
  ])('%s changes nothing', (_name, lane, bytes) => {
    const { channels, sent } = connect();
    const before = sent.length;
    channels.onMessage(lane, bytes);
    expect(performed).toEqual([]);
    expect(file.calls).toEqual([]);
    expect(sent).toHaveLength(before);
  });

  test.each(LAYOUTS.map(([lane, message]) => [message.kind, lane, message] as const))(
    '%s on %s: a byte too few or too many, and text instead of bytes, change nothing',
    (_kind, lane, message) => {
      const { channels } = connect();
      const bytes = Buffer.from(encodeInput(message));
      channels.onMessage(lane, bytes.subarray(0, -1));
      channels.onMessage(lane, Buffer.concat([bytes, Buffer.alloc(1)]));
      channels.onMessage(lane, bytes.toString('latin1'));
      expect(performed).toEqual([]);
      expect(file.calls).toEqual([]);
    },
  );

  test(`${MUTATIONS} mutated sequences: what cannot be read changes nothing, and nothing stays pressed`, () => {
    const frame = fc.tuple(layout, fc.array(mutation, { maxLength: 3 }), fc.boolean());
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 30 }), (frames) => {
        performed = [];
        const { channels } = connect();
        const down = new Set<string>();
        for (const [[lane, message], changes, swap] of frames) {
          nowMs += 50;
          const on = swap ? (lane === 'input' ? 'motion' : 'input') : lane;
          const bytes = mutate(message, changes);
          const before = performed.length + file.calls.length;
          channels.onMessage(on, bytes);
          const isRead = decodeInput(bytes, on, 'agent').kind === 'message';
          if (!isRead) expect(performed.length + file.calls.length).toBe(before);
        }
        channels.close();
        for (const [name, which, isDown] of performed) {
          if (name !== 'key' && name !== 'button') continue;
          if (isDown) down.add(`${name} ${which}`);
          else down.delete(`${name} ${which}`);
        }
        expect([...down]).toEqual([]);
      }),
      { numRuns: MUTATIONS },
    );
  }, 600_000);

  test(`${DECODES} mutated frames are decoded without a throw, and what is read is in range`, () => {
    const seeds = LAYOUTS.map(([, message]) => Buffer.from(encodeInput(message)));
    // A generator of its own: a hundred million numbers must not cost more than what they test.
    let state = 0x9e37_79b9;
    const next = () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state >>> 0;
    };
    const bytes = Buffer.alloc(64);
    let read = 0;
    for (let count = 0; count < DECODES; count++) {
      const seed = seeds[next() % seeds.length] as Buffer;
      seed.copy(bytes);
      const length = next() % 8 === 0 ? next() % 64 : seed.length;
      bytes[next() % seed.length] = next();
      bytes[next() % seed.length] = next();
      const decoded = decodeInput(bytes.subarray(0, length), next() % 2 === 0 ? 'input' : 'motion');
      if (decoded.kind !== 'message') continue;
      read++;
      const { message } = decoded;
      if (message.kind === 'key' && (message.code < 1 || message.code > 247))
        throw new Error('key out of range');
      if (message.kind === 'pad_state' && !message.axes.every(Number.isInteger)) throw new Error('odd axis');
    }
    expect(read).toBeGreaterThan(DECODES / 10);
  }, 1_800_000);

  test.each<[ChannelName, Buffer | string]>([
    ['input', Buffer.alloc(1_101, 0x80)],
    ['motion', Buffer.alloc(65, 0x80)],
    ['control', JSON.stringify({ type: 'clipboard', text: '', more: 'x'.repeat(128 * 1024) })],
  ])('more than %s carries is counted, whatever is in it', (channel, data) => {
    const { channels } = connect();
    for (let count = 0; count < 200; count++) channels.onMessage(channel, data);
    expect(offences).toEqual(['input_malformed']);
    expect(clipboards).toEqual([]);
  });

  test('200 of them in 10 s end the connection', () => {
    const { channels } = connect();
    for (let count = 0; count < 199; count++) channels.onMessage('input', Buffer.from([1]));
    expect(offences).toEqual([]);
    channels.onMessage('control', '{');
    expect(offences).toEqual(['input_malformed']);
  });

  test('a click after a storm of them still lands', () => {
    const { channels } = connect();
    for (let count = 0; count < 100; count++) channels.onMessage('motion', Buffer.from([count % 0x80, 1]));
    const click = encodeButton({ ...stamp(1), button: 0, down: true, position: { x: 65_535, y: 65_535 } });
    channels.onMessage('input', Buffer.from(click));
    expect(performed).toEqual([
      ['moveTo', 639, 479],
      ['button', 0, true],
    ]);
  });
});

test('of more than 2,000 moves in a second the rest is dropped, and the next second counts again', () => {
  const { channels } = connect();
  let seq = 0;
  const move = () => {
    seq += 1;
    channels.onMessage('motion', Buffer.from(encodePointerAbs({ ...stamp(seq), x: seq % 65_536, y: 0 })));
  };
  for (let count = 0; count < 2_500; count++) move();
  expect(performed).toHaveLength(MOTION_RATE_PER_SECOND);
  expect(offences).toEqual([]);
  nowMs += 1_000;
  move();
  expect(performed).toHaveLength(MOTION_RATE_PER_SECOND + 1);
});

test('text that waits to be typed is given up with everything else, but not by a viewer whose input does not count', () => {
  const { channels } = connect();
  channels.onMessage('input', Buffer.from(encodeInput({ kind: 'release_all', ...stamp(1) })));
  expect(dropped).toBe(1);
  channels.setActive(false);
  expect(dropped).toBe(2);
  channels.onMessage('input', Buffer.from(encodeInput({ kind: 'release_all', ...stamp(2) })));
  channels.releaseAll();
  expect(dropped).toBe(2);
});

test('what is held is let go after three seconds without a word', () => {
  const { channels } = connect();
  channels.onMessage('input', key(30, true));
  nowMs = 2_999;
  channels.tick();
  expect(performed).toHaveLength(1);
  nowMs = 3_000;
  channels.tick();
  expect(performed.at(-1)).toEqual(['key', 30, false]);
});
