import { codec, encoderFamily } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { readMediaSettings } from '../session/media-settings.ts';
import { GSTREAMER_DOCUMENTATION } from '../testing/gstreamer-documentation.ts';
import { elementNames } from './encoder-elements.ts';
import {
  ENCODERS,
  encodedCaps,
  encoderRow,
  propertyValues,
  rateProperties,
  WITHOUT_ENCODER,
} from './encoders.ts';

const target = {
  width: 1280,
  height: 720,
  fps: 60,
  bitrateKbps: 6000,
  h264Profile: 'constrained-baseline',
  renderNode: null,
  settings: readMediaSettings({}),
} as const;
const gpu = (renderNode: string | null, settings = {}) => ({
  renderNode,
  settings: readMediaSettings(settings),
});
const elements = ENCODERS.flatMap((row) => row.elements.map((element) => ({ row, element })));

describe('the table of encoders', () => {
  test.each(encoderFamily.options.flatMap((family) => codec.options.map((name) => [family, name] as const)))(
    '%s × %s has a row, or a reason',
    (family, name) => {
      const rows = ENCODERS.filter((row) => row.family === family && row.codec === name);
      const reasons = WITHOUT_ENCODER.filter((row) => row.family === family && row.codec === name);
      expect(rows.length + reasons.length).toBe(1);
      expect(encoderRow(family, name)).toBe(rows[0]);
    },
  );

  test.each(elements.map(({ element }) => [element.name, element] as const))(
    '%s: each property is documented, and accepts the values of the table',
    (name, element) => {
      const documented = GSTREAMER_DOCUMENTATION[name] ?? {};
      for (const { name: property, values } of propertyValues(element, target)) {
        const { takes } = documented[property] ?? { takes: [] };
        for (const value of values) {
          if (takes === undefined) expect(typeof value, property).toBe('boolean');
          else if (typeof value === 'number') {
            expect(value, property).toBeGreaterThanOrEqual(Number(takes[0]));
            expect(value, property).toBeLessThanOrEqual(Number(takes[1]));
          } else expect(takes, property).toContain(value);
        }
      }
    },
  );

  test.each(elements.map(({ element }) => [element.name, element] as const))(
    '%s: the bitrate has the documented unit, and is live if documented so',
    (name, { rate }) => {
      const documented = GSTREAMER_DOCUMENTATION[name] ?? {};
      expect(documented[rate.property]?.unit).toBe(rate.unit);
      expect(documented[rate.property]?.live ?? false).toBe(rate.live);
      if (rate.buffer !== null) expect(documented[rate.buffer]?.unit).toBe('kbit');
    },
  );

  test.each([
    ['openh264', 'h264', { bitrate: 4_000_000 }],
    ['va', 'h265', { bitrate: 4000, 'cpb-size': 133 }],
    ['nvenc', 'av1', { bitrate: 4000, 'vbv-buffer-size': 133 }],
    ['vulkan', 'h264', { bitrate: 4000 }],
  ] as const)('%s %s at 4 Mbit/s and 60 fps: %o', (family, name, properties) => {
    const element = encoderRow(family, name)?.elements[0];
    expect(element && rateProperties(element, 4000, 60)).toEqual(properties);
  });

  test('no B-frames and one reference frame if the element has a property for it', () => {
    for (const { element } of elements) {
      for (const property of ['b-frames', 'bframes']) expect(element.properties[property] ?? 0).toBe(0);
      for (const property of ['ref-frames', 'num-ref-frames'])
        expect(element.properties[property] ?? 1).toBe(1);
    }
  });

  test('host settings reach the encoder: gop, slices, target usage', () => {
    const settings = readMediaSettings({ gop: 30, slices: 2, target_usage: 1 });
    const of = (family: 'va' | 'nvenc') => {
      const element = encoderRow(family, 'h264')?.elements[0];
      return Object.fromEntries(
        (element ? propertyValues(element, { ...target, settings }) : []).map(({ name, values }) => [
          name,
          values,
        ]),
      );
    };
    expect(of('va')).toMatchObject({ 'key-int-max': [30], 'num-slices': [2], 'target-usage': [1] });
    expect(of('nvenc')).toMatchObject({ 'gop-size': [30], preset: ['p7', 'low-latency-hq'] });
  });

  test('an encoder without keyframe requests makes one a second', () => {
    const [element] = encoderRow('va', 'av1')?.elements ?? [];
    const gopOf = (keyframesOnRequest: boolean) =>
      element &&
      propertyValues(
        { ...element, keyframesOnRequest },
        { ...target, settings: readMediaSettings({ gop: 300 }) },
      )
        .filter(({ name }) => name === 'key-int-max')
        .flatMap(({ values }) => values);
    expect([gopOf(true), gopOf(false)]).toEqual([[300], [60]]);
  });

  test('only H.264 rows have profiles, and only their caps request one', () => {
    for (const row of ENCODERS) {
      expect(row.h264Profiles.length > 0).toBe(row.codec === 'h264');
      expect(encodedCaps(row, 'main')).toBe(
        row.codec === 'h264' ? 'video/x-h264,profile=main' : `video/x-${row.codec}`,
      );
    }
  });
});

describe('one GPU’s element', () => {
  const va = encoderRow('va', 'h265')?.elements[0];
  const nvenc = encoderRow('nvenc', 'h264')?.elements[0];
  const openh264 = encoderRow('openh264', 'h264')?.elements[0];

  test.each([
    [va, gpu('/dev/dri/renderD129'), ['varenderD129h265enc', 'vah265enc']],
    [va, gpu(null), ['vah265enc']],
    [nvenc, gpu('/dev/dri/renderD128'), ['nvh264enc']],
    [nvenc, gpu('/dev/dri/renderD128', { cuda_device: 1 }), ['nvh264device1enc']],
    [openh264, gpu('/dev/dri/renderD129'), ['openh264enc']],
  ])('%#: the GPU-specific name comes first', (element, on, names) => {
    expect(element && elementNames(element, on)).toEqual(names);
  });
});
