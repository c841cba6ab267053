import { describe, expect, test } from 'vitest';
import { parseNvidiaSmi } from './nvidia.ts';
import { encodeSlots } from './slots.ts';
import { storageMoved, storageOf } from './storage-report.ts';
import { parseVainfo } from './vainfo.ts';

const gpu = (fields: string) => `<gpu id="00000000:01:00.0">${fields}</gpu>`;
const log = (...gpus: string[]) =>
  `<?xml version="1.0" ?><!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd"><nvidia_smi_log>
   <driver_version>550.90.07</driver_version><attached_gpus>${gpus.length}</attached_gpus>${gpus.join('')}</nvidia_smi_log>`;

const RTX = gpu(`
  <product_name>NVIDIA GeForce RTX 4080</product_name>
  <pci><pci_bus_id>00000000:0A:00.0</pci_bus_id></pci>
  <fb_memory_usage><total>16376 MiB</total><reserved>352 MiB</reserved><used>1402 MiB</used><free>14621 MiB</free></fb_memory_usage>
  <utilization><gpu_util>3 %</gpu_util><encoder_util>25 %</encoder_util></utilization>
  <processes><process_info><pid>1</pid></process_info></processes>`);

describe('nvidia-smi -q -x', () => {
  test('one GPU: sizes, address and encoder load', () => {
    expect(parseNvidiaSmi(log(RTX))).toEqual([
      {
        model: 'NVIDIA GeForce RTX 4080',
        pci: '0000:0a:00.0',
        vramTotalMb: 16_376,
        vramUsedMb: 1_402,
        vramFreeMb: 14_621,
        encoderLoad: 0.25,
      },
    ]);
  });

  test('a value that the driver does not report is null, never zero', () => {
    const silent = gpu(`
      <product_name>NVIDIA A100</product_name>
      <fb_memory_usage><total>N/A</total><used>[N/A]</used><free>Not Supported</free></fb_memory_usage>
      <utilization><encoder_util>N/A</encoder_util></utilization>`);
    expect(parseNvidiaSmi(log(silent))[0]).toEqual({
      model: 'NVIDIA A100',
      pci: null,
      vramTotalMb: null,
      vramUsedMb: null,
      vramFreeMb: null,
      encoderLoad: null,
    });
  });

  test('several GPUs keep their order; no GPU is no error', () => {
    expect(
      parseNvidiaSmi(log(RTX, gpu('<product_name>Second</product_name>'))).map(({ model }) => model),
    ).toEqual(['NVIDIA GeForce RTX 4080', 'Second']);
    expect(parseNvidiaSmi(log())).toEqual([]);
  });

  test.each(['', 'NVIDIA-SMI has failed because it could not communicate with the driver', '<html></html>'])(
    'other output is an error: %s',
    (text) => {
      expect(() => parseNvidiaSmi(text)).toThrow();
    },
  );
});

describe('vainfo', () => {
  test('driver and codecs with an encoder', () => {
    const output = `vainfo: VA-API version: 1.17 (libva 2.12.0)
vainfo: Driver version: Mesa Gallium driver 22.3.6 for AMD Radeon RX 6600 (navi23)
vainfo: Supported profile and entrypoints
      VAProfileH264High               :	VAEntrypointVLD
      VAProfileH264High               :	VAEntrypointEncSlice
      VAProfileHEVCMain               :	VAEntrypointEncSliceLP
      VAProfileAV1Profile0            :	VAEntrypointVLD`;
    expect(parseVainfo(output)).toEqual({
      driver: 'Mesa Gallium driver 22.3.6 for AMD Radeon RX 6600 (navi23)',
      encodes: ['h264', 'h265'],
    });
  });

  test('an empty output gives no codecs', () => {
    expect(parseVainfo('error: failed to initialize display')).toEqual({ driver: null, encodes: [] });
  });
});

describe('encode slots', () => {
  test.each([
    ['nvenc', null, null, 8],
    ['va', null, null, 4],
    ['vulkan', null, null, 2],
    ['openh264', null, null, 2],
    ['openh264', null, 55.3, 2],
    ['openh264', null, 553, 7],
    ['openh264', null, 99_999, 16],
    ['openh264', [5], 553, 5],
    ['nvenc', [3, 9], null, 9],
    ['nvenc', [0], null, 0],
  ] as const)('%s, configured %j, %s Mpixel/s → %i', (family, configured, mpix, slots) => {
    expect(encodeSlots(family, 1, configured, mpix)).toBe(slots);
  });

  test('GPUs beyond the end of a list get the default of their family', () => {
    expect(encodeSlots('va', 2, [1, 1], null)).toBe(4);
  });
});

describe('disks', () => {
  const GIB = 2 ** 30;

  test('each real file system is listed once', () => {
    const disk = { fs: '/dev/vda', type: 'ext4', size: 100 * GIB, available: 50 * GIB, mount: '/' };
    const storage = storageOf([
      disk,
      { ...disk, mount: '/var/lib/bind' },
      { fs: 'tmpfs', type: 'tmpfs', size: GIB, available: GIB, mount: '/run' },
      { fs: 'overlay', type: 'overlay', size: GIB, available: GIB, mount: '/x' },
    ]);
    expect(storage).toEqual([{ label: '/dev/vda', path: '/', total_mb: 102_400, available_mb: 51_200 }]);
  });

  test.each([
    [51_200, 51_200, false],
    [51_200, 50_300, false],
    [51_200, 50_176, true],
    [51_200, 52_224, true],
  ])('from %i to %i MB free is worth a report: %s', (before, after, worth) => {
    const at = (available_mb: number) => [{ label: 'a', path: '/', total_mb: 102_400, available_mb }];
    expect(storageMoved(at(before), at(after))).toBe(worth);
  });
});
