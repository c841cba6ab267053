/**
 * Bytes of the kernel's uinput interface: ioctl numbers, structs and event records. Pure.
 * Layouts are those of 64-bit little-endian Linux. Source: linux/uinput.h, linux/input.h.
 */

export const EVENT_BYTES = 24;
export const SETUP_BYTES = 92;
export const ABS_SETUP_BYTES = 28;
export const FF_UPLOAD_BYTES = 104;
export const FF_ERASE_BYTES = 12;
export const SYSNAME_BYTES = 64;
const NAME_BYTES = 80;
/** Offset of the type: a timestamp, which the kernel fills in, precedes type, code and value. */
const EVENT_TYPE = 16;
const FF_EFFECT = 8;

export const EV = { syn: 0x00, key: 0x01, abs: 0x03, ff: 0x15, uinput: 0x0101 } as const;
export const ABS = {
  x: 0x00,
  y: 0x01,
  z: 0x02,
  rx: 0x03,
  ry: 0x04,
  rz: 0x05,
  hat0x: 0x10,
  hat0y: 0x11,
  mtSlot: 0x2f,
  mtPositionX: 0x35,
  mtPositionY: 0x36,
  mtTrackingId: 0x39,
} as const;
export const KEY = { touch: 0x14a } as const;
/** direct: a touch affects the point of the screen that is touched. */
export const PROPERTY = { direct: 1 } as const;
export const FF = {
  rumble: 0x50,
  periodic: 0x51,
  square: 0x58,
  triangle: 0x59,
  sine: 0x5a,
  gain: 0x60,
} as const;
/** Codes of EV_UINPUT events: requests of the kernel to this process. */
export const UINPUT_REQUEST = { upload: 1, erase: 2 } as const;
export const BUS_USB = 3;

const NONE = 0;
const WRITE = 1;
const READ = 2;

/** Number of an ioctl of uinput. Source: asm-generic/ioctl.h. */
function ioctlNumber(direction: number, number: number, bytes: number): number {
  return ((direction << 30) | (bytes << 16) | (0x55 << 8) | number) >>> 0;
}

export const UI = {
  devCreate: ioctlNumber(NONE, 1, 0),
  devDestroy: ioctlNumber(NONE, 2, 0),
  devSetup: ioctlNumber(WRITE, 3, SETUP_BYTES),
  absSetup: ioctlNumber(WRITE, 4, ABS_SETUP_BYTES),
  getSysname: ioctlNumber(READ, 44, SYSNAME_BYTES),
  setEvBit: ioctlNumber(WRITE, 100, 4),
  setKeyBit: ioctlNumber(WRITE, 101, 4),
  setAbsBit: ioctlNumber(WRITE, 103, 4),
  setFfBit: ioctlNumber(WRITE, 107, 4),
  setPhys: ioctlNumber(WRITE, 108, 8),
  setPropBit: ioctlNumber(WRITE, 110, 4),
  beginFfUpload: ioctlNumber(READ | WRITE, 200, FF_UPLOAD_BYTES),
  endFfUpload: ioctlNumber(WRITE, 201, FF_UPLOAD_BYTES),
  beginFfErase: ioctlNumber(READ | WRITE, 202, FF_ERASE_BYTES),
  endFfErase: ioctlNumber(WRITE, 203, FF_ERASE_BYTES),
} as const;

export interface InputEvent {
  type: number;
  code: number;
  /** Signed. */
  value: number;
}

/** Encodes each event as a struct input_event, followed by a SYN_REPORT. */
export function encodeEvents(events: readonly InputEvent[]): Buffer {
  const bytes = Buffer.alloc((events.length + 1) * EVENT_BYTES);
  for (const [index, { type, code, value }] of events.entries()) {
    const at = index * EVENT_BYTES + EVENT_TYPE;
    bytes.writeUInt16LE(type, at);
    bytes.writeUInt16LE(code, at + 2);
    bytes.writeInt32LE(value, at + 4);
  }
  return bytes;
}

