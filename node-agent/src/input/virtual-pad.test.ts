import { describe, expect, test } from 'vitest';
import { FakeDeviceFile } from './testing/fake-device-file.ts';
import { ABS, EV, encodeEvents, FF, UI, UINPUT_REQUEST } from './uinput-layout.ts';
import { isNeutral, NEUTRAL_PAD, padEvents, VirtualPad } from './virtual-pad.ts';

const button = (index: number) => ({ ...NEUTRAL_PAD, buttons: 2 ** index });

function event(snapshot: typeof NEUTRAL_PAD, type: number, code: number): number | undefined {
  return padEvents(snapshot).find((one) => one.type === type && one.code === code)?.value;
}

describe('the standard mapping', () => {
  test.each([
    [0, 0x130],
    [1, 0x131],
    [2, 0x133],
    [3, 0x134],
    [4, 0x136],
    [5, 0x137],
    [8, 0x13a],
    [9, 0x13b],
    [10, 0x13d],
    [11, 0x13e],
    [16, 0x13c],
  ])('button %d is key %d, and nothing else', (index, code) => {
    const pressed = padEvents(button(index)).filter(({ value }) => value !== 0);
    expect(pressed).toEqual([{ type: EV.key, code, value: 1 }]);
  });

  test.each([
    [12, ABS.hat0y, -1],
    [13, ABS.hat0y, 1],
    [14, ABS.hat0x, -1],
    [15, ABS.hat0x, 1],
  ])('button %d is hat axis %d at %d', (index, code, value) => {
    const pressed = padEvents(button(index)).filter((one) => one.value !== 0);
    expect(pressed).toEqual([{ type: EV.abs, code, value }]);
  });

  test('opposite directions of the hat cancel out', () => {
    expect(event({ ...NEUTRAL_PAD, buttons: 0b1111 << 12 }, EV.abs, ABS.hat0x)).toBe(0);
    expect(event({ ...NEUTRAL_PAD, buttons: 0b1111 << 12 }, EV.abs, ABS.hat0y)).toBe(0);
  });

  test('triggers are axes from 0 to 255, without button events', () => {
    expect(padEvents({ ...NEUTRAL_PAD, buttons: 0b1100_0000 }).every(({ value }) => value === 0)).toBe(true);
    expect(event({ ...NEUTRAL_PAD, left_trigger: 255 }, EV.abs, ABS.z)).toBe(255);
    expect(event({ ...NEUTRAL_PAD, right_trigger: 128 }, EV.abs, ABS.rz)).toBe(128);
  });

  test('the sticks are X, Y, RX and RY, down positive', () => {
    const snapshot = { ...NEUTRAL_PAD, axes: [-32_767, 1, 2, 32_767] as [number, number, number, number] };
    const values = [ABS.x, ABS.y, ABS.rx, ABS.ry].map((code) => event(snapshot, EV.abs, code));
    expect(values).toEqual([-32_767, 1, 2, 32_767]);
  });

  test('buttons outside of the mapping have no effect', () => {
    expect(padEvents({ ...NEUTRAL_PAD, buttons: 0xfffe_0000 }).every(({ value }) => value === 0)).toBe(true);
  });

  test('a pad is neutral when nothing is touched', () => {
    expect(isNeutral(NEUTRAL_PAD)).toBe(true);
    expect(isNeutral({ ...NEUTRAL_PAD, axes: [0, 0, 0, 1] })).toBe(false);
    expect(isNeutral({ ...NEUTRAL_PAD, right_trigger: 1 })).toBe(false);
  });
});

describe('a virtual gamepad', () => {
  const uploadEvent = (requestId: number) =>
    encodeEvents([{ type: EV.uinput, code: UINPUT_REQUEST.upload, value: requestId }]);

  test('is USB 045e:028e, with its keys, axes and force feedback, before it is created', () => {
    const file = new FakeDeviceFile('input12');
    const pad = new VirtualPad(file, 'footlight/s/pad0');
    expect(pad.sysname).toBe('input12');
    const [setup] = file.argumentsOf(UI.devSetup) as Buffer[];
    expect(setup?.subarray(2, 6).toString('hex')).toBe('5e048e02');
    expect(file.argumentsOf(UI.setKeyBit)).toHaveLength(11);
    expect(file.argumentsOf(UI.setAbsBit)).toEqual([0, 1, 3, 4, 2, 5, 16, 17]);
    expect(file.argumentsOf(UI.setFfBit)).toContain(FF.rumble);
    expect(String(file.argumentsOf(UI.setPhys)[0])).toBe('footlight/s/pad0\0');
    expect(file.calls.at(-2)?.request).toBe(UI.devCreate);
    expect(file.isConnected).toBe(true);
    pad.disconnect();
    expect(file.isConnected).toBe(false);
  });

  test('a snapshot sends only changes', () => {
    const file = new FakeDeviceFile();
    const pad = new VirtualPad(file, '');
    pad.apply(button(0));
    pad.apply(button(0));
    pad.apply({ ...button(0), left_trigger: 9 });
    pad.apply(NEUTRAL_PAD);
    expect(file.reports).toEqual([
      [{ type: EV.key, code: 0x130, value: 1 }],
      [{ type: EV.abs, code: ABS.z, value: 9 }],
      [
        { type: EV.key, code: 0x130, value: 0 },
        { type: EV.abs, code: ABS.z, value: 0 },
      ],
    ]);
  });

  test('an app uploads an effect, plays it and erases it', () => {
    const file = new FakeDeviceFile();
    const pad = new VirtualPad(file, '');
    file.answers.set(UI.beginFfUpload, (request) => {
      request.writeUInt16LE(FF.rumble, 8);
      request.writeInt16LE(4, 10);
      request.writeUInt16LE(250, 18);
      request.writeUInt16LE(0xffff, 24);
      request.writeUInt16LE(0x10, 26);
    });
    file.answers.set(UI.beginFfErase, (request) => request.writeUInt32LE(4, 8));
    file.toRead.push(uploadEvent(77), encodeEvents([{ type: EV.ff, code: 4, value: 1 }]));
    expect(pad.poll(1_000)).toEqual({ strong: 0xffff, weak: 0x10, durationMs: 250 });
    const [ended] = file.argumentsOf(UI.endFfUpload) as Buffer[];
    expect(ended?.readUInt32LE(0)).toBe(77);
    expect(ended?.readInt32LE(4)).toBe(0);
    expect(pad.poll(1_010)).toBeNull();

    file.toRead.push(encodeEvents([{ type: EV.uinput, code: UINPUT_REQUEST.erase, value: 78 }]));
    expect(pad.poll(1_020)).toEqual({ strong: 0, weak: 0, durationMs: 0 });
    expect((file.argumentsOf(UI.endFfErase)[0] as Buffer).readUInt32LE(0)).toBe(78);
  });
});
