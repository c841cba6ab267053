import { describe, expect, test } from 'vitest';
import { FakeDeviceFile } from '../input/testing/fake-device-file.ts';
import { restoreTerminal } from './terminal.ts';

const CALLS = [
  { request: 0x4b45, argument: 3 },
  { request: 0x4b3a, argument: 0 },
  { request: 0x5602, argument: Buffer.alloc(8) },
];

describe('a terminal that a killed compositor held', () => {
  test('takes keys, shows text and lets others come to the front again', () => {
    const file = new FakeDeviceFile();
    restoreTerminal('/dev/tty7', () => file);
    expect(file.calls).toEqual(CALLS);
    expect(file.closed).toBe(true);
  });

  test('what the kernel refuses keeps nothing else from being done', () => {
    const file = new FakeDeviceFile();
    file.refused.add(0x4b45);
    restoreTerminal('/dev/tty7', () => file);
    expect(file.calls).toEqual(CALLS.slice(1));
    expect(file.closed).toBe(true);
  });

  test('one that is not there is no trouble', () => {
    restoreTerminal('/dev/null/tty7');
  });
});
