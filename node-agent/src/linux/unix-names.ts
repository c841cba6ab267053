/**
 * Names of unix sockets: binds a name without listening, lists the named sockets, and finds the process that listens at
 * a path. Node has no API for this, so the module calls socket(2), bind(2), getsockopt(2) and the kernel's socket
 * diagnosis.
 */

import { closeSync, fstatSync } from 'node:fs';
import koffi from 'koffi';

const AF_UNIX = 1;
const AF_NETLINK = 16;
const SOCK_STREAM = 1;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** Size of struct ucred: pid, uid and gid, 4 bytes each. */
const CREDENTIALS_BYTES = 12;
const NETLINK_SOCK_DIAG = 4;
const MSG_DONTWAIT = 0x40;
const EADDRINUSE = 98;

const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST_DUMP = 0x301;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const UDIAG_SHOW_NAME = 0x01;
const UDIAG_SHOW_UID = 0x40;
const UNIX_DIAG_NAME = 0;
const UNIX_DIAG_UID = 7;
const NETLINK_HEADER_BYTES = 16;
const DIAG_HEADER_BYTES = 16;
/**
 * Twice the 32 KiB to which the kernel limits one answer (net/netlink/af_netlink.c), so that no answer is truncated.
 */
const ANSWER_BYTES = 64 * 1024;
/** Largest number of answers. One answer lists about 900 sockets, so more than three million sockets are possible. */
const MAX_ANSWERS = 4_096;

interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Buffer, length: number): number;
  connect(fd: number, address: Buffer, length: number): number;
  getsockopt(fd: number, level: number, option: number, value: Buffer, length: Buffer): number;
  send(fd: number, data: Buffer, length: number, flags: number): number;
  recv(fd: number, data: Buffer, length: number, flags: number): number;
}

let bound: Libc | undefined;

function libc(): Libc {
  if (bound === undefined) {
    const library = koffi.load('libc.so.6');
    bound = {
      socket: library.func('int socket(int domain, int type, int protocol)'),
      bind: library.func('int bind(int fd, const void *address, uint length)'),
      connect: library.func('int connect(int fd, const void *address, uint length)'),
      getsockopt: library.func('int getsockopt(int fd, int level, int option, void *value, void *length)'),
      send: library.func('intptr_t send(int fd, const void *data, size_t length, int flags)'),
      recv: library.func('intptr_t recv(int fd, void *data, size_t length, int flags)'),
    };
  }
  return bound;
}

function refused(call: string): Error {
  return new Error(`${call} failed, errno ${koffi.errno()}`);
}

function openSocket(domain: number, type: number, protocol: number): number {
  const fd = libc().socket(domain, type | SOCK_CLOEXEC, protocol);
  if (fd < 0) throw refused('socket');
  return fd;
}

/** A name bound by this process. While it is bound, another process can neither bind it nor connect to it. */
export interface HeldName {
  /** Inode of the socket that has the name, as in /proc/net/unix. */
  readonly inode: number;
  /** Releases the name. Repeatable. */
  release(): void;
}

const heldInodes = new Set<number>();

/** Whether the socket with this inode belongs to this process and reserves a name. */
export function isHeldByAgent(inode: number): boolean {
  return heldInodes.has(inode);
}

/**
 * Binds an abstract name without listening.
 * @param name without its leading NUL
 * @returns null when the name is taken
 * @throws when the kernel refuses for another reason
 * Source: unix(7), "Abstract sockets".
 */
export function holdAbstractName(name: string): HeldName | null {
  const fd = openSocket(AF_UNIX, SOCK_STREAM, 0);
  const address = unixAddress(`\0${name}`);
  if (libc().bind(fd, address, address.length) !== 0) {
    const errno = koffi.errno();
    closeSync(fd);
    if (errno === EADDRINUSE) return null;
    throw new Error(`bind failed, errno ${errno}`);
  }
  const inode = fstatSync(fd).ino;
  heldInodes.add(inode);
  let open = true;
  return {
    inode,
    release() {
      if (!open) return;
      open = false;
      heldInodes.delete(inode);
      closeSync(fd);
    },
  };
}

/**
 * The process that called listen(2) at a path.
 * @returns null when a connection is not possible now, because no process listens or the queue is full
 * Source: unix(7), SO_PEERCRED.
 */
