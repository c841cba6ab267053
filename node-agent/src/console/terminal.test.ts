import { describe, expect, test } from 'vitest';
import { FakeDeviceFile } from '../input/testing/fake-device-file.ts';
import { restoreTerminal } from './terminal.ts';

const CALLS = [
  { request: 0x4b45, argument: 3 },
  { request: 0x4b3a, argument: 0 },
  { request: 0x5602, argument: Buffer.alloc(8) },
];

describe('restoring the terminal of a killed compositor', () => {
  test('accepts keys, shows text and allows switching to other terminals again', () => {
    const file = new FakeDeviceFile();
    restoreTerminal('/dev/tty7', () => file);
    expect(file.calls).toEqual(CALLS);
    expect(file.closed).toBe(true);
  });

  test('a call that the kernel refuses does not prevent the others', () => {
    const file = new FakeDeviceFile();
    file.refused.add(0x4b45);
    restoreTerminal('/dev/tty7', () => file);
    expect(file.calls).toEqual(CALLS.slice(1));
    expect(file.closed).toBe(true);
  });

  test('a missing terminal is ignored', () => {
    restoreTerminal('/dev/null/tty7');
  });
});
