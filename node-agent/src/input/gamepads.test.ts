import { ManualClock } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Gamepads, physOf, RECLAIM_MS } from './gamepads.ts';
import { FakeDeviceFile } from './testing/fake-device-file.ts';
import { EV, encodeEvents, FF, UI, UINPUT_REQUEST } from './uinput-layout.ts';
import { NEUTRAL_PAD } from './virtual-pad.ts';

const OWNER = { role: 'owner', padIndex: null } as const;
/** A guest with the second gamepad. */
const GUEST = { role: 'gamepad', padIndex: 1 } as const;
/** A guest with full control. */
const FULL = { role: 'full', padIndex: null } as const;
const SESSION = '11111111-1111-4111-8111-111111111111';

let files: FakeDeviceFile[];
let clock: ManualClock;
let created: string[];
let rumbles: unknown[];
let problems: string[];
let pads: Gamepads;

beforeEach(() => {
  files = [new FakeDeviceFile('input1'), new FakeDeviceFile('input2')];
  clock = new ManualClock();
  [created, rumbles, problems] = [[], [], []];
  pads = new Gamepads({
    files,
    sessionId: SESSION,
    clock,
    onRumble: (index, order) => rumbles.push({ index, ...order }),
    onCreated: (sysname) => created.push(sysname),
    onProblem: (why) => problems.push(why),
  });
});

afterEach(() => {
  pads.close();
});

const connected = () => files.map((file) => file.isConnected);

