import { describe, expect, test } from 'vitest';
import {
  ABS,
  BUS_USB,
  decodeEvents,
  EV,
  encodeAxis,
  encodeEvents,
  encodeRequest,
  encodeSetup,
  FF,
  FF_ERASE_BYTES,
  FF_UPLOAD_BYTES,
  readErase,
  readUpload,
  UI,
} from './uinput-layout.ts';

const hex = (bytes: Buffer) => bytes.toString('hex').replace(/(..)(?!$)/g, '$1 ');

describe('uinput on 64-bit Linux', () => {
  // The numbers that a C compiler computes from linux/uinput.h; their upper half contains the size of each struct.
  test.each([
    ['devCreate', 0x5501],
    ['devDestroy', 0x5502],
    ['devSetup', 0x405c5503],
    ['absSetup', 0x401c5504],
    ['getSysname', 0x8040552c],
    ['setEvBit', 0x40045564],
    ['setKeyBit', 0x40045565],
    ['setAbsBit', 0x40045567],
    ['setFfBit', 0x4004556b],
    ['setPhys', 0x4008556c],
    ['setPropBit', 0x4004556e],
    ['beginFfUpload', 0xc06855c8],
    ['endFfUpload', 0x406855c9],
    ['beginFfErase', 0xc00c55ca],
    ['endFfErase', 0x400c55cb],
  ] as const)('%s is 0x%s', (name, number) => {
    expect(UI[name]).toBe(number);
  });

  test('an event is 16 bytes of time, type, code and a signed value; a report ends them', () => {
    const bytes = encodeEvents([{ type: EV.abs, code: ABS.hat0y, value: -1 }]);
    expect(hex(bytes)).toBe(
      '00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 03 00 11 00 ff ff ff ff ' +
        '00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00',
    );
    expect(decodeEvents(bytes)).toEqual([
      { type: EV.abs, code: ABS.hat0y, value: -1 },
      { type: EV.syn, code: 0, value: 0 },
    ]);
  });

  test('an incomplete event is not read', () => {
    expect(decodeEvents(Buffer.alloc(47))).toHaveLength(1);
  });

  test('uinput_setup: bus, vendor, product, version, 80 bytes of name, effects', () => {
    const identity = { name: 'Pad', vendor: 0x045e, product: 0x028e, version: 0x0110, maxEffects: 16 };
    const bytes = encodeSetup(identity);
    expect(bytes).toHaveLength(92);
    expect(hex(bytes.subarray(0, 12))).toBe('03 00 5e 04 8e 02 10 01 50 61 64 00');
    expect(bytes.readUInt16LE(0)).toBe(BUS_USB);
    expect(bytes.readUInt32LE(88)).toBe(16);
  });

  test('a name that is too long stays within its field', () => {
    const bytes = encodeSetup({ name: 'x'.repeat(200), vendor: 0, product: 0, version: 0, maxEffects: 0 });
    expect(bytes[8 + 78]).toBe(0x78);
    expect(bytes[8 + 79]).toBe(0);
    expect(bytes.readUInt32LE(88)).toBe(0);
  });

  test('uinput_abs_setup: code, gap, value, minimum, maximum, fuzz, flat, resolution', () => {
    const bytes = encodeAxis({ code: ABS.rz, minimum: -2, maximum: 255, fuzz: 3, flat: 4 });
    expect(hex(bytes)).toBe(
      '05 00 00 00 00 00 00 00 fe ff ff ff ff 00 00 00 03 00 00 00 04 00 00 00 00 00 00 00',
    );
  });

  test('requests of force feedback begin with their number', () => {
    expect(encodeRequest(7, FF_UPLOAD_BYTES)).toHaveLength(104);
    expect(encodeRequest(7, FF_ERASE_BYTES)).toHaveLength(12);
    expect(encodeRequest(7, FF_ERASE_BYTES).readUInt32LE(0)).toBe(7);
  });
});

describe('force feedback effects', () => {
  function upload(type: number, id: number, fields: readonly [at: number, value: number][]): Buffer {
    const bytes = Buffer.alloc(FF_UPLOAD_BYTES);
    bytes.writeUInt16LE(type, 8);
    bytes.writeInt16LE(id, 10);
    for (const [at, value] of fields) bytes.writeUInt16LE(value & 0xffff, 8 + at);
    return bytes;
  }

  test('a rumble has two strengths, a length and a delay', () => {
    const bytes = upload(FF.rumble, 3, [
      [10, 200],
      [12, 50],
      [16, 0xffff],
      [18, 0x1234],
    ]);
    const effect = { strong: 0xffff, weak: 0x1234, lengthMs: 200, delayMs: 50 };
    expect(readUpload(bytes)).toEqual({ id: 3, effect });
  });

  test.each([
    [0x4000, 0x8000],
    [-0x4000, 0x8000],
    [-0x8000, 0xffff],
  ])('a wave of magnitude %d moves both motors with %d', (magnitude, level) => {
    const bytes = upload(FF.periodic, 0, [
      [16, FF.sine],
      [20, magnitude],
    ]);
    expect(readUpload(bytes)).toEqual({
      id: 0,
      effect: { strong: level, weak: level, lengthMs: 0, delayMs: 0 },
    });
  });

  test('a kind that two motors cannot play gives an id and no effect', () => {
    expect(readUpload(upload(0x53, 5, []))).toEqual({ id: 5, effect: null });
  });

  test('the id of an erased effect follows request and result', () => {
    const bytes = Buffer.alloc(FF_ERASE_BYTES);
    bytes.writeUInt32LE(9, 8);
    expect(readErase(bytes)).toBe(9);
  });
});
