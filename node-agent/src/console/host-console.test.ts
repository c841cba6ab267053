import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import { consoleDefaults } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import type { HelperDeps } from '../display/helper.ts';
import type { Display, DisplayOptions } from '../display/xvfb.ts';
import { type ConsoleScreens, HostConsole } from './host-console.ts';
import { type ChosenOutput, chooseOutput } from './output-choice.ts';
import { westonConfig } from './weston.ts';

const MODE = { width: 1920, height: 1080, refresh_millihz: 59_940 };

function plugged(...ids: string[]): ConsoleCapabilities {
  return {
    connectors: [],
    outputs: ['card0:HDMI-A-1', 'card1:DP-1', 'card1:DP-4'].map((id) => ({
      id,
      card: id.slice(0, 5),
      render_node: null,
      connector: id.slice(6),
      connected: ids.includes(id),
      active_mode: null,
      modes: [],
    })),
    audio_sinks: [],
    input_devices: [],
  };
}

describe('the display that a configuration selects', () => {
  test.each<[string, Partial<ConsoleConfig>, string[], string | null]>([
    ['any plugged-in display', {}, ['card1:DP-4'], 'card1:DP-4'],
    ['the first of several', {}, ['card1:DP-4', 'card0:HDMI-A-1'], 'card0:HDMI-A-1'],
    ['the configured connector', { connector: 'DP-4' }, ['card0:HDMI-A-1', 'card1:DP-4'], 'card1:DP-4'],
    ['the configured output', { output_id: 'card1:DP-1' }, ['card1:DP-4', 'card1:DP-1'], 'card1:DP-1'],
    ['no other than the configured one', { output_id: 'card1:DP-1' }, ['card1:DP-4'], null],
    ['none if none is plugged in', {}, [], null],
  ])('%s', (_name, part, ids, expected) => {
    const chosen = chooseOutput({ ...consoleDefaults, ...part }, plugged(...ids));
    expect(chosen && `${chosen.card}:${chosen.connector}`).toBe(expected);
  });

  test('its mode, and the other connectors of the card, which stay dark', () => {
    const config = { ...consoleDefaults, output_id: 'card1:DP-4', mode: MODE };
    expect(chooseOutput(config, plugged('card1:DP-4'))).toEqual({
      card: 'card1',
      connector: 'DP-4',
      mode: MODE,
      others: ['DP-1'],
    });
  });
});

test('weston’s configuration has the mode in whole hertz, and the outputs that stay dark', () => {
  const output = { card: 'card1', connector: 'DP-4', mode: MODE, others: ['DP-1'] };
  expect(westonConfig(output).split('\n')).toEqual([
    ...['[core]', 'idle-time=0', ''],
    ...['[output]', 'name=DP-4', 'mode=1920x1080@60', ''],
    ...['[output]', 'name=DP-1', 'mode=off', ''],
  ]);
  expect(westonConfig({ ...output, mode: null })).toContain('mode=preferred\n');
});

describe('the holder of the display', () => {
  const opened: ChosenOutput[] = [];
  const screens: ConsoleScreens = {
    lacks: () => null,
    async open(output) {
      opened.push(output);
      return {} as Display;
    },
    reclaim: () => undefined,
  };
  const host = (config: Partial<ConsoleConfig> | null, has = plugged('card1:DP-4'), usable = true) => {
    const made = new HostConsole(
      { read: async () => has },
      { ...screens, lacks: () => (usable ? null : 'programs') },
    );
    made.configure(config && { ...consoleDefaults, enabled: true, ...config });
    return made;
  };
  const start = (claim: ReturnType<HostConsole['claim']>) =>
    claim.startDisplay({} as DisplayOptions, Buffer.alloc(0), {} as HelperDeps);

  test.each<[string, ReturnType<typeof host>, string]>([
    ['a missing requirement', host({}, plugged(), false), 'none'],
    ['nothing set', host(null), 'off'],
    ['turned off', host({ enabled: false }), 'off'],
    ['an unknown compositor', host({ compositor: 'cage' }), 'off'],
    ['turned on', host({}), 'free'],
  ])('%s', (_name, { state }, expected) => {
    expect(state).toBe(expected);
  });

  test('one session at a time, until it is released', () => {
    const made = host({});
    const first = made.claim();
    expect(made.state).toBe('taken');
    expect(() => made.claim()).toThrow('not free');
    first.release();
    expect(made.state).toBe('free');
    const second = made.claim();
    first.release();
    expect(made.state).toBe('taken');
    second.release();
  });

  test('the configuration at the claim applies to the whole session', async () => {
    const made = host({ stream_audio: true });
    const claim = made.claim();
    made.configure(null);
    expect(claim.audible).toBe(true);
    await start(claim);
    expect(opened.splice(0)).toMatchObject([{ connector: 'DP-4' }]);
  });

  test('a display that was unplugged meanwhile is missing', async () => {
    await expect(start(host({}, plugged()).claim())).rejects.toThrow('no display is plugged in');
    expect(opened).toEqual([]);
  });
});
