import {
  type AgentControl,
  CURSOR_SHAPES_KEPT,
  decodeInput,
  encodeControl,
  encodeInput,
  encodePadOn,
  encodePadState,
  encodePointerAbs,
  encodeTouch,
  MOTION_RATE_PER_SECOND,
  parseAgentControl,
} from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeDeviceFile } from '../../input/testing/fake-device-file.ts';
import { TouchScreen } from '../../input/touch-screen.ts';
import { ABS, EV } from '../../input/uinput-layout.ts';
import { OWNER } from '../input/page-rights.ts';
import { SessionInput } from '../input/session-input.ts';
import { type ConnectedChannels, keyFrame, RecordedInput } from '../testing/recorded-input.ts';

let world: RecordedInput;

beforeEach(() => {
  world = new RecordedInput();
});

afterEach(() => world.close());

/** Sent control messages of one type. */
function toldOf<T extends AgentControl['type']>(
  sent: ConnectedChannels['sent'],
  type: T,
): Extract<AgentControl, { type: T }>[] {
  return sent.flatMap(({ channel, data }) => {
    const parsed = channel === 'control' ? parseAgentControl(String(data)) : null;
    const message = parsed?.kind === 'message' ? parsed.message : null;
    return message?.type === type ? [message as Extract<AgentControl, { type: T }>] : [];
  });
}

const stamp = (seq: number, t = 0) => ({ seq, t });
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
  test('the greeting contains the number of gamepads for the viewer', () => {
    const { sent } = world.connect();
    const greeting = parseAgentControl(String(sent[0]?.data));
    expect(greeting).toMatchObject({
      message: {
        type: 'hello',
        max_pads: 1,
        features: ['cursor', 'clipboard', 'rumble', 'frame_timing', 'keyboard_layout', 'windows'],
      },
    });
    expect(greeting).toMatchObject({
      message: { input: ['keyboard', 'pointer', 'text', 'touch', 'gamepad'] },
    });
  });

  test('the greeting of a host without gamepads contains 0', () => {
    world.input = new SessionInput(world.clock, world.size, null);
    expect(parseAgentControl(String(world.connect().sent[0]?.data))).toMatchObject({
      message: {
        max_pads: 0,
        features: ['cursor', 'clipboard', 'frame_timing', 'keyboard_layout', 'windows'],
        input: ['keyboard', 'pointer', 'text', 'touch'],
      },
    });
  });

  test('presses reach the device, and a lost viewer leaves it neutral', () => {
    const { channels } = world.connect();
    channels.onMessage('input', padOn(false));
    channels.onMessage('motion', padState(1));
    channels.close();
    expect(world.file.isConnected).toBe(true);
    expect(world.file.reports).toEqual([
      [{ type: EV.key, code: 0x130, value: 1 }],
      [{ type: EV.key, code: 0x130, value: 0 }],
    ]);
  });

  test('rumble is sent on the input channel with its own numbers, only to a viewer whose pad supports it', () => {
    const { channels, sent } = world.connect();
    const order = { strong: 65_535, weak: 0, durationMs: 200 };
    channels.onMessage('input', padOn(false));
    channels.rumble(0, order, OWNER);
    channels.onMessage('input', padOn(true, 2));
    channels.rumble(0, order, OWNER);
    channels.rumble(0, order, { role: 'gamepad', padIndex: 0 });
    channels.setActive(false);
    channels.rumble(0, order, OWNER);
    const rumbles = sent.filter(({ channel }) => channel === 'input');
    expect(rumbles).toHaveLength(1);
    expect(decodeInput(rumbles[0]?.data as Buffer, 'input', 'viewer')).toMatchObject({
      message: { kind: 'rumble', seq: 1, index: 0, strong: 65_535, weak: 0, duration_ms: 200 },
    });
  });
});

