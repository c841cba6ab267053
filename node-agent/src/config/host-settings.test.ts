import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@footlight/platform';
import { HOST_SETTINGS, type SettingValue } from '@footlight/protocol/agent';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HostSettings } from './host-settings.ts';

describe('settings of the host', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'footlight-settings-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const open = (environment: Record<string, SettingValue> = {}) =>
    HostSettings.open(dir, environment, silentLogger());

  test('an override takes precedence over the environment, and the environment over the default', async () => {
    const settings = await open({ gop: 90, slices: 2 });
    await settings.apply({ gop: 30 });
    expect(settings.effective).toMatchObject({ gop: '30', slices: '2', target_usage: '6' });
  });

  test('every setting is reported as text, null as an empty text', async () => {
    const { effective } = await open();
    expect(Object.keys(effective)).toEqual(HOST_SETTINGS.map(({ key }) => key));
    expect(effective).toMatchObject({ abr_enabled: 'true', abr_floor_kbps: '', encoder: 'openh264' });
  });

  test('live settings follow each update, and a removed override falls back', async () => {
    const settings = await open({ gop: 90 });
    await settings.apply({ gop: 30 });
    await settings.apply({});
    expect(settings.values.get('gop')).toBe(90);
  });

  test('restart settings apply after the agent’s next start', async () => {
    const before = await open({ encoder: 'nvenc' });
    await before.apply({ encoder: 'va', gop: 30 });
    expect([before.latched('encoder'), before.effective.encoder]).toEqual(['nvenc', 'nvenc']);
    expect(before.awaitingRestart).toEqual(['encoder']);
    const after = await open({ encoder: 'nvenc' });
    expect([after.latched('encoder'), after.effective.encoder]).toEqual(['va', 'va']);
    expect(after.awaitingRestart).toEqual([]);
    expect(after.values.get('gop')).toBe(30);
  });

  test('an invalid override is ignored and reported', async () => {
    const settings = await open({ gop: 90 });
    await settings.apply({ gop: 'many', surprise: 1 });
    expect(settings.values.get('gop')).toBe(90);
    expect(settings.problems).toEqual(['gop: expected a whole number from 1']);
    await settings.apply({});
    expect(settings.problems).toEqual([]);
  });

  test('consecutive updates are stored in order', async () => {
    const settings = await open();
    for (const gop of [1, 2, 3]) void settings.apply({ gop });
    await settings.saved;
    expect(JSON.parse(readFileSync(join(dir, 'settings.json'), 'utf8'))).toEqual({ overrides: { gop: 3 } });
  });

  test.each(['', '{', 'null', '{"overrides":7}'])('a damaged file (%j) counts as missing', async (text) => {
    writeFileSync(join(dir, 'settings.json'), text);
    expect((await open()).effective.encoder).toBe('openh264');
  });

  test('overrides that cannot be stored still apply, and the problem is reported', async () => {
    const settings = await open();
    rmSync(dir, { recursive: true });
    writeFileSync(dir, 'a file in the way');
    await settings.apply({ gop: 30 });
    expect(settings.values.get('gop')).toBe(30);
    expect(settings.problems.join()).toContain('cannot be kept');
  });
});