/** Decodes all whole records; the rest of the bytes is dropped. */
export function decodeEvents(bytes: Buffer): InputEvent[] {
  return Array.from({ length: Math.floor(bytes.length / EVENT_BYTES) }, (_, index) => {
    const at = index * EVENT_BYTES + EVENT_TYPE;
    return {
      type: bytes.readUInt16LE(at),
      code: bytes.readUInt16LE(at + 2),
      value: bytes.readInt32LE(at + 4),
    };
  });
}

export interface DeviceIdentity {
  name: string;
  vendor: number;
  product: number;
  version: number;
  /** Number of force-feedback effects that apps may store in the device; 0: the device has no force feedback. */
  maxEffects: number;
}

/** struct uinput_setup */
export function encodeSetup(identity: DeviceIdentity): Buffer {
  const bytes = Buffer.alloc(SETUP_BYTES);
  bytes.writeUInt16LE(BUS_USB, 0);
  bytes.writeUInt16LE(identity.vendor, 2);
  bytes.writeUInt16LE(identity.product, 4);
  bytes.writeUInt16LE(identity.version, 6);
  bytes.write(identity.name, 8, NAME_BYTES - 1, 'utf8');
  bytes.writeUInt32LE(identity.maxEffects, 8 + NAME_BYTES);
  return bytes;
}

export interface AxisRange {
  code: number;
  minimum: number;
  maximum: number;
  /** Changes smaller than this are treated as noise. */
  fuzz: number;
  /** Values below this are treated as the centre. */
  flat: number;
}

/** struct uinput_abs_setup */
export function encodeAxis(axis: AxisRange): Buffer {
  const bytes = Buffer.alloc(ABS_SETUP_BYTES);
  bytes.writeUInt16LE(axis.code, 0);
  // The current value precedes these four fields and stays 0.
  for (const [index, value] of [axis.minimum, axis.maximum, axis.fuzz, axis.flat].entries()) {
    bytes.writeInt32LE(value, 8 + 4 * index);
  }
  return bytes;
}

/** Encodes a string with its final NUL. */
export function encodeString(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf8');
}

export function decodeString(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

/** A struct uinput_ff_upload or uinput_ff_erase that asks the kernel for the details of the request with this id. */
export function encodeRequest(
  requestId: number,
  bytes: typeof FF_UPLOAD_BYTES | typeof FF_ERASE_BYTES,
): Buffer {
  const request = Buffer.alloc(bytes);
  request.writeInt32LE(requestId, 0);
  return request;
}

/** One force-feedback effect of an app, as the strengths of two motors. */
export interface RumbleEffect {
  /** 0–65535 */
  strong: number;
  weak: number;
  /** 0: the effect lasts until it is stopped. */
  lengthMs: number;
  delayMs: number;
}

/**
 * The effect of a struct uinput_ff_upload.
 * @returns the id and the effect; effect null: two motors cannot play this kind
 */
export function readUpload(upload: Buffer): { id: number; effect: RumbleEffect | null } {
  const type = upload.readUInt16LE(FF_EFFECT);
  const id = upload.readInt16LE(FF_EFFECT + 2);
  const timing = {
    lengthMs: upload.readUInt16LE(FF_EFFECT + 10),
    delayMs: upload.readUInt16LE(FF_EFFECT + 12),
  };
  if (type === FF.rumble) {
    const strong = upload.readUInt16LE(FF_EFFECT + 16);
    return { id, effect: { strong, weak: upload.readUInt16LE(FF_EFFECT + 18), ...timing } };
  }
  if (type === FF.periodic) {
    // A periodic effect swings in both directions, but a motor has only a strength.
    const level = Math.min(0xffff, Math.abs(upload.readInt16LE(FF_EFFECT + 20)) * 2);
    return { id, effect: { strong: level, weak: level, ...timing } };
  }
  return { id, effect: null };
}

/** Id of the effect that a struct uinput_ff_erase names. */
export function readErase(erase: Buffer): number {
  return erase.readUInt32LE(8);
}