describe('a guest', () => {
  const watch = { role: 'watch', padIndex: null } as const;

  test('who watches changes neither clipboard nor windows nor keyboard layout', async () => {
    const { channels } = world.connect(watch);
    channels.onMessage('control', encodeControl({ type: 'clipboard', text: 'hostile' }));
    channels.onMessage('control', encodeControl({ type: 'window_use', id: 1 }));
    channels.onMessage('control', encodeControl({ type: 'keyboard_layout', layout: 'de', variant: null }));
    channels.onMessage('input', keyFrame(30, true));
    channels.onMessage('input', padOn(false));
    channels.close();
    expect([world.clipboards, world.windowUses, world.performed, world.offences]).toEqual([[], [], [], []]);
    expect(world.dropped).not.toContain(OWNER);
    expect(world.file.isConnected).toBe(false);
  });

  test('gets no clipboard of the session', () => {
    const { channels, sent } = world.connect(watch);
    channels.clipboard('a secret');
    expect(toldOf(sent, 'clipboard')).toEqual([]);
  });

  test('with a gamepad keeps it announced while the owner is away, but does not use it', () => {
    const { channels } = world.connect({ role: 'gamepad', padIndex: 0 });
    world.acceptsInput = false;
    channels.onMessage('input', padOn(false));
    channels.onMessage('motion', padState(1));
    expect([world.file.isConnected, world.file.reports]).toEqual([true, []]);
    world.acceptsInput = true;
    channels.onMessage('motion', padState(1, 2));
    expect(world.file.reports).toHaveLength(1);
  });

  test('with a gamepad releases its buttons when the page loses the focus', () => {
    const { channels } = world.connect({ role: 'gamepad', padIndex: 0 });
    channels.onMessage('input', padOn(false));
    channels.onMessage('motion', padState(1, 2));
    channels.onMessage('input', Buffer.from(encodeInput({ kind: 'release_all', ...stamp(3) })));
    expect(world.file.reports.at(-1)).toEqual([{ type: EV.key, code: 0x130, value: 0 }]);
  });

  test('with full control who leaves drops only the own waiting text, not that of the owner', () => {
    const full = { role: 'full', padIndex: null } as const;
    world.connect(full).channels.close();
    expect(world.dropped).toEqual([full]);
  });
});

test('a host with file transfers offers new names for files in its greeting', () => {
  world.maxFileMb = 64;
  const { sent } = world.connect();
  const [hello] = toldOf(sent, 'hello');
  expect(hello?.features.slice(-2)).toEqual(['files', 'file_names']);
  expect(hello?.max_file_mb).toBe(64);
});

describe('fingers of a viewer', () => {
  const finger = (action: 'down' | 'move', contact: number, x: number) =>
    Buffer.from(encodeTouch({ ...stamp(1), action, contact, x, y: 0, pressure: 0 }));
  const two = ({ channels }: ConnectedChannels) => {
    channels.onMessage('input', finger('down', 0, 0));
    channels.onMessage('input', finger('down', 1, 65_535));
    channels.onMessage('motion', finger('move', 1, 0));
  };

  test('on a display that reads no devices the first finger drives the pointer', () => {
    two(world.connect());
    expect(world.performed).toEqual([
      ['moveTo', 0, 0],
      ['button', 0, true],
    ]);
  });

  test('on a display that reads devices each finger reaches the touch screen where the display shows it, and lifts with its viewer', () => {
    const touched = new FakeDeviceFile();
    world.input.toDisplay = (x, y) => ({ x: x * 2, y });
    const screen = new TouchScreen(touched, { sessionId: 's', size: world.size, onProblem: () => undefined });
    world.input.connect(world.display, screen);
    const viewer = world.connect();
    two(viewer);
    const values = (code: number) =>
      touched.reports
        .flat()
        .flatMap((event) => (event.type === EV.abs && event.code === code ? [event.value] : []));
    expect(values(ABS.mtPositionX)).toEqual([0, 2 * (world.size.width - 1), 0]);
    viewer.channels.close();
    expect(values(ABS.mtTrackingId)).toEqual([0, 1, -1, -1]);
    expect(world.performed).toEqual([]);
  });
});

