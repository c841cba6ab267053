import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import { type ConsolePatch, consoleDefaults } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { changeConsole, changedKeys, consoleProblem, NO_CAPABILITIES } from './config.ts';

const FULL_HD = { width: 1920, height: 1080, refresh_millihz: 60_000 };
const TIMING = { preferred: false, interlaced: false, clock_khz: 148_500, htotal: 2200, vtotal: 1125 };
const output = (id: string, connected: boolean) => ({
  id,
  card: 'card1',
  render_node: null,
  connector: id.split(':')[1] ?? '',
  connected,
  active_mode: null,
  modes: [{ name: '1920x1080', ...FULL_HD, ...TIMING }],
});
const HAS: ConsoleCapabilities = {
  connectors: ['DP-4', 'HDMI-A-1'],
  outputs: [output('card1:DP-4', true), output('card1:HDMI-A-1', false)],
  audio_sinks: [{ id: 'hdmi', label: 'HDMI' }],
  input_devices: [{ path: '/dev/input/event3', label: 'Keyboard' }],
};
const SOMEBODY = '00000000-0000-4000-8000-000000000001';

function problem(patch: ConsolePatch, has = HAS, stored: Partial<ConsoleConfig> = {}): string | null {
  return consoleProblem(changeConsole({ ...consoleDefaults, ...stored }, patch), patch, has);
}

describe('a change of the console configuration', () => {
  test('missing fields are kept, null resets to the default', () => {
    const stored = { ...consoleDefaults, enabled: true, grab: false };
    const after = changeConsole(stored, { grab: null, compositor: 'cage' });
    expect(after).toEqual({ ...consoleDefaults, enabled: true, compositor: 'cage' });
    expect(changedKeys(stored, after)).toEqual(['compositor', 'grab']);
  });
});

describe('the allowed console configurations', () => {
  test.each<[string, ConsolePatch, boolean]>([
    ['an output with one of its modes', { output_id: 'card1:DP-4', mode: FULL_HD }, true],
    ['an output without a mode', { output_id: 'card1:DP-4' }, false],
    ['a mode without an output', { mode: FULL_HD }, false],
    ['an output that is not connected', { output_id: 'card1:HDMI-A-1', mode: FULL_HD }, false],
    ['an output that was not reported', { output_id: 'card2:DP-1', mode: FULL_HD }, false],
    [
      'another refresh rate',
      { output_id: 'card1:DP-4', mode: { ...FULL_HD, refresh_millihz: 59_940 } },
      false,
    ],
    ['another width', { output_id: 'card1:DP-4', mode: { ...FULL_HD, width: 1919 } }, false],
    ['another height', { output_id: 'card1:DP-4', mode: { ...FULL_HD, height: 1081 } }, false],
    ['any connector', { connector: 'auto' }, true],
    ['a reported connector', { connector: 'HDMI-A-1' }, true],
    ['another connector', { connector: 'DVI-1' }, false],
    ['a reported audio sink', { audio_output: 'hdmi' }, true],
    ['another audio sink', { audio_output: 'usb' }, false],
    ['no sound', { audio_output: null }, true],
    ['a reported input device', { input_devices: ['/dev/input/event3'] }, true],
    ['no input device', { input_devices: [] }, true],
    ['another input device', { input_devices: ['/dev/input/event3', '/dev/input/event9'] }, false],
    ['automatic start with an account', { auto_start_on_display: true, default_user: SOMEBODY }, true],
    ['automatic start without an account', { auto_start_on_display: true }, false],
  ])('%s: %j allowed %s', (_name, patch, allowed) => {
    expect(problem(patch) === null).toBe(allowed);
  });

  test.each<[string, ConsolePatch, boolean]>([
    ['any connector name', { connector: 'DVI-1' }, true],
    ['any audio sink', { audio_output: 'usb' }, true],
    ['any input device', { input_devices: ['/dev/input/event9'] }, true],
    ['no output', { output_id: 'card1:DP-4', mode: FULL_HD }, false],
  ])('of a host that reported nothing: %s', (_name, patch, allowed) => {
    expect(problem(patch, NO_CAPABILITIES) === null).toBe(allowed);
  });

  test('output and mode are cleared together', () => {
    const stored = { output_id: 'card1:DP-4', mode: FULL_HD };
    expect(problem({ output_id: null }, HAS, stored)).toContain('together');
    expect(problem({ output_id: null, mode: null }, HAS, stored)).toBeNull();
  });

  test('the account cannot be cleared while automatic start is on', () => {
    const stored = { auto_start_on_display: true, default_user: SOMEBODY };
    expect(problem({ default_user: null }, HAS, stored)).toContain('default_user');
  });

  test('a display that was unplugged meanwhile does not block other changes', () => {
    const stored = { output_id: 'card1:DP-4', mode: FULL_HD, connector: 'DVI-1' };
    expect(problem({ enabled: true }, NO_CAPABILITIES, stored)).toBeNull();
  });
});
