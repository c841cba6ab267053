import { describe, expect, test } from 'vitest';
import { appFilter, ioctlFilter, sharedPortsFilter } from './seccomp.ts';

const NEWUSER = 0x1000_0000;
const SIGCHLD = 17;
const X64 = 0xc000_003e;
const I386 = 0x4000_0003;
const ARM64 = 0xc000_00b7;

/** Runs a filter like the kernel; supports the instructions that the filters use. Source: linux/filter.h. */
function verdict(program: Buffer, arch: number, nr: number, args: number[]): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr, 0);
  data.writeUInt32LE(arch, 4);
  args.forEach((value, index) => {
    data.writeUInt32LE(value, 16 + 8 * index);
  });
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(at * 8);
    const k = program.readUInt32LE(at * 8 + 4);
    const skip = (taken: boolean) => program.readUInt8(at * 8 + (taken ? 2 : 3));
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x15) at += skip(accumulator === k);
    else if (code === 0x45) at += skip((accumulator & k) !== 0);
    else if (code === 0x05) at += k;
    else if (code === 0x06)
      return k === 0x7fff_0000 ? 'allow' : k === 0x0005_0001 ? 'EPERM' : `errno ${k & 0xffff}`;
    else throw new Error(`instruction ${code}`);
  }
  throw new Error('the program has no end');
}

test.each([
  [X64, [206, 248, 249, 250, 298, 321, 323, 425, 426, 427, 0x4000_0000 + 250]],
  [I386, [245, 286, 287, 288, 336, 357, 374, 425, 426, 427]],
])('keyrings and large parts of the kernel look missing, by call %#', (arch, numbers) => {
  const verdicts = [true, false].flatMap((userNamespaces) =>
    numbers.map((nr) => verdict(appFilter(userNamespaces), arch, nr, [])),
  );
  expect(new Set(verdicts)).toEqual(new Set(['errno 38']));
});

test('an app with its own sandbox can create user namespaces', () => {
  const calls = [
    [272, NEWUSER],
    [56, NEWUSER | SIGCHLD],
    [435, 0],
    [308, 3],
    [0, 0],
  ] as const;
  const verdicts = calls.map(([nr, argument]) => verdict(appFilter(true), X64, nr, [argument]));
  expect(new Set(verdicts)).toEqual(new Set(['allow']));
});

describe('the filter against user namespaces', () => {
  test.each([
    [X64, 272, [NEWUSER], 'EPERM', 'unshare -U'],
    [X64, 272, [NEWUSER | 0x0002_0000], 'EPERM', 'unshare -U -m'],
    [X64, 272, [0x0002_0000], 'allow', 'unshare -m, which needs a capability'],
    [X64, 56, [NEWUSER | SIGCHLD], 'EPERM', 'clone with a user namespace'],
    [X64, 56, [SIGCHLD], 'allow', 'fork'],
    [X64, 57, [], 'allow', 'the old fork'],
    [X64, 435, [], 'errno 38', 'clone3, whose flags are in memory'],
    [X64, 308, [3, 0], 'EPERM', 'setns to any kind'],
    [X64, 308, [3, NEWUSER], 'EPERM', 'setns to a user namespace'],
    [X64, 308, [3, 0x4000_0000], 'allow', 'setns to a network, which needs a capability'],
    [X64, 0x4000_0000 + 272, [NEWUSER], 'EPERM', 'unshare of the x32 ABI'],
    [X64, 0x4000_0000 + 56, [NEWUSER], 'EPERM', 'clone of the x32 ABI'],
    [X64, 0x4000_0000 + 435, [], 'errno 38', 'clone3 of the x32 ABI'],
    [I386, 310, [NEWUSER], 'EPERM', 'unshare of a 32-bit program'],
    [I386, 120, [NEWUSER | SIGCHLD], 'EPERM', 'clone of a 32-bit program'],
    [I386, 120, [SIGCHLD], 'allow', 'fork of a 32-bit program'],
    [I386, 435, [], 'errno 38', 'clone3 of a 32-bit program'],
    [I386, 346, [3, 0], 'EPERM', 'setns of a 32-bit program'],
    [I386, 4, [NEWUSER], 'allow', 'any other call'],
    [ARM64, 97, [NEWUSER], 'EPERM', 'a call of another architecture'],
  ] as const)('call %#: %s', (arch, nr, args, expected, words) => {
    expect({ words, verdict: verdict(appFilter(false), arch, nr, [...args]) }).toEqual({
      words,
      verdict: expected,
    });
  });
});

