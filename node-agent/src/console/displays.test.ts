import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@footlight/platform/testing';
import { type ConsoleCapabilities, consoleCapabilitiesSchema } from '@footlight/protocol/agent';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConnectorWatch } from './connector-watch.ts';
import { linuxDisplays } from './displays.ts';
import { readEdid } from './edid.ts';

/** 1920×1080 at 60 Hz as in CTA-861: pixel clock 148.5 MHz, 2200 × 1125 pixels in total. */
const FULL_HD = [0x02, 0x3a, 0x80, 0x18, 0x71, 0x38, 0x2d, 0x40, 0x58, 0x2c, 0x45, 0, 0, 0, 0, 0, 0, 0x1e];
/** 1920×1080 interlaced: pixel clock 74.25 MHz, 540 of 562 lines per field. */
const INTERLACED = [0x01, 0x1d, 0x80, 0x18, 0x71, 0x1c, 0x16, 0x20, 0x58, 0x2c, 0x25, 0, 0, 0, 0, 0, 0, 0x9e];

function block(bytes: readonly number[]): number[] {
  const padded = [...bytes, ...new Array<number>(127 - bytes.length).fill(0)];
  const sum = padded.reduce((total, byte) => total + byte, 0);
  return [...padded, (256 - (sum % 256)) % 256];
}

/** An EDID with descriptors in its base block and in an extension. */
function edid(base: readonly number[][], extension: readonly number[][] = []): Uint8Array {
  const header = [0, 255, 255, 255, 255, 255, 255, 0, ...new Array<number>(46).fill(0)];
  const descriptors = [...base.flat(), ...new Array<number>(72 - base.flat().length).fill(0)];
  const first = block([...header, ...descriptors, extension.length > 0 ? 1 : 0]);
  return Uint8Array.from([
    ...first,
    ...(extension.length > 0 ? block([2, 3, 4, 0, ...extension.flat()]) : []),
  ]);
}

