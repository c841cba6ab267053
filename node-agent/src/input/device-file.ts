import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { errorText } from '@footlight/platform';
import koffi from 'koffi';
import { EVENT_BYTES } from './uinput-layout.ts';

/**
 * One open device. An open /dev/uinput can create one virtual device at a time. The kernel removes the virtual device
 * when the file is closed or the process ends. The only code with ioctl calls.
 */
export interface DeviceFile {
  /** @throws the errno when the kernel refuses */
  ioctl(request: number, argument: number | Buffer): void;
  /** @throws when the kernel refuses */
  write(bytes: Buffer): void;
  /** Reads a message of the kernel; null: no message waits. */
  read(): Buffer | null;
  close(): void;
}

export const UINPUT_PATH = '/dev/uinput';
/** Events read at one poll. A game writes one or two force-feedback events at a time; the next poll reads the rest. */
const EVENTS_PER_READ = 16;

interface Ioctl {
  number(fd: number, request: number, argument: number): number;
  bytes(fd: number, request: number, argument: Buffer): number;
}

let bound: Ioctl | undefined;

function bindIoctl(): Ioctl {
  const libc = koffi.load('libc.so.6');
  return {
    number: libc.func('int ioctl(int fd, ulong request, intptr_t argument)'),
    bytes: libc.func('int ioctl(int fd, ulong request, void *argument)'),
  };
}

/** @throws when the device is missing, or cannot be opened for both reading and writing */
export function openDeviceFile(path = UINPUT_PATH): DeviceFile {
  // O_NOCTTY: an opened terminal must not become the controlling terminal of this process.
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY);
  bound ??= bindIoctl();
  const calls = bound;
  const buffer = Buffer.alloc(EVENT_BYTES * EVENTS_PER_READ);
  let open = true;
  return {
    ioctl(request, argument) {
      const result =
        typeof argument === 'number'
          ? calls.number(fd, request, argument)
          : calls.bytes(fd, request, argument);
      if (result < 0) throw new Error(`ioctl 0x${request.toString(16)} failed, errno ${koffi.errno()}`);
    },
    write(bytes) {
      writeSync(fd, bytes);
    },
    read() {
      try {
        const length = readSync(fd, buffer, 0, buffer.length, null);
        return length > 0 ? Buffer.from(buffer.subarray(0, length)) : null;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null;
        throw error;
      }
    },
    close() {
      if (open) closeSync(fd);
      open = false;
    },
  };
}

/**
 * Opens up to `count` device files. Called before the process drops its rights, because open files stay usable.
 * @returns the opened files, and the problem that prevented opening more files; problem null: all are open
 */
export function openDeviceFiles(
  count: number,
  open: () => DeviceFile = openDeviceFile,
): { files: DeviceFile[]; problem: string | null } {
  const files: DeviceFile[] = [];
  try {
    while (files.length < count) files.push(open());
    return { files, problem: null };
  } catch (error) {
    return { files, problem: errorText(error) };
  }
}
