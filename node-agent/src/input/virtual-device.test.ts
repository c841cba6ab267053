import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { describeTouchScreen } from './touch-screen.ts';
import { EV, KEY, PROPERTY, UI } from './uinput-layout.ts';
import { deviceFilter } from './virtual-device.ts';
import { describePad } from './virtual-pad.ts';

const { EPERM, ENOTTY } = constants.errno;
const REL = 2;
const KEY_A = 30;
const BUTTON_LEFT = 0x110;
const BUTTON_SOUTH = 0x130;

/** Sets a filter (prctl(2), PR_SET_SECCOMP), calls the ioctls in its arguments, and prints their errors. */
const ASK = `
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
code = bytes.fromhex(sys.argv[1])
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
if libc.prctl(22, 2, ctypes.byref(Program(len(code) // 8, code)), 0, 0) != 0: sys.exit("no filter")
numbers = [ctypes.c_long(int(word)) for word in sys.argv[2:]]
for request, value in zip(numbers[::2], numbers[1::2]):
    ctypes.set_errno(0)
    libc.syscall(16, 0, request, value)
    print(ctypes.get_errno(), end=" ")
`;

/**
 * The kernel's answers to a process with the filter. The ioctls are called on an ordinary file, so an allowed call
 * fails with ENOTTY.
 */
function answers(filter: Buffer, requests: readonly (readonly [request: number, value: number])[]): number[] {
  const words = ['--no-new-privs', 'python3', '-c', ASK, filter.toString('hex')];
  const { stdout, stderr } = spawnSync('setpriv', [...words, ...requests.flat().map(String)], {
    encoding: 'utf8',
  });
  if (stderr !== '') throw new Error(stderr);
  return stdout.trim().split(' ').map(Number);
}

test('a process with the filter of pads cannot create a keyboard, mouse or touch screen', () => {
  const requests = [
    [UI.setEvBit, EV.key],
    [UI.setKeyBit, BUTTON_SOUTH],
    [UI.setAbsBit, 0],
    [UI.setKeyBit, KEY_A],
    [UI.setKeyBit, BUTTON_LEFT],
    [UI.setKeyBit, KEY.touch],
    [UI.setEvBit, REL],
    [UI.setPropBit, PROPERTY.direct],
  ] as const;
  const pad = describePad('');
  const [may, mayNot] = [ENOTTY, EPERM];
  expect(answers(deviceFilter([pad]), requests)).toEqual([
    may,
    may,
    may,
    mayNot,
    mayNot,
    mayNot,
    mayNot,
    mayNot,
  ]);
  const withTouch = deviceFilter([pad, describeTouchScreen('', 1, 1)]);
  expect(answers(withTouch, requests)).toEqual([may, may, may, mayNot, mayNot, may, mayNot, may]);
});