export function listeningProcess(path: string): number | null {
  const fd = openSocket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  try {
    const address = unixAddress(`${path}\0`);
    if (libc().connect(fd, address, address.length) !== 0) return null;
    const credentials = Buffer.alloc(CREDENTIALS_BYTES);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(CREDENTIALS_BYTES);
    if (libc().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length) !== 0)
      throw refused('getsockopt');
    return credentials.readInt32LE(0);
  } finally {
    closeSync(fd);
  }
}

function unixAddress(name: string): Buffer {
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, Buffer.from(name)]);
}

/** A named unix socket. */
export interface NamedSocket {
  /** The name; an abstract name starts with NUL. */
  name: string;
  inode: number;
  /** User that created the socket; null: the kernel is older than 5.3 and does not report the user. */
  uid: number | null;
}

/**
 * Named unix sockets of this network namespace.
 *
 * /proc/net/unix is not used, because a socket's name may contain a line feed and so fake further lines. The list also
 * contains sockets that no process has open, because their only descriptor is in an undelivered message.
 * @throws when the kernel has no socket diagnosis
 * Source: sock_diag(7), linux/unix_diag.h.
 */
export async function listNamedSockets(): Promise<NamedSocket[]> {
  const fd = openSocket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
  try {
    const request = diagRequest();
    if (libc().send(fd, request, request.length, 0) !== request.length) throw refused('send');
    const sockets: NamedSocket[] = [];
    const buffer = Buffer.alloc(ANSWER_BYTES);
    for (let answers = 0; answers < MAX_ANSWERS; answers++) {
      // The kernel creates each part of a dump on request, so this call never blocks.
      const length = libc().recv(fd, buffer, buffer.length, MSG_DONTWAIT);
      if (length < 0) throw refused('recv');
      const answer = parseDiagAnswer(buffer.subarray(0, Number(length)));
      sockets.push(...answer.sockets);
      if (answer.last) return sockets;
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error('the kernel lists too many sockets');
  } finally {
    closeSync(fd);
  }
}

function diagRequest(): Buffer {
  const request = Buffer.alloc(NETLINK_HEADER_BYTES + 24);
  request.writeUInt32LE(request.length, 0);
  request.writeUInt16LE(SOCK_DIAG_BY_FAMILY, 4);
  request.writeUInt16LE(NLM_F_REQUEST_DUMP, 6);
  request.writeUInt8(AF_UNIX, NETLINK_HEADER_BYTES);
  // Bit mask that requests sockets in every state.
  request.writeUInt32LE(0xffffffff, NETLINK_HEADER_BYTES + 4);
  request.writeUInt32LE(UDIAG_SHOW_NAME | UDIAG_SHOW_UID, NETLINK_HEADER_BYTES + 12);
  return request;
}

/**
 * Parses one part of the kernel's answer.
 * @throws with the errno in the answer
 */
export function parseDiagAnswer(bytes: Buffer): { sockets: NamedSocket[]; last: boolean } {
  const sockets: NamedSocket[] = [];
  for (let at = 0; at + NETLINK_HEADER_BYTES <= bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const type = bytes.readUInt16LE(at + 4);
    if (type === NLMSG_DONE) return { sockets, last: true };
    if (type === NLMSG_ERROR)
      throw new Error(`the kernel lists no sockets, errno ${-bytes.readInt32LE(at + NETLINK_HEADER_BYTES)}`);
    if (length < NETLINK_HEADER_BYTES) break;
    const socket = parseSocket(bytes.subarray(at + NETLINK_HEADER_BYTES, at + length));
    if (socket !== null) sockets.push(socket);
    at += padded(length);
  }
  return { sockets, last: false };
}

function parseSocket(message: Buffer): NamedSocket | null {
  if (message.length < DIAG_HEADER_BYTES) return null;
  let name: string | null = null;
  let uid: number | null = null;
  for (let at = DIAG_HEADER_BYTES; at + 4 <= message.length; ) {
    const length = message.readUInt16LE(at);
    const type = message.readUInt16LE(at + 2) & 0x3fff;
    if (length < 4) break;
    const value = message.subarray(at + 4, at + length);
    if (type === UNIX_DIAG_NAME) name = value.toString('latin1');
    if (type === UNIX_DIAG_UID && value.length === 4) uid = value.readUInt32LE();
    at += padded(length);
  }
  return name === null ? null : { name, inode: message.readUInt32LE(4), uid };
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
