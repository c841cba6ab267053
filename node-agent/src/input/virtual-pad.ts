import type { PadState } from '@footlight/protocol/input';
import type { DeviceFile } from './device-file.ts';
import { EffectMixer, type RumbleOrder } from './force-feedback.ts';
import {
  ABS,
  decodeEvents,
  EV,
  encodeRequest,
  FF,
  FF_ERASE_BYTES,
  FF_UPLOAD_BYTES,
  type InputEvent,
  readErase,
  readUpload,
  UI,
  UINPUT_REQUEST,
} from './uinput-layout.ts';
import { createDevice, type DeviceDescription, destroyDevice, EventWriter } from './virtual-device.ts';

export type PadSnapshot = Pick<PadState, 'left_trigger' | 'right_trigger' | 'buttons' | 'axes'>;

export const NEUTRAL_PAD: PadSnapshot = { left_trigger: 0, right_trigger: 0, buttons: 0, axes: [0, 0, 0, 0] };

/** Whether all controls of the pad are in their rest position. */
export function isNeutral({ left_trigger, right_trigger, buttons, axes }: PadSnapshot): boolean {
  return left_trigger === 0 && right_trigger === 0 && buttons === 0 && axes.every((axis) => axis === 0);
}

/**
 * Button of the standard mapping → key code. Buttons 6 and 7 are the triggers, 12 to 15 the hat, so they have no code.
 */
const BUTTON_CODES: readonly (readonly [button: number, code: number])[] = [
  [0, 0x130],
  [1, 0x131],
  [2, 0x133],
  [3, 0x134],
  [4, 0x136],
  [5, 0x137],
  [8, 0x13a],
  [9, 0x13b],
  [10, 0x13d],
  [11, 0x13e],
  [16, 0x13c],
];
/** Buttons of the standard mapping that the kernel reports as an axis. Source: W3C Gamepad, "Remapping". */
const HAT = { up: 12, down: 13, left: 14, right: 15 } as const;
const STICK_AXES = [ABS.x, ABS.y, ABS.rx, ABS.ry] as const;
/**
 * The same number as in the kernel's driver for pads that cannot store effects. Source: FF_MEMLESS_EFFECTS in
 * drivers/input/ff-memless.c.
 */
const MAX_EFFECTS = 16;

/** Describes the pad like the driver of the Xbox 360 pad, so that games can use their known button mappings. */
export function describePad(phys: string): DeviceDescription {
  const stick = { minimum: -32_768, maximum: 32_767, fuzz: 16, flat: 128 };
  const trigger = { minimum: 0, maximum: 255, fuzz: 0, flat: 0 };
  const hat = { minimum: -1, maximum: 1, fuzz: 0, flat: 0 };
  return {
    identity: {
      name: 'Microsoft X-Box 360 pad',
      vendor: 0x045e,
      product: 0x028e,
      version: 0x0110,
      maxEffects: MAX_EFFECTS,
    },
    phys,
    keys: BUTTON_CODES.map(([, code]) => code),
    axes: [
      ...STICK_AXES.map((code) => ({ code, ...stick })),
      ...[ABS.z, ABS.rz].map((code) => ({ code, ...trigger })),
      ...[ABS.hat0x, ABS.hat0y].map((code) => ({ code, ...hat })),
    ],
    effects: [FF.rumble, FF.periodic, FF.square, FF.triangle, FF.sine, FF.gain],
    properties: [],
  };
}

/** Converts the state of every control to an event. Pure. */
export function padEvents({ buttons, axes, left_trigger, right_trigger }: PadSnapshot): InputEvent[] {
  const pressed = (button: number) => (buttons >>> button) & 1;
  return [
    ...BUTTON_CODES.map(([button, code]) => ({ type: EV.key, code, value: pressed(button) })),
    ...STICK_AXES.map((code, index) => ({ type: EV.abs, code, value: axes[index] ?? 0 })),
    { type: EV.abs, code: ABS.z, value: left_trigger },
    { type: EV.abs, code: ABS.rz, value: right_trigger },
    { type: EV.abs, code: ABS.hat0x, value: pressed(HAT.right) - pressed(HAT.left) },
    { type: EV.abs, code: ABS.hat0y, value: pressed(HAT.down) - pressed(HAT.up) },
  ];
}

/**
 * One gamepad from its creation to disconnect(); its file stays open afterwards. An app that uploads an effect is
 * blocked in the kernel until poll() is called.
 */
export class VirtualPad {
  /** Name of the device in sysfs. */
  readonly sysname: string;
  readonly #file: DeviceFile;
  readonly #writer: EventWriter;
  readonly #effects = new EffectMixer();

  /** @throws when the kernel refuses the device */
  constructor(file: DeviceFile, phys: string) {
    this.#file = file;
    this.sysname = createDevice(file, describePad(phys));
    this.#writer = new EventWriter(file);
  }

  apply(snapshot: PadSnapshot): void {
    this.#writer.write(padEvents(snapshot));
  }

  /** Answers requests of apps. @returns new strengths for the motors; null: unchanged */
  poll(nowMs: number): RumbleOrder | null {
    for (let bytes = this.#file.read(); bytes !== null; bytes = this.#file.read()) {
      for (const event of decodeEvents(bytes)) this.#answer(event, nowMs);
    }
    return this.#effects.order(nowMs);
  }

  disconnect(): void {
    destroyDevice(this.#file);
  }

  #answer({ type, code, value }: InputEvent, nowMs: number): void {
    if (type === EV.ff && code === FF.gain) this.#effects.setGain(value);
    else if (type === EV.ff) this.#effects.play(code, value, nowMs);
    else if (type === EV.uinput && code === UINPUT_REQUEST.upload) this.#upload(value);
    else if (type === EV.uinput && code === UINPUT_REQUEST.erase) this.#erase(value);
  }

  #upload(requestId: number): void {
    const request = encodeRequest(requestId, FF_UPLOAD_BYTES);
    this.#file.ioctl(UI.beginFfUpload, request);
    const { id, effect } = readUpload(request);
    if (effect) this.#effects.upload(id, effect);
    this.#file.ioctl(UI.endFfUpload, request);
  }

  #erase(requestId: number): void {
    const request = encodeRequest(requestId, FF_ERASE_BYTES);
    this.#file.ioctl(UI.beginFfErase, request);
    this.#effects.erase(readErase(request));
    this.#file.ioctl(UI.endFfErase, request);
  }
}