describe('the filter against setuid files', () => {
  const CREATE = 0o102;
  test.each([
    [X64, 90, [0, 0o4755], 'EPERM', 'chmod'],
    [X64, 90, [0, 0o2755], 'allow', 'chmod with setgid, as of a shared directory'],
    [X64, 0x4000_0000 + 268, [0, 0, 0o4755], 'EPERM', 'fchmodat of the x32 ABI'],
    [X64, 2, [0, CREATE, 0o4755], 'EPERM', 'open'],
    [X64, 2, [0, 0, 0o4755], 'allow', 'open of an existing file'],
    [X64, 257, [0, 0, 0o20_200_000, 0o4755], 'EPERM', 'openat without a name'],
    [X64, 437, [], 'errno 38', 'openat2, whose mode is in memory'],
    [I386, 15, [0, 0o4755], 'EPERM', 'chmod of a 32-bit program'],
    [I386, 94, [0, 0o4755], 'EPERM', 'fchmod of a 32-bit program'],
    [I386, 306, [0, 0, 0o4755], 'EPERM', 'fchmodat of a 32-bit program'],
    [I386, 452, [0, 0, 0o4755], 'EPERM', 'fchmodat2 of a 32-bit program'],
    [I386, 8, [0, 0o4755], 'EPERM', 'creat of a 32-bit program'],
    [I386, 14, [0, 0o104755], 'EPERM', 'mknod of a 32-bit program'],
    [I386, 297, [0, 0, 0o104755], 'EPERM', 'mknodat of a 32-bit program'],
    [I386, 5, [0, CREATE, 0o4755], 'EPERM', 'open of a 32-bit program'],
    [I386, 295, [0, 0, CREATE, 0o4755], 'EPERM', 'openat of a 32-bit program'],
    [I386, 295, [0, 0, CREATE, 0o755], 'allow', 'openat of an ordinary file'],
  ] as const)('call %#: %s', (arch, nr, args, expected, words) => {
    const verdicts = [true, false].map((namespaces) => verdict(appFilter(namespaces), arch, nr, [...args]));
    expect({ words, verdicts }).toEqual({ words, verdicts: [expected, expected] });
  });
});

describe('a filter of the values of ioctls', () => {
  const filter = ioctlFilter(
    new Map([
      [100, [1, 3]],
      [101, []],
    ]),
  );
  test.each([
    [X64, 16, [5, 100, 3], 'allow', 'an allowed value'],
    [X64, 16, [5, 100, 2], 'EPERM', 'another value'],
    [X64, 16, [5, 101, 1], 'EPERM', 'a request without any value'],
    [X64, 16, [5, 102, 2], 'allow', 'another request'],
    [X64, 1, [5, 100, 2], 'allow', 'another call'],
    [X64, 0x4000_0000 + 514, [5, 100, 2], 'EPERM', 'the call of the x32 ABI'],
    [I386, 54, [5, 100, 2], 'EPERM', 'the call of a 32-bit program'],
    [I386, 54, [5, 100, 1], 'allow', 'an allowed value of a 32-bit program'],
    [I386, 16, [5, 100, 2], 'allow', 'another call of a 32-bit program'],
    [ARM64, 29, [5, 100, 1], 'EPERM', 'a call of another architecture'],
  ] as const)('call %#: %s', (arch, nr, args, expected, words) => {
    expect({ words, verdict: verdict(filter, arch, nr, [...args]) }).toEqual({ words, verdict: expected });
  });
});

test.each([
  [X64, 54, [5, 1, 2], 'EPERM', 'SO_REUSEADDR'],
  [X64, 54, [5, 1, 15], 'EPERM', 'SO_REUSEPORT'],
  [X64, 0x4000_0000 + 541, [5, 1, 2], 'EPERM', 'the call of the x32 ABI'],
  [X64, 54, [5, 1, 7], 'allow', 'another option of sockets'],
  [X64, 54, [5, 6, 2], 'allow', 'an option of TCP'],
  [X64, 49, [5, 1, 2], 'allow', 'another call'],
  [I386, 366, [5, 1, 7], 'EPERM', 'a call of another architecture'],
] as const)('the filter against shared ports, call %#', (arch, nr, args, expected, words) => {
  expect({ words, verdict: verdict(sharedPortsFilter(), arch, nr, [...args]) }).toEqual({
    words,
    verdict: expected,
  });
});