describe('gamepads of a session', () => {
  test('each announced index gets one device, whose phys names the session', () => {
    pads.on(1, OWNER);
    pads.on(1, OWNER);
    expect(connected()).toEqual([false, true]);
    expect(created).toEqual(['input2']);
    expect(String(files[1]?.argumentsOf(UI.setPhys)[0])).toBe(`${physOf(SESSION, 1)}\0`);
  });

  test('an index above the session’s number of pads has no effect', () => {
    pads.on(2, OWNER);
    pads.apply(2, NEUTRAL_PAD, OWNER);
    pads.off(2, OWNER);
    expect(connected()).toEqual([false, false]);
  });

  test('off removes it, and it may be announced again', () => {
    pads.on(0, OWNER);
    pads.off(0, OWNER);
    expect(connected()).toEqual([false, false]);
    pads.on(0, OWNER);
    expect(connected()).toEqual([true, false]);
  });

  test('a reconnect keeps pads that are announced again and removes the rest 5 s later', () => {
    pads.on(0, OWNER);
    pads.on(1, OWNER);
    pads.takeOver(new Set(), OWNER);
    pads.on(0, OWNER);
    clock.advance(RECLAIM_MS - 1);
    expect(connected()).toEqual([true, true]);
    clock.advance(1);
    pads.tick();
    expect(connected()).toEqual([true, false]);
  });

  test('a viewer whose connection only paused keeps its pads', () => {
    pads.on(0, OWNER);
    pads.takeOver(new Set([0]), OWNER);
    clock.advance(RECLAIM_MS * 2);
    expect(connected()).toEqual([true, false]);
  });

  test('rumble is reported with the index of its pad', () => {
    pads.on(1, OWNER);
    files[1]?.answers.set(UI.beginFfUpload, (request) => {
      request.writeUInt16LE(FF.rumble, 8);
      request.writeUInt16LE(300, 18);
      request.writeUInt16LE(5, 24);
    });
    files[1]?.toRead.push(
      encodeEvents([
        { type: EV.uinput, code: UINPUT_REQUEST.upload, value: 1 },
        { type: EV.ff, code: 0, value: 1 },
      ]),
    );
    clock.advance(10);
    expect(rumbles).toEqual([{ index: 1, strong: 5, weak: 0, durationMs: 300 }]);
  });

  test('repeated announcements create at most 16 devices a minute', () => {
    for (let times = 0; times < 40; times++) {
      pads.on(0, OWNER);
      pads.off(0, OWNER);
    }
    expect(created).toHaveLength(16);
    clock.advance(60_000);
    pads.on(0, OWNER);
    expect(created).toHaveLength(17);
  });

  test('if the kernel refuses a device, only its pad is lost, and this is reported once', () => {
    files[0]?.refused.add(UI.devCreate);
    pads.on(0, OWNER);
    pads.apply(0, NEUTRAL_PAD, OWNER);
    pads.tick();
    expect(problems).toEqual(['refused']);
    pads.on(1, OWNER);
    expect(connected()).toEqual([false, true]);
  });

  test('close removes the devices and closes every file', () => {
    pads.on(0, OWNER);
    pads.close();
    expect(connected()).toEqual([false, false]);
    expect(files.every(({ closed }) => closed)).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('gamepads of several persons', () => {
  test('a pad belongs to the person who announced it first', () => {
    pads.on(0, OWNER);
    pads.on(0, FULL);
    pads.apply(0, { ...NEUTRAL_PAD, buttons: 1 }, FULL);
    pads.off(0, FULL);
    expect(connected()).toEqual([true, false]);
    expect(files[0]?.reports).toEqual([]);
  });

  test('a guest gets the reserved pad even if the owner holds it, and the owner loses it', () => {
    pads.on(1, OWNER);
    pads.on(1, GUEST);
    pads.apply(1, { ...NEUTRAL_PAD, buttons: 1 }, OWNER);
    expect(files[1]?.reports).toEqual([]);
    pads.apply(1, { ...NEUTRAL_PAD, buttons: 1 }, GUEST);
    expect(files[1]?.reports).toHaveLength(1);
    expect(created).toEqual(['input2']);
  });

  test.each([
    ['is unplugged', () => pads.off(1, GUEST)],
    [
      'was away for 5 s',
      () => {
        pads.takeOver(new Set(), GUEST);
        clock.advance(RECLAIM_MS);
        pads.tick();
      },
    ],
  ])('the owner’s pad works again when the guest who took it %s, with nothing pressed', (_, leave) => {
    pads.on(1, FULL);
    pads.on(1, OWNER);
    pads.on(1, GUEST);
    pads.apply(1, { ...NEUTRAL_PAD, buttons: 1 }, GUEST);
    leave();
    expect(files[1]?.reports).toHaveLength(2);
    pads.apply(1, { ...NEUTRAL_PAD, buttons: 1 }, OWNER);
    expect(files[1]?.reports).toHaveLength(3);
    expect(created).toEqual(['input2']);
  });

  test('while the owner reconnects, a guest with full control does not get the owner’s pad', () => {
    pads.on(0, OWNER);
    pads.takeOver(new Set(), OWNER);
    pads.on(0, FULL);
    pads.apply(0, { ...NEUTRAL_PAD, buttons: 1 }, FULL);
    expect(files[0]?.reports).toEqual([]);
    pads.on(0, OWNER);
    pads.apply(0, { ...NEUTRAL_PAD, buttons: 1 }, OWNER);
    expect(files[0]?.reports).toHaveLength(1);
  });

  test('the owner gets the pad of a guest with full control who is away', () => {
    pads.on(0, FULL);
    pads.takeOver(new Set(), FULL);
    pads.on(0, OWNER);
    pads.apply(0, { ...NEUTRAL_PAD, buttons: 1 }, OWNER);
    expect(files[0]?.reports).toHaveLength(1);
  });

  test('the pad of a guest who left is removed after 5 s, and the pads of others stay', () => {
    pads.on(0, OWNER);
    pads.on(1, GUEST);
    pads.takeOver(new Set(), GUEST);
    clock.advance(RECLAIM_MS);
    pads.tick();
    expect(connected()).toEqual([true, false]);
  });

  test('a guest who plugs in again and again does not use up the devices of the owner', () => {
    for (let times = 0; times < 40; times++) {
      pads.on(1, GUEST);
      pads.off(1, GUEST);
    }
    pads.on(0, OWNER);
    expect(connected()).toEqual([true, false]);
  });
});
