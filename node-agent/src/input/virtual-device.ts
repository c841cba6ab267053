import { ioctlFilter } from '../runtime/confinement/seccomp.ts';
import type { DeviceFile } from './device-file.ts';
import {
  type AxisRange,
  type DeviceIdentity,
  decodeString,
  EV,
  encodeAxis,
  encodeEvents,
  encodeSetup,
  encodeString,
  type InputEvent,
  SYSNAME_BYTES,
  UI,
} from './uinput-layout.ts';

export interface DeviceDescription {
  identity: DeviceIdentity;
  /** Physical path (phys), by which the agent checks to which session the device belongs. */
  phys: string;
  keys: readonly number[];
  axes: readonly AxisRange[];
  /** Supported kinds of force-feedback effects. */
  effects: readonly number[];
  /** Further properties (INPUT_PROP_*) of the device. */
  properties: readonly number[];
}

/**
 * Creates the device.
 * @returns its sysfs name, such as "input12"
 * @throws when the kernel refuses a step
 */
export function createDevice(file: DeviceFile, device: DeviceDescription): string {
  const bits = (request: number, codes: readonly number[]) => {
    for (const code of codes) file.ioctl(request, code);
  };
  bits(UI.setEvBit, typesOf(device));
  bits(UI.setKeyBit, device.keys);
  bits(UI.setFfBit, device.effects);
  bits(UI.setPropBit, device.properties);
  for (const axis of device.axes) {
    file.ioctl(UI.setAbsBit, axis.code);
    file.ioctl(UI.absSetup, encodeAxis(axis));
  }
  file.ioctl(UI.setPhys, encodeString(device.phys));
  file.ioctl(UI.devSetup, encodeSetup(device.identity));
  file.ioctl(UI.devCreate, 0);
  const sysname = Buffer.alloc(SYSNAME_BYTES);
  file.ioctl(UI.getSysname, sysname);
  return decodeString(sysname);
}

function typesOf({ keys, axes, effects }: DeviceDescription): number[] {
  return [
    ...(keys.length > 0 ? [EV.key] : []),
    ...(axes.length > 0 ? [EV.abs] : []),
    ...(effects.length > 0 ? [EV.ff] : []),
  ];
}

/**
 * Seccomp filter for a process that has device files open and that a viewer might exploit. It lets the process create
 * only devices of these kinds. Otherwise, the viewer could create a keyboard or mouse that types and clicks on the
 * host's console.
 */
export function deviceFilter(kinds: readonly DeviceDescription[]): Buffer {
  const all = (codes: (device: DeviceDescription) => readonly number[]) => [...new Set(kinds.flatMap(codes))];
  return ioctlFilter(
    new Map([
      [UI.setEvBit, all(typesOf)],
      [UI.setKeyBit, all(({ keys }) => keys)],
      [UI.setPropBit, all(({ properties }) => properties)],
    ]),
  );
}

/** Removes the device; its file can then create another one. */
export function destroyDevice(file: DeviceFile): void {
  file.ioctl(UI.devDestroy, 0);
}

/** Writes only the axes and keys that changed. */
export class EventWriter {
  readonly #file: DeviceFile;
  readonly #values = new Map<number, number>();

  constructor(file: DeviceFile) {
    this.#file = file;
  }

  write(events: readonly InputEvent[]): void {
    const changed = events.filter(({ type, code, value }) => {
      const key = type * 0x10000 + code;
      if ((this.#values.get(key) ?? 0) === value) return false;
      this.#values.set(key, value);
      return true;
    });
    if (changed.length > 0) this.#file.write(encodeEvents(changed));
  }
}