describe('EDID', () => {
  test('the first detailed timing is the preferred one', () => {
    expect(readEdid(edid([FULL_HD]))).toEqual([
      {
        width: 1920,
        height: 1080,
        refresh_millihz: 60_000,
        preferred: true,
        interlaced: false,
        clock_khz: 148_500,
        htotal: 2200,
        vtotal: 1125,
      },
    ]);
  });

  test('an extension adds timings, including interlaced ones', () => {
    expect(readEdid(edid([FULL_HD], [FULL_HD, INTERLACED]))).toMatchObject([
      { preferred: true },
      { preferred: false, height: 1080 },
      { preferred: false, height: 540, interlaced: true },
    ]);
  });

  test('a text descriptor is skipped', () => {
    const name = [0, 0, 0, 0xfc, 0, ...new Array<number>(13).fill(0x41)];
    expect(readEdid(edid([FULL_HD, name]))).toHaveLength(1);
  });

  test('an EDID with a wrong checksum, and an extension with one, is ignored', () => {
    const damaged = edid([FULL_HD], [FULL_HD]);
    damaged[200] = 1;
    expect(readEdid(damaged)).toHaveLength(1);
    damaged[20] = 1;
    expect(readEdid(damaged)).toEqual([]);
  });

  test('any bytes are parsed without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        for (const { refresh_millihz } of readEdid(bytes)) expect(refresh_millihz).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('displays of the host', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'footlight-displays-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const read = () =>
    linuxDisplays({
      drm: join(root, 'drm'),
      sound: join(root, 'asound'),
      inputs: join(root, 'by-id'),
    }).read();

  function connector(name: string, status: string, bytes: Uint8Array = new Uint8Array()): void {
    const at = join(root, 'drm', name);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'status'), `${status}\n`);
    writeFileSync(join(at, 'edid'), bytes);
  }

  test('connectors, plugged or not, with the modes of plugged-in displays', async () => {
    connector('card1-DP-4', 'connected', edid([FULL_HD]));
    connector('card1-HDMI-A-1', 'disconnected', edid([FULL_HD]));
    mkdirSync(join(root, 'drm', 'card1', 'device', 'drm', 'renderD128'), { recursive: true });
    mkdirSync(join(root, 'drm', 'version'));
    const found = await read();
    expect(consoleCapabilitiesSchema.parse(found)).toEqual(found);
    expect(found.connectors).toEqual(['DP-4', 'HDMI-A-1']);
    expect(found.outputs).toMatchObject([
      {
        id: 'card1:DP-4',
        card: 'card1',
        render_node: '/dev/dri/renderD128',
        connector: 'DP-4',
        connected: true,
        modes: [{ name: '1920x1080', refresh_millihz: 60_000 }],
      },
      { id: 'card1:HDMI-A-1', connected: false, modes: [] },
    ]);
  });

  test('a display without an EDID is connected and has no modes', async () => {
    connector('card0-VGA-1', 'connected');
    expect((await read()).outputs).toMatchObject([
      { id: 'card0:VGA-1', connected: true, modes: [], render_node: null },
    ]);
  });

  test('each input device is listed once, with a readable name', async () => {
    mkdirSync(join(root, 'by-id'));
    symlinkSync('../event3', join(root, 'by-id', 'usb-Some_Keyboard_K1-event-kbd'));
    symlinkSync('../event3', join(root, 'by-id', 'usb-Some_Keyboard_K1-event-mouse'));
    symlinkSync('../mouse0', join(root, 'by-id', 'usb-Some_Keyboard_K1-mouse'));
    expect((await read()).input_devices).toEqual([{ path: '/dev/input/event3', label: 'Some Keyboard K1' }]);
  });

  test('playback devices by card name; devices that only record are omitted', async () => {
    mkdirSync(join(root, 'asound'));
    const cards = [
      ' 0 [PCH            ]: HDA-Intel - HDA Intel PCH',
      '                      HDA Intel PCH at 0xf7310000 irq 31',
      ' 1 [C920           ]: USB-Audio - HD Pro Webcam C920',
      '                      HD Pro Webcam C920 at usb-0000:00:14.0-4, high speed',
    ];
    const pcm = [
      '00-00: ALC892 Analog : ALC892 Analog : playback 1 : capture 1',
      '00-03: HDMI 0 : HDMI 0 : playback 1',
      '00-02: ALC892 Alt Analog : ALC892 Alt Analog : capture 2',
      '01-00: USB Audio : USB Audio : capture 1',
    ];
    writeFileSync(join(root, 'asound', 'cards'), `${cards.join('\n')}\n`);
    writeFileSync(join(root, 'asound', 'pcm'), `${pcm.join('\n')}\n`);
    const found = await read();
    expect(consoleCapabilitiesSchema.parse(found)).toEqual(found);
    expect(found.audio_sinks).toEqual([
      { id: 'hw:CARD=PCH,DEV=0', label: 'HDA Intel PCH, ALC892 Analog' },
      { id: 'hw:CARD=PCH,DEV=3', label: 'HDA Intel PCH, HDMI 0' },
    ]);
  });

  test('a machine without displays and devices has empty lists', async () => {
    expect(await read()).toEqual({ connectors: [], outputs: [], audio_sinks: [], input_devices: [] });
  });
});

describe('plugging displays in and out', () => {
  const nothing = { connectors: [], outputs: [], audio_sinks: [], input_devices: [] };

  test('is noticed within two seconds after the first report', async () => {
    const clock = new ManualClock();
    let now: ConsoleCapabilities = nothing;
    let changes = 0;
    const displays = { read: async () => now };
    const watch = new ConnectorWatch({
      displays,
      clock,
      changed: () => {
        changes += 1;
      },
    });
    const look = async () => {
      clock.advance(2_000);
      await new Promise(setImmediate);
      return changes;
    };
    now = { ...nothing, connectors: ['DP-1'] };
    expect(await look()).toBe(0);
    await watch.read();
    expect(await look()).toBe(0);
    now = nothing;
    expect(await look()).toBe(1);
    await watch.read();
    expect(await look()).toBe(1);
    watch.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
