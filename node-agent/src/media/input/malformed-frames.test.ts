import {
  type ChannelName,
  decodeInput,
  encodeButton,
  encodeControl,
  encodeInput,
  encodePointerAbs,
  encodeTouch,
  type InputLane,
  type InputMessage,
  KIND,
} from '@footlight/protocol/input';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyFrame, RecordedInput } from '../testing/recorded-input.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const MUTATIONS = LONG ? 100_000 : 2_000;
const DECODES = LONG ? 100_000_000 : 200_000;

let world: RecordedInput;

beforeEach(() => {
  world = new RecordedInput();
});

afterEach(() => world.close());

const stamp = (seq: number, t = 0) => ({ seq, t });

/** One valid message for each message layout that a viewer sends, and the channel of this message. */
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

describe('malformed frames', () => {
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
    ['a key with an unknown action', 'input', spoil(named('key'), 14, 2)],
    ['an unknown lock', 'input', spoil(named('key'), 15, 8)],
    ['text with a wrong length', 'input', spoil(named('text'), 12, 4, 0)],
    ['text that is not UTF-8', 'input', spoil(named('text'), 14, 0xff)],
    ['a sixth button', 'input', spoil(named('button'), 12, 5)],
    ['an eleventh finger', 'input', spoil(named('touch'), 13, 10)],
    ['a finger that floats', 'input', spoil(named('touch'), 12, 4)],
    ['a fifth gamepad', 'input', spoil(named('pad_on'), 12, 4)],
    ['a stick beyond its end', 'motion', spoil(named('pad_state'), 20, 0, 0x80)],
    ['a ping without a valid time', 'motion', spoil(named('ping'), 12, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)],
    ['a message of hosts', 'motion', spoil(named('pad_state'), 0, KIND.pong)],
    ['a key on motion', 'motion', keyFrame(30, true)],
    ['a move on input', 'input', Buffer.from(encodePointerAbs({ ...stamp(1), x: 0, y: 0 }))],
    [
      'a finger that comes down on motion',
      'motion',
      Buffer.from(encodeTouch({ ...stamp(1), action: 'down', contact: 0, x: 0, y: 0, pressure: 0 })),
    ],
    ['a reserved kind', 'input', spoil(named('key'), 0, 0x80)],
  ])('%s changes nothing', (_name, lane, bytes) => {
    const { channels, sent } = world.connect();
    const before = sent.length;
    channels.onMessage(lane, bytes);
    expect(world.performed).toEqual([]);
    expect(world.file.calls).toEqual([]);
    expect(sent).toHaveLength(before);
  });

  test.each(LAYOUTS.map(([lane, message]) => [message.kind, lane, message] as const))(
    '%s on %s: a byte too few or too many, and text instead of bytes, change nothing',
    (_kind, lane, message) => {
      const { channels } = world.connect();
      const bytes = Buffer.from(encodeInput(message));
      channels.onMessage(lane, bytes.subarray(0, -1));
      channels.onMessage(lane, Buffer.concat([bytes, Buffer.alloc(1)]));
      channels.onMessage(lane, bytes.toString('latin1'));
      expect(world.performed).toEqual([]);
      expect(world.file.calls).toEqual([]);
    },
  );

  test(`${MUTATIONS} mutated sequences: unreadable frames have no effect, and no key stays pressed`, () => {
    const frame = fc.tuple(layout, fc.array(mutation, { maxLength: 3 }), fc.boolean());
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 30 }), (frames) => {
        world.performed = [];
        const { channels } = world.connect();
        const down = new Set<string>();
        for (const [[lane, message], changes, swap] of frames) {
          world.clock.advance(50);
          const on = swap ? (lane === 'input' ? 'motion' : 'input') : lane;
          const bytes = mutate(message, changes);
          const before = world.performed.length + world.file.calls.length;
          channels.onMessage(on, bytes);
          const isRead = decodeInput(bytes, on, 'agent').kind === 'message';
          if (!isRead) expect(world.performed.length + world.file.calls.length).toBe(before);
        }
        channels.close();
        for (const [name, which, isDown] of world.performed) {
          if (name !== 'key' && name !== 'button') continue;
          if (isDown) down.add(`${name} ${which}`);
          else down.delete(`${name} ${which}`);
        }
        expect([...down]).toEqual([]);
      }),
      { numRuns: MUTATIONS },
    );
  }, 600_000);

  test(`${DECODES} mutated frames are decoded without an exception, and decoded values are in range`, () => {
    const seeds = LAYOUTS.map(([, message]) => Buffer.from(encodeInput(message)));
    // A fast random generator, because generating a hundred million numbers must not take longer than the tested code.
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
  ])('a message too long for %s counts as malformed, whatever its content', (channel, data) => {
    const { channels } = world.connect();
    for (let count = 0; count < 200; count++) channels.onMessage(channel, data);
    expect(world.offences).toEqual(['input_malformed']);
    expect(world.clipboards).toEqual([]);
  });

  test('200 malformed messages in 10 s end the connection', () => {
    const { channels } = world.connect();
    for (let count = 0; count < 199; count++) channels.onMessage('input', Buffer.from([1]));
    expect(world.offences).toEqual([]);
    channels.onMessage('control', '{');
    expect(world.offences).toEqual(['input_malformed']);
  });

  test.each([
    ['long clipboards', encodeControl({ type: 'clipboard', text: 'é'.repeat(30_000) }), 400],
    ['short messages of an unknown type', '{"type":"later"}', 300],
  ])('a flood of %s on the control channel ends the connection', (_what, message, count) => {
    const { channels } = world.connect();
    for (let sent = 0; sent < count && world.offences.length === 0; sent++) {
      channels.onMessage('control', message);
      world.clock.advance(5);
    }
    expect(world.offences).toEqual(['input_malformed']);
  });

  test('five of the longest clipboards and five freezes a second are no flood', () => {
    const { channels } = world.connect();
    const text = 'x'.repeat(65_536);
    for (let sent = 0; sent < 100; sent++) {
      channels.onMessage('control', encodeControl({ type: 'clipboard', text }));
      channels.onMessage('control', encodeControl({ type: 'freeze', gap_ms: 300 }));
      world.clock.advance(200);
    }
    expect(world.offences).toEqual([]);
    expect(world.clipboards).toHaveLength(100);
  });

  test('a click after a storm of malformed frames is still applied', () => {
    const { channels } = world.connect();
    for (let count = 0; count < 100; count++) channels.onMessage('motion', Buffer.from([count % 0x80, 1]));
    const click = encodeButton({ ...stamp(1), button: 0, down: true, position: { x: 65_535, y: 65_535 } });
    channels.onMessage('input', Buffer.from(click));
    expect(world.performed).toEqual([
      ['moveTo', 639, 479],
      ['button', 0, true],
    ]);
  });
});
