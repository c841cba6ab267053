/** Instructions of classic BPF for seccomp(2). Source: linux/bpf_common.h, linux/filter.h. */
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_ANY_BIT = 0x45;
const ALWAYS = 0x05;
const AND = 0x54;
const RETURN = 0x06;

/** Offsets in struct seccomp_data. ARGUMENT is the lower half of a 64-bit argument on a little-endian machine. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const ARGUMENT = (index: number) => 16 + 8 * index;

const ALLOW = 0x7fff0000;
const REFUSE = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const CLONE_NEWUSER = 0x1000_0000;
const S_ISUID = 0o4000;
/** O_CREAT, and the bit that only O_TMPFILE sets. open(2) uses its mode only if one of them is set. */
const MAKES_FILE = 0o20_000_100;
/** Bit that marks a call of the x32 ABI. Without this bit, the call's number is the same as on x86-64. */
const X32_BIT = 0x4000_0000;

/** A call that sets the mode of a file. */
interface ModeCall {
  number: number;
  /** Indexes of arguments. flags: set if the call uses its mode only when it creates a file. */
  mode: number;
  flags?: number;
}

interface Abi {
  /** AUDIT_ARCH_* of linux/audit.h. */
  audit: number;
  /** Numbers of add_key, request_key and keyctl; bpf, perf_event_open and userfaultfd; io_setup. */
  unneeded: readonly number[];
  unshare: number;
  clone: number;
  setns: number;
  /** Numbers of the call; the second number is for x32. */
  ioctl: readonly number[];
  /** The calls chmod, fchmod, fchmodat, fchmodat2; creat, mknod, mknodat; open, openat. */
  modes: readonly ModeCall[];
}

/** ABIs of an x86-64 machine. */
const X86_64: Abi = {
  ...{ audit: 0xc000_003e, unshare: 272, clone: 56, setns: 308, ioctl: [16, 514] },
  unneeded: [248, 249, 250, 321, 298, 323, 206],
  modes: [
    ...[90, 91, 85, 133].map((number) => ({ number, mode: 1 })),
    ...[268, 452, 259].map((number) => ({ number, mode: 2 })),
    ...[
      { number: 2, mode: 2, flags: 1 },
      { number: 257, mode: 3, flags: 2 },
    ],
  ],
};
const I386: Abi = {
  ...{ audit: 0x4000_0003, unshare: 310, clone: 120, setns: 346, ioctl: [54] },
  unneeded: [286, 287, 288, 357, 336, 374, 245],
  modes: [
    ...[15, 94, 8, 14].map((number) => ({ number, mode: 1 })),
    ...[306, 452, 297].map((number) => ({ number, mode: 2 })),
    ...[
      { number: 5, mode: 2, flags: 1 },
      { number: 295, mode: 3, flags: 2 },
    ],
  ],
};
/** Number of clone3; the same in both ABIs. */
const CLONE3 = 435;
/** Numbers of io_uring_setup, io_uring_enter, io_uring_register, pidfd_getfd and openat2; the same in both ABIs. */
const UNNEEDED = [425, 426, 427, 438, 437];

/**
 * A seccomp filter for apps on x86-64.
 *
 * These calls, which apps do not need, fail with ENOSYS, as on a kernel without them:
 * - keyrings, because the next session with the same uid, and sessions with the agent's session keyring, would see the
 *   keys;
 * - old asynchronous I/O, because one program can use up the host's contexts (fs.aio-max-nr);
 * - pidfd_getfd, because a socket reveals the helper at its other end (SO_PEERPIDFD), and an app could take over the
 *   helper's pipes to the agent;
 * - openat2, because a filter cannot read its mode (the C library does not use this call);
 * - the parts of the kernel that are attacked most often.
 *
 * Creating setuid files fails with EPERM. Another user of the host could run such a file later and act as the user of
 * later sessions with this uid. RestrictSUIDSGID= of systemd is similar, but this filter allows setgid, which
 * directories use.
 *
 * @param userNamespaces false: refuses user namespaces, because a process in one has every capability. `unshare` and
 * `clone` with CLONE_NEWUSER, and `setns` if it may enter a user namespace, fail with EPERM. clone3 fails with ENOSYS,
 * because a filter cannot read its flags; the C library then uses clone
 */
export function appFilter(userNamespaces: boolean): Buffer {
  const sections = [X86_64, I386].flatMap((abi) => abiSection(abi, userNamespaces));
  // Reached only by calls of an unknown ABI.
  return Buffer.concat([...sections, statement(RETURN, REFUSE | EPERM)]);
}

/**
 * A seccomp filter that allows only certain values of ioctl arguments; other values fail with EPERM. A filter cannot
 * read data behind a pointer.
 * @param allowed ioctl → allowed values of its argument
 */
export function ioctlFilter(allowed: ReadonlyMap<number, readonly number[]>): Buffer {
  const checks = [...allowed].flatMap(([request, values]) => {
    const check = [
      statement(LOAD_WORD, ARGUMENT(2)),
      ...values.map((value, index) => jump(JUMP_IF_EQUAL, value, values.length - index, 0)),
      statement(RETURN, REFUSE | EPERM),
      statement(RETURN, ALLOW),
    ];
    return [jump(JUMP_IF_EQUAL, request, 0, check.length), ...check];
  });
  const sections = [X86_64, I386].flatMap(({ audit, ioctl }) => {
    const body = [
      ...loadNumber(audit),
      ...ioctl.map((number, index) => jump(JUMP_IF_EQUAL, number, ioctl.length - index, 0)),
      statement(RETURN, ALLOW),
      statement(LOAD_WORD, ARGUMENT(1)),
      ...checks,
      statement(RETURN, ALLOW),
    ];
    return forAbi(audit, body);
  });
  return Buffer.concat([...sections, statement(RETURN, REFUSE | EPERM)]);
}

