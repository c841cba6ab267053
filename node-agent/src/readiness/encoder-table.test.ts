import type { Codec, EncoderFamily } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { ENCODERS } from '../media/encode/encoders.ts';
import type { EncoderInspection } from '../media/encode/probe-messages.ts';
import { encoderTableChecks, type InspectedRow } from './encoder-table.ts';

type Seen = Partial<EncoderInspection> | string;

/** A host with GStreamer 1.22 and all its plugins, but with only these elements. */
function host(seen: Partial<Record<`${EncoderFamily} ${Codec}`, Seen>>): InspectedRow[] {
  return ENCODERS.map((row) => {
    const own = seen[`${row.family} ${row.codec}`];
    const none: EncoderInspection = {
      gstreamer: '1.22.0',
      plugin: true,
      element: null,
      missing: [],
      refused: [],
      lacking: [],
      problem: null,
    };
    return { row, inspection: typeof own === 'string' ? own : { ...none, ...own } };
  });
}

const check = (rows: InspectedRow[], family: EncoderFamily, inUse: EncoderFamily = 'openh264') =>
  encoderTableChecks(rows, inUse).find(({ id }) => id === `encoder_table_${family}`);
const OPENH264 = { 'openh264 h264': { element: 'openh264enc' } } as const;

describe('the doctor reports for each family what is installed', () => {
  test('one line each, for any GPU of the host', () => {
    expect(encoderTableChecks(host(OPENH264), 'openh264').map(({ id, status }) => [id, status])).toEqual([
      ['encoder_table_openh264', 'pass'],
      ['encoder_table_va', 'skip'],
      ['encoder_table_nvenc', 'skip'],
      ['encoder_table_vulkan', 'skip'],
    ]);
  });

  test('the used element, and codecs without one', () => {
    expect(check(host(OPENH264), 'openh264')).toEqual({
      id: 'encoder_table_openh264',
      status: 'pass',
      summary:
        'h264: openh264enc; h265: none, OpenH264 encodes H.264 only; av1: none, OpenH264 encodes H.264 only.',
      remediation: [],
    });
  });

  test('properties that a release lacks, and values that it refuses', () => {
    const nvenc = { element: 'nvh264enc', missing: ['tune'], refused: ['preset=p2 or low-latency-hq'] };
    expect(check(host({ 'nvenc h264': nvenc }), 'nvenc')?.summary).toContain(
      'h264: nvh264enc (no property tune, does not take preset=p2 or low-latency-hq)',
    );
  });

  test('an element that cannot be inspected affects only its own row', () => {
    const rows = host({
      'va h264': 'the probe process ended with SIGSEGV',
      'va h265': { element: 'vah265enc' },
    });
    expect(check(rows, 'va')).toMatchObject({
      status: 'pass',
      summary: expect.stringContaining(
        'h264: not looked at (the probe process ended with SIGSEGV); h265: vah265enc',
      ),
    });
  });
});

describe('the doctor reports how to install the rest', () => {
  test('no plugin: its Debian package', () => {
    const rows = host({ 'openh264 h264': { plugin: false } });
    expect(check(rows, 'openh264')).toMatchObject({
      status: 'fail',
      remediation: ['apt-get install gstreamer1.0-plugins-bad'],
    });
  });

  test('a plugin without its elements: the driver; for elements of later releases: a newer GStreamer', () => {
    expect(check(host(OPENH264), 'va')?.remediation).toEqual([
      'The plugin va offers its encoders where there is a GPU of Intel or AMD and its VA-API driver; the packages: mesa-va-drivers (AMD), or intel-media-va-driver-non-free (Intel, from non-free).',
      'va av1 needs GStreamer 1.24 or later; this is 1.22.0.',
    ]);
    expect(check(host(OPENH264), 'vulkan')?.remediation).toEqual([
      'vulkan h264 needs GStreamer 1.28 or later; this is 1.22.0.',
    ]);
  });

  test('a missing payloader: its package', () => {
    const rows = host({ 'openh264 h264': { element: 'openh264enc', lacking: ['rtph264pay'] } });
    expect(check(rows, 'openh264')).toMatchObject({
      status: 'fail',
      remediation: ['apt-get install gstreamer1.0-plugins-good'],
    });
  });

  test('only the family in use is required', () => {
    expect(check(host(OPENH264), 'nvenc')?.status).toBe('skip');
    expect(check(host(OPENH264), 'nvenc', 'nvenc')?.status).toBe('fail');
  });
});
