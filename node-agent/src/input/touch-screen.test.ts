import { beforeEach, describe, expect, test } from 'vitest';
import { FakeDeviceFile } from './testing/fake-device-file.ts';
import { TouchScreen } from './touch-screen.ts';
import { ABS, EV, encodeAxis, KEY, UI } from './uinput-layout.ts';

const SIZE = { width: 1920, height: 1080 };
const NAMES = new Map<number, string>([
  [ABS.mtSlot, 'slot'],
  [ABS.mtTrackingId, 'id'],
  [ABS.mtPositionX, 'mtX'],
  [ABS.mtPositionY, 'mtY'],
  [ABS.x, 'x'],
  [ABS.y, 'y'],
]);

let file: FakeDeviceFile;
let problems: string[];
let screen: TouchScreen;

beforeEach(() => {
  file = new FakeDeviceFile();
  problems = [];
  screen = new TouchScreen(file, { sessionId: 's', size: SIZE, onProblem: (why) => problems.push(why) });
});

/** Changes a contact. @returns the events of this change, as "code value" */
function told(contact: number, at: { x: number; y: number } | null): string | null {
  const before = file.reports.length;
  screen.contact(contact, at);
  const report = file.reports.slice(before);
  expect(report.length).toBeLessThanOrEqual(1);
  return (
    report[0]
      ?.map(({ type, code, value }) => `${type === EV.key ? 'touch' : NAMES.get(code)} ${value}`)
      .join(', ') ?? null
  );
}

describe('a touch screen', () => {
  test('is a direct touch screen with ten contacts and the axes that libinput requires', () => {
    expect(file.argumentsOf(UI.setPropBit)).toEqual([1]);
    expect(file.argumentsOf(UI.setKeyBit)).toEqual([KEY.touch]);
    expect(file.argumentsOf(UI.setEvBit)).toEqual([EV.key, EV.abs]);
    const range = (code: number, maximum: number) =>
      encodeAxis({ code, minimum: 0, maximum, fuzz: 0, flat: 0 });
    expect(file.argumentsOf(UI.absSetup)).toEqual([
      range(ABS.x, 1_919),
      range(ABS.y, 1_079),
      range(ABS.mtSlot, 9),
      range(ABS.mtPositionX, 1_919),
      range(ABS.mtPositionY, 1_079),
      range(ABS.mtTrackingId, 65_535),
    ]);
  });

  test('one contact: down, moved, up', () => {
    expect(told(0, { x: 5, y: 6 })).toBe('id 0, mtX 5, mtY 6, touch 1, x 5, y 6');
    expect(told(0, { x: 7, y: 6 })).toBe('mtX 7, mtY 6, x 7, y 6');
    expect(told(0, null)).toBe('id -1, touch 0');
  });

  test('each contact has its own slot and tracking id; the single-touch axes follow the oldest', () => {
    told(2, { x: 1, y: 1 });
    expect(told(4, { x: 9, y: 9 })).toBe('slot 4, id 1, mtX 9, mtY 9, x 1, y 1');
    expect(told(2, null)).toBe('slot 2, id -1, x 9, y 9');
    expect(told(2, { x: 3, y: 3 })).toBe('id 2, mtX 3, mtY 3, x 9, y 9');
  });

  test('a contact that is not down is not lifted, and there is no eleventh contact', () => {
    expect(told(1, null)).toBeNull();
    expect(told(10, { x: 1, y: 1 })).toBeNull();
  });

  test('if the device fails, its contacts are lost and the reason is reported', () => {
    file.write = () => {
      throw new Error('gone');
    };
    screen.contact(0, { x: 1, y: 1 });
    expect(problems).toEqual(['gone']);
  });

  test('closing removes it, even if the kernel has removed it before', () => {
    file.refused.add(UI.devDestroy);
    screen.close();
    expect(file.closed).toBe(true);
  });
});