describe('a second viewer', () => {
  test('keys of the first viewer are released before the second viewer’s input is active', () => {
    const first = world.connect().channels;
    first.onMessage('input', keyFrame(30, true));
    first.onMessage('input', padOn(false, 2));
    first.onMessage('motion', padState(1));
    first.setActive(false);
    const second = world.connect().channels;
    second.onMessage('input', keyFrame(30, true));
    first.onMessage('input', keyFrame(31, true, 3));
    expect(world.performed).toEqual([
      ['key', 30, true],
      ['key', 30, false],
      ['key', 30, true],
    ]);
    expect(world.file.reports.at(-1)).toEqual([{ type: EV.key, code: 0x130, value: 0 }]);
    first.close();
    expect(world.performed).toHaveLength(3);
  });

  test('a clipboard is accepted only from the newest viewer, at most five times a second', () => {
    const first = world.connect().channels;
    first.setActive(false);
    const second = world.connect().channels;
    first.onMessage('control', encodeControl({ type: 'clipboard', text: 'old' }));
    for (let count = 0; count < 7; count++) {
      second.onMessage('control', encodeControl({ type: 'clipboard', text: `${count}` }));
    }
    expect(world.clipboards).toEqual(['0', '1', '2', '3', '4']);
  });

  test('copied text is sent five times a second, and the newest of the rest follows', () => {
    const { channels, sent } = world.connect();
    const texts = () => toldOf(sent, 'clipboard').map(({ text }) => text);
    for (let count = 0; count < 9; count++) channels.clipboard(`${count}`);
    expect(texts()).toEqual(['0', '1', '2', '3', '4']);
    world.clock.advance(999);
    channels.tick();
    expect(texts()).toHaveLength(5);
    world.clock.advance(1);
    channels.tick();
    channels.tick();
    expect(texts()).toEqual(['0', '1', '2', '3', '4', '8']);
  });

  test.each([
    ['65,536 new lines', '\n'.repeat(65_536)],
    ['64 KiB of control characters', '\u0001'.repeat(65_536)],
    ['more than 64 KiB', 'é'.repeat(32_769)],
  ])('%s make a message that viewers refuse, and are not sent', (_name, text) => {
    const { channels, sent } = world.connect();
    channels.clipboard(text);
    expect(toldOf(sent, 'clipboard')).toEqual([]);
    channels.clipboard('after it');
    expect(toldOf(sent, 'clipboard')).toHaveLength(1);
  });

  test('text beyond 64 KiB is malformed and reaches no viewer', () => {
    const { channels } = world.connect();
    channels.onMessage('control', JSON.stringify({ type: 'clipboard', text: 'x'.repeat(65_537) }));
    channels.onMessage('control', JSON.stringify({ type: 'clipboard', text: 'é'.repeat(32_769) }));
    expect(world.clipboards).toEqual([]);
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
  const shapes = (sent: ConnectedChannels['sent']) => toldOf(sent, 'cursor').map(({ id }) => Number(id));
  const shown = (sent: ConnectedChannels['sent']) => toldOf(sent, 'cursor_use').at(-1)?.id;

  test('a shape is sent once, and again after the viewer dropped it for newer ones', () => {
    const { channels, sent } = world.connect();
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

  test('a full channel drops the oldest waiting shapes, which are sent when apps use them again', () => {
    const { channels, sent } = world.connect();
    world.outcome = 'full';
    for (let number = 0; number < 40; number++) channels.cursor(shape(number));
    channels.cursor(shape(39));
    world.outcome = 'sent';
    world.clock.advance(100);
    expect(shapes(sent)).toEqual(Array.from({ length: 16 }, (_, index) => 24 + index));
    expect(shown(sent)).toBe('39');
    channels.cursor(shape(3));
    channels.cursor(shape(39));
    expect(shapes(sent).slice(16)).toEqual([3]);
  });
});

test('moves above 2,000 a second are dropped, and the next second starts a new count', () => {
  const { channels } = world.connect();
  let seq = 0;
  const move = () => {
    seq += 1;
    channels.onMessage('motion', Buffer.from(encodePointerAbs({ ...stamp(seq), x: seq % 65_536, y: 0 })));
  };
  for (let count = 0; count < 2_500; count++) move();
  expect(world.performed).toHaveLength(MOTION_RATE_PER_SECOND);
  expect(world.offences).toEqual([]);
  world.clock.advance(1_000);
  move();
  expect(world.performed).toHaveLength(MOTION_RATE_PER_SECOND + 1);
});

test('the end of the active viewer drops waiting text and releases keys; the end of another viewer does not', () => {
  const { channels } = world.connect();
  channels.onMessage('input', Buffer.from(encodeInput({ kind: 'release_all', ...stamp(1) })));
  expect(world.dropped).toEqual([OWNER]);
  channels.setActive(false);
  expect(world.dropped).toEqual([OWNER, OWNER]);
  channels.onMessage('input', Buffer.from(encodeInput({ kind: 'release_all', ...stamp(2) })));
  channels.releaseAll();
  expect(world.dropped).toHaveLength(2);
});

test('a held key is released after three seconds without a message', () => {
  const { channels } = world.connect();
  channels.onMessage('input', keyFrame(30, true));
  world.clock.advance(2_999);
  channels.tick();
  expect(world.performed).toHaveLength(1);
  world.clock.advance(1);
  channels.tick();
  expect(world.performed.at(-1)).toEqual(['key', 30, false]);
});

describe('keyboard layouts of a viewer', () => {
  const choice = (layout: string) => encodeControl({ type: 'keyboard_layout', layout, variant: null });
  const layouts = () => world.performed.filter(([name]) => name === 'layout').map(([, layout]) => layout);

  test('the chosen layout is set, and the layout in force is reported', async () => {
    const { channels, sent } = world.connect();
    channels.onMessage('control', choice('de'));
    await world.clock.pass(0);
    expect(layouts()).toEqual(['de']);
    expect(toldOf(sent, 'keyboard_layout')).toMatchObject([{ layout: 'de', variant: null }]);
  });

  test('the initial layout of a display is not set again', () => {
    const { channels, sent } = world.connect();
    channels.onMessage('control', choice('us'));
    expect(layouts()).toEqual([]);
    expect(toldOf(sent, 'keyboard_layout')).toMatchObject([{ layout: 'us' }]);
  });

  test('an unknown layout keeps the former one in force, and this is reported', async () => {
    const { channels, sent } = world.connect();
    channels.onMessage('control', choice('fr'));
    channels.onMessage('control', choice('xx'));
    await world.clock.pass(0);
    expect(toldOf(sent, 'keyboard_layout')).toMatchObject([{ layout: 'fr' }, { layout: 'fr' }]);
    expect(toldOf(sent, 'error')).toMatchObject([{ code: 'keyboard_layout_unknown' }]);
  });

  test('a change back during the first change is made too', async () => {
    const { channels, sent } = world.connect();
    channels.onMessage('control', choice('de'));
    world.layouts.add('us');
    channels.onMessage('control', choice('us'));
    await world.clock.pass(0);
    expect(layouts()).toEqual(['de', 'us']);
    expect(toldOf(sent, 'keyboard_layout').at(-1)).toMatchObject({ layout: 'us' });
  });

  test('of many layouts the display gets two a second, and finally the newest', async () => {
    const { channels } = world.connect();
    for (let count = 0; count < 20; count++) channels.onMessage('control', choice(count % 2 ? 'de' : 'fr'));
    expect(layouts()).toEqual(['fr', 'de']);
    await world.clock.pass(1_000);
    channels.tick();
    // No layout is set again, because the display already uses the newest one.
    expect(layouts()).toEqual(['fr', 'de']);
    channels.onMessage('control', choice('fr'));
    expect(layouts()).toEqual(['fr', 'de', 'fr']);
  });

  test('a layout chosen before the display is open is set when it opens; a later viewer replaces it', async () => {
    world.input = new SessionInput(world.clock, world.size, null);
    const first = world.connect();
    first.channels.onMessage('control', choice('de'));
    const second = world.connect();
    second.channels.onMessage('control', choice('fr'));
    expect(layouts()).toEqual([]);
    world.input.connect(world.display, null);
    await world.clock.pass(0);
    expect(layouts()).toEqual(['fr']);
    expect(toldOf(second.sent, 'keyboard_layout')).toMatchObject([{ layout: 'fr' }]);
  });

  test("a viewer's counts from the moment on that its input does", () => {
    const { channels } = world.connect();
    channels.setActive(false);
    channels.onMessage('control', choice('de'));
    expect(layouts()).toEqual([]);
    channels.setActive(true);
    expect(layouts()).toEqual(['de']);
  });

  test('only the viewer with the active input switches windows, at most ten times a second', () => {
    const { channels } = world.connect();
    const use = encodeControl({ type: 'window_use', id: 7 });
    for (let count = 0; count < 20; count++) channels.onMessage('control', use);
    expect(world.windowUses).toHaveLength(10);
    channels.setActive(false);
    channels.onMessage('control', use);
    expect(world.windowUses).toHaveLength(10);
  });
});
