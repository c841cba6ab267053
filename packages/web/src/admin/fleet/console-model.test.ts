import { type AdminSession, consoleDefaults, type HostConsole } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import {
  consoleProblem,
  displayChoices,
  displayOf,
  modeLabel,
  realChanges,
  shownLabel,
  valueOfDisplay,
} from './console-model.ts';

const MODE = { width: 1920, height: 1080, refresh_millihz: 59_940 };
const TIMING = { preferred: true, clock_khz: 148_352, htotal: 2200, vtotal: 1125 };
const output = (id: string, connected: boolean): HostConsole['capabilities']['outputs'][number] => ({
  id,
  card: 'card1',
  render_node: null,
  connector: 'DP-4',
  connected,
  active_mode: null,
  modes: [
    { name: '1920x1080', ...MODE, interlaced: false, ...TIMING },
    { name: '1920x1080i', ...MODE, interlaced: true, ...TIMING },
  ],
});
const reported = (
  part: Partial<HostConsole['config']>,
  ...outputs: ReturnType<typeof output>[]
): HostConsole => ({
  config: { ...consoleDefaults, ...part },
  capabilities: { connectors: [], outputs, audio_sinks: [], input_devices: [] },
});

describe('choices of the display', () => {
  test('modes of connected outputs, without the interlaced ones', () => {
    const choices = displayChoices(reported({}, output('card1:DP-4', true), output('card1:DP-5', false)));
    expect(choices.map(({ label }) => label)).toEqual([
      'Any connected display, in its preferred mode',
      'card1:DP-4: 1920 × 1080, 59.94 Hz',
    ]);
    expect(displayOf(choices[1]?.value ?? '')).toEqual({ output_id: 'card1:DP-4', mode: MODE });
  });

  test('the stored output stays a choice while it is not connected', () => {
    const stored = reported({ output_id: 'card1:DP-4', mode: MODE });
    expect(displayChoices(stored)[1]?.label).toContain('not connected');
    expect(displayOf(valueOfDisplay(stored.config))).toEqual({ output_id: 'card1:DP-4', mode: MODE });
  });

  test('the choice "any" sends neither output nor mode', () => {
    expect(displayOf(valueOfDisplay(consoleDefaults))).toEqual({ output_id: null, mode: null });
    expect(modeLabel({ ...MODE, refresh_millihz: 60_000 })).toBe('1920 × 1080, 60 Hz');
  });
});

test('unchanged values are not sent', () => {
  expect(realChanges(consoleDefaults, { grab: true, mode: null, enabled: true })).toEqual({ enabled: true });
});

test('an app that starts automatically needs an account', () => {
  expect(consoleProblem({ ...consoleDefaults, auto_start_on_display: true })).toContain('account');
  expect(consoleProblem(consoleDefaults)).toBeNull();
});

test('the label of a display’s content', () => {
  const session = { app_name: 'SuperTux', username: 'alice', state: 'running' } as AdminSession;
  expect(shownLabel(session)).toBe('SuperTux for alice is running there.');
});