/** Numbers of the call setsockopt; the second number is for x32. */
const SETSOCKOPT = [54, 541] as const;
const SOL_SOCKET = 1;
/** SO_REUSEADDR and SO_REUSEPORT. */
const SHARE_PORT = [2, 15] as const;

/**
 * A seccomp filter that prevents sharing ports on x86-64: the socket options that let several sockets bind the same
 * port fail with EPERM. Otherwise the newest of these sockets would receive all datagrams.
 */
export function sharedPortsFilter(): Buffer {
  const body = [
    ...loadNumber(X86_64.audit),
    ...SETSOCKOPT.map((number, index) => jump(JUMP_IF_EQUAL, number, SETSOCKOPT.length - index, 0)),
    statement(RETURN, ALLOW),
    statement(LOAD_WORD, ARGUMENT(1)),
    jump(JUMP_IF_EQUAL, SOL_SOCKET, 1, 0),
    statement(RETURN, ALLOW),
    statement(LOAD_WORD, ARGUMENT(2)),
    ...SHARE_PORT.map((option, index) => jump(JUMP_IF_EQUAL, option, SHARE_PORT.length - index, 0)),
    statement(RETURN, ALLOW),
    statement(RETURN, REFUSE | EPERM),
  ];
  return Buffer.concat([...forAbi(X86_64.audit, body), statement(RETURN, REFUSE | EPERM)]);
}

/** Number of io_uring_setup; the same in both ABIs. */
const IO_URING_SETUP = 425;

/** A seccomp filter in which io_uring_setup fails with ENOSYS, as on a kernel without it. */
export function ioUringFilter(): Buffer {
  const sections = [X86_64, I386].flatMap(({ audit }) =>
    forAbi(audit, [
      ...loadNumber(audit),
      jump(JUMP_IF_EQUAL, IO_URING_SETUP, 0, 1),
      statement(RETURN, REFUSE | ENOSYS),
      statement(RETURN, ALLOW),
    ]),
  );
  return Buffer.concat([...sections, statement(RETURN, ALLOW)]);
}

/** Loads the call's number without the x32 bit. */
function loadNumber(audit: number): Buffer[] {
  return [statement(LOAD_WORD, NUMBER), ...(audit === X86_64.audit ? [statement(AND, ~X32_BIT >>> 0)] : [])];
}

/** Instructions for calls of one ABI. They end with a return, so calls of this ABI are not checked further. */
function forAbi(audit: number, body: readonly Buffer[]): Buffer[] {
  return [statement(LOAD_WORD, ARCHITECTURE), jump(JUMP_IF_EQUAL, audit, 0, body.length), ...body];
}

function abiSection(abi: Abi, userNamespaces: boolean): Buffer[] {
  const { audit, unneeded } = abi;
  const numbers = [...unneeded, ...UNNEEDED];
  const body = [
    ...loadNumber(audit),
    // The offset of a jump is the number of skipped instructions.
    ...numbers.map((number, index) => jump(JUMP_IF_EQUAL, number, numbers.length - index, 0)),
    jump(ALWAYS, 1, 0, 0),
    statement(RETURN, REFUSE | ENOSYS),
    ...abi.modes.flatMap(refuseSetuid),
    ...(userNamespaces ? [statement(RETURN, ALLOW)] : namespaceSection(abi)),
  ];
  return forAbi(audit, body);
}

/** Requires the call's number in the accumulator. For other calls, the number stays there. */
function refuseSetuid({ number, mode, flags }: ModeCall): Buffer[] {
  const check = [
    ...(flags === undefined
      ? []
      : [
          statement(LOAD_WORD, ARGUMENT(flags)),
          jump(JUMP_IF_ANY_BIT, MAKES_FILE, 1, 0),
          statement(RETURN, ALLOW),
        ]),
    statement(LOAD_WORD, ARGUMENT(mode)),
    jump(JUMP_IF_ANY_BIT, S_ISUID, 0, 1),
    statement(RETURN, REFUSE | EPERM),
    statement(RETURN, ALLOW),
  ];
  return [jump(JUMP_IF_EQUAL, number, 0, check.length), ...check];
}

/** Requires the call's number in the accumulator. */
function namespaceSection({ unshare, clone, setns }: Abi): Buffer[] {
  const refuse = statement(RETURN, REFUSE | EPERM);
  const allow = statement(RETURN, ALLOW);
  return [
    jump(JUMP_IF_EQUAL, CLONE3, 3, 0),
    jump(JUMP_IF_EQUAL, unshare, 3, 0),
    jump(JUMP_IF_EQUAL, clone, 2, 0),
    jump(JUMP_IF_EQUAL, setns, 5, 4),
    statement(RETURN, REFUSE | ENOSYS),
    statement(LOAD_WORD, ARGUMENT(0)),
    jump(JUMP_IF_ANY_BIT, CLONE_NEWUSER, 0, 1),
    refuse,
    allow,
    statement(LOAD_WORD, ARGUMENT(1)),
    // Argument 0 of setns: a namespace of any kind, so it may be a user namespace.
    jump(JUMP_IF_EQUAL, 0, 1, 0),
    jump(JUMP_IF_ANY_BIT, CLONE_NEWUSER, 0, 1),
    refuse,
    allow,
  ];
}

function statement(code: number, k: number): Buffer {
  return jump(code, k, 0, 0);
}

/** Encodes one struct sock_filter. */
function jump(code: number, k: number, ifTrue: number, ifFalse: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeUInt16LE(code, 0);
  buffer.writeUInt8(ifTrue, 2);
  buffer.writeUInt8(ifFalse, 3);
  buffer.writeUInt32LE(k >>> 0, 4);
  return buffer;
}
