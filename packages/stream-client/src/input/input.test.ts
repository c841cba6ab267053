import type { Timer } from '@footlight/platform/timer';
import { decodeInput, type InputLane, type InputMessage } from '@footlight/protocol/input';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Environment } from '../types.ts';
import { isInside, pictureBox, toWire, wheelUnits } from './geometry.ts';
import { HeldKeys } from './held-keys.ts';
import { PadSchedule, readPad } from './pad-state.ts';
import { InputSender } from './sender.ts';

describe('where the picture is', () => {
  const element = { left: 10, top: 20, width: 640, height: 480 };

  test.each([
    ['wide in tall', { width: 320, height: 180 }, 'contain', { left: 10, top: 80, width: 640, height: 360 }],
    ['tall in wide', { width: 240, height: 480 }, 'contain', { left: 210, top: 20, width: 240, height: 480 }],
    ['filled', { width: 320, height: 180 }, 'fill', element],
    ['not known yet', { width: 0, height: 0 }, 'contain', element],
    [
      'covering',
      { width: 320, height: 180 },
      'cover',
      { left: 10 - 320 / 3, top: 20, width: 2560 / 3, height: 480 },
    ],
  ])('%s', (_name, video, fit, expected) => {
    const box = pictureBox(element, video, fit);
    for (const key of ['left', 'top', 'width', 'height'] as const)
      expect(box[key]).toBeCloseTo(expected[key]);
  });

  test('corners and centre', () => {
    const box = pictureBox(element, { width: 320, height: 180 }, 'contain');
    expect(toWire(box, 10, 80)).toEqual({ x: 0, y: 0 });
    expect(toWire(box, 650, 440)).toEqual({ x: 65535, y: 65535 });
    expect(toWire(box, 330, 260)).toEqual({ x: 32768, y: 32768 });
  });

  test('points in the letterbox are outside, and are sent as points of the edge', () => {
    const box = pictureBox(element, { width: 320, height: 180 }, 'contain');
    expect(isInside(box, 330, 50)).toBe(false);
    expect(toWire(box, 330, 50).y).toBe(0);
  });

  test('every point of a page has valid wire coordinates', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), (x, y) => {
        const wire = toWire(element, x, y);
        expect(wire.x).toBeGreaterThanOrEqual(0);
        expect(wire.x).toBeLessThanOrEqual(65535);
        expect(Number.isInteger(wire.y)).toBe(true);
      }),
    );
  });

  test.each([
    [100, 0, 120],
    [3, 1, 120],
    [-1, 1, -40],
    [1, 2, 1200],
  ])('wheel %d in mode %d is %d units', (delta, mode, units) => {
    expect(wheelUnits(delta, mode)).toBe(units);
  });
});

describe('held keys', () => {
  const key = (code: string, locks = 0, repeat = false) => ({ code, locks, repeat });

  test('a press and its release', () => {
    const keys = new HeldKeys();
    expect(keys.down(key('KeyA'))).toEqual([{ code: 30, down: true, locks: 0 }]);
    expect(keys.up(key('KeyA'))).toEqual([{ code: 30, down: false, locks: 0 }]);
  });

  test('repeats, unknown keys and releases without a press send nothing', () => {
    const keys = new HeldKeys();
    keys.down(key('KeyA'));
    expect(keys.down(key('KeyA', 0, true))).toEqual([]);
    expect(keys.down(key('KeyA'))).toEqual([]);
    expect(keys.down(key('Power'))).toEqual([]);
    expect(keys.up(key('KeyB'))).toEqual([]);
  });

  test('releasing Meta releases everything that was held with it', () => {
    const keys = new HeldKeys();
    keys.down(key('MetaLeft'));
    keys.down(key('KeyC'));
    keys.down(key('ShiftLeft'));
    expect(keys.up(key('MetaLeft')).map(({ code, down }) => [code, down])).toEqual([
      [125, false],
      [46, false],
      [42, false],
    ]);
    expect(keys.size).toBe(0);
  });

  test('a lock key carries the lock state of the display, so that it is not toggled twice', () => {
    const keys = new HeldKeys();
    expect(keys.down(key('CapsLock', 1))).toEqual([{ code: 58, down: true, locks: 0 }]);
    expect(keys.up(key('CapsLock', 1))).toEqual([{ code: 58, down: false, locks: 1 }]);
    expect(keys.down(key('KeyA', 1))).toEqual([{ code: 30, down: true, locks: 1 }]);
    keys.up(key('KeyA', 1));
    expect(keys.down(key('CapsLock', 0))).toEqual([{ code: 58, down: true, locks: 1 }]);
    expect(keys.up(key('CapsLock', 0))).toEqual([{ code: 58, down: false, locks: 1 }]);
    expect(keys.down(key('KeyA', 0))).toEqual([{ code: 30, down: true, locks: 0 }]);
  });

  test('after any sequence, no key is down in the session that is up on the keyboard', () => {
    const codes = fc.constantFrom('KeyA', 'KeyB', 'ShiftLeft', 'MetaLeft');
    fc.assert(
      fc.property(fc.array(fc.tuple(codes, fc.boolean()), { maxLength: 40 }), (events) => {
        const keys = new HeldKeys();
        const remote = new Set<number>();
        const local = new Set<string>();
        for (const [code, down] of events) {
          if (down) local.add(code);
          else local.delete(code);
          for (const action of down ? keys.down(key(code)) : keys.up(key(code))) {
            if (action.down) remote.add(action.code);
            else remote.delete(action.code);
          }
          expect(remote.size).toBeLessThanOrEqual(local.size);
        }
      }),
    );
  });
});

