/**
 * Importing this module replaces /dev/uinput by a file that records what the kernel would get, so that tests can use
 * gamepads end to end on a machine without the kernel module. The product does not import it; tests preload it into an
 * agent, whose media workers inherit it.
 *
 * The variable FOOTLIGHT_TEST_UINPUT names the file. Each line is a JSON object of the form `UinputRecord`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import koffi from 'koffi';
import { UINPUT_PATH } from '../device-file.ts';
import { decodeEvents, decodeString, type InputEvent, SYSNAME_BYTES, UI } from '../uinput-layout.ts';

export interface UinputRecord {
  /** Physical path of the device, which names session and index. */
  phys: string;
  /** events: written events; they are empty when the device is created or removed. */
  kind: 'created' | 'removed' | 'events';
  events: readonly InputEvent[];
}

const record = process.env.FOOTLIGHT_TEST_UINPUT;
if (record !== undefined) recordTo(record);

function recordTo(file: string): void {
  /** Physical path of the device of each open descriptor; "": not set yet. */
  const devices = new Map<number, string>();
  const { openSync, closeSync, readSync, writeSync } = fs;
  const { load } = koffi;

  const add = (fd: number, kind: UinputRecord['kind'], events: readonly InputEvent[] = []) => {
    const line: UinputRecord = { phys: devices.get(fd) ?? '', kind, events };
    writeSync(fd, `${JSON.stringify(line)}\n`);
  };
  const ioctl = (fd: number, request: number, argument: number | Buffer): number => {
    if (request === UI.setPhys && typeof argument !== 'number') devices.set(fd, decodeString(argument));
    if (request === UI.devCreate) add(fd, 'created');
    if (request === UI.devDestroy) add(fd, 'removed');
    // No host has this device, so the agent finds no node whose owner it would change.
    if (request === UI.getSysname && typeof argument !== 'number')
      argument.write('input99999\0'.slice(0, SYSNAME_BYTES));
    return 0;
  };

  Object.assign(fs, {
    openSync: (...args: Parameters<typeof openSync>) => {
      if (args[0] !== UINPUT_PATH) return openSync(...args);
      const fd = openSync(file, 'a');
      devices.set(fd, '');
      return fd;
    },
    closeSync: (fd: number) => {
      devices.delete(fd);
      closeSync(fd);
    },
    readSync: (...args: Parameters<typeof readSync>) => {
      if (devices.has(args[0])) throw Object.assign(new Error('no message waits'), { code: 'EAGAIN' });
      return readSync(...args);
    },
    writeSync: (fd: number, bytes: Buffer, ...more: unknown[]) => {
      if (!devices.has(fd)) return (writeSync as (...args: unknown[]) => number)(fd, bytes, ...more);
      add(fd, 'events', decodeEvents(bytes).slice(0, -1));
      return bytes.length;
    },
  });
  syncBuiltinESMExports();

  koffi.load = (...args: Parameters<typeof load>) => {
    const library = load(...args);
    if (args[0] !== 'libc.so.6') return library;
    const func = (...definition: Parameters<typeof library.func>) => {
      const original = library.func(...definition);
      if (!String(definition[0]).startsWith('int ioctl(')) return original;
      return (fd: number, request: number, argument: number | Buffer) =>
        devices.has(fd) ? ioctl(fd, request, argument) : original(fd, request, argument);
    };
    // A separate object, because the properties of a library are read-only and its methods need the library as `this`.
    return new Proxy({} as typeof library, {
      get: (_, name: keyof typeof library) => {
        if (name === 'func') return func;
        const value: unknown = library[name];
        return typeof value === 'function' ? value.bind(library) : value;
      },
    });
  };
}