describe('gamepads', () => {
  const button = (value: number) => ({ pressed: value > 0.5, value });

  test('the standard mapping', () => {
    const buttons = Array.from({ length: 17 }, (_, index) => button([0, 11].includes(index) ? 1 : 0));
    buttons[7] = button(1);
    const snapshot = readPad({ buttons, axes: [-1, 0.5, 2, Number.NaN] });
    expect(snapshot).toEqual({
      left_trigger: 0,
      right_trigger: 255,
      buttons: (1 << 0) | (1 << 7) | (1 << 11),
      axes: [-32767, 16384, 32767, expect.any(Number)],
    });
  });

  test('sent on change, three times more, then twice a second', () => {
    const schedule = new PadSchedule();
    const still = readPad({ buttons: [], axes: [] });
    const sent = [];
    for (let atMs = 0; atMs <= 1200; atMs += 10) if (schedule.isDue(still, atMs)) sent.push(atMs);
    expect(sent).toEqual([0, 20, 40, 60, 560, 1060]);
    const pressed = readPad({ buttons: [button(1)], axes: [] });
    expect(schedule.isDue(pressed, 1201)).toBe(true);
  });
});

describe('the sender', () => {
  const make = () => {
    let nowMs = 0;
    const timers: { atMs: number; work: () => void }[] = [];
    const advance = (ms: number) => {
      nowMs += ms;
      for (const timer of timers.filter((item) => item.atMs <= nowMs)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.work();
      }
    };
    const environment = {
      monotonicMs: () => nowMs,
      setTimeout: (work: () => void, ms: number): Timer => {
        const timer = { atMs: nowMs + ms, work };
        timers.push(timer);
        return { cancel: () => void timers.splice(timers.indexOf(timer), 1) };
      },
    } as Environment;
    const sent: InputMessage[] = [];
    const channel = (lane: InputLane) =>
      ({
        readyState: 'open',
        bufferedAmount: 0,
        send: (data: Uint8Array) => {
          const decoded = decodeInput(data, lane);
          if (decoded.kind === 'message') sent.push(decoded.message);
        },
      }) as unknown as RTCDataChannel;
    const presses: number[] = [];
    const sender = new InputSender(environment, (seq) => presses.push(seq));
    const channels = { input: channel('input'), motion: channel('motion') };
    sender.attach(channels);
    return { sender, sent, presses, advance, channels };
  };

  test('numbers each channel from 1 and stamps the time', () => {
    const { sender, sent, advance } = make();
    advance(5);
    sender.send({ kind: 'wheel', dx: 0, dy: 120 });
    sender.send({ kind: 'release_all' });
    sender.moveTo(1, 2);
    expect(sent).toMatchObject([
      { kind: 'wheel', seq: 1, t: 5 },
      { kind: 'release_all', seq: 2 },
      { kind: 'pointer_abs', seq: 1 },
    ]);
  });

  test('at most 250 moves a second, always the newest', () => {
    const { sender, sent, advance } = make();
    for (let move = 0; move < 1000; move += 1) {
      sender.moveTo(move, 0);
      advance(1);
    }
    expect(sent.length).toBeLessThanOrEqual(251);
    expect(sent.at(-1)).toMatchObject({ x: expect.any(Number) });
    advance(10);
    expect(sent.at(-1)).toMatchObject({ x: 999 });
  });

  test('relative motion adds up across dropped events', () => {
    const { sender, sent, advance } = make();
    for (let move = 0; move < 100; move += 1) sender.moveBy(1, -0.5);
    advance(10);
    expect(sent.at(-1)).toMatchObject({ kind: 'pointer_rel', sum_x: 1600, sum_y: -800 });
  });

  test('a press is sent before pending moves', () => {
    const { sender, sent, advance, presses } = make();
    sender.moveTo(1, 1);
    sender.moveTo(2, 2);
    sender.send({ kind: 'button', button: 0, down: true, position: { x: 3, y: 3 } });
    advance(10);
    expect(sent.map((message) => message.kind)).toEqual(['pointer_abs', 'button']);
    expect(presses).toEqual([1]);
  });

  test('nothing is sent without a connection, or on a full one', () => {
    const { sender, sent, channels } = make();
    Object.assign(channels.motion, { bufferedAmount: 65 * 1024 });
    sender.moveTo(1, 1);
    sender.attach(null);
    sender.send({ kind: 'release_all' });
    sender.moveTo(1, 1);
    expect(sent).toEqual([]);
  });
});
