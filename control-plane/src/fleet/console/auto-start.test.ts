import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import { consoleDefaults } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConsoleAttempts,
  type ConsoleFacts,
  decideConsole,
  ended,
  NO_ATTEMPTS,
  refused,
  reported,
} from './auto-start.ts';
import { NO_CAPABILITIES } from './config.ts';

const APP = '00000000-0000-4000-8000-000000000001';
const USER = '00000000-0000-4000-8000-000000000002';
const NOW = 1_000_000;
const ON: ConsoleConfig = {
  ...consoleDefaults,
  enabled: true,
  auto_start_on_display: true,
  default_app: APP,
  default_user: USER,
};

function displays(...connected: string[]): ConsoleCapabilities {
  return {
    ...NO_CAPABILITIES,
    outputs: ['card0:DP-1', 'card1:DP-4'].map((id) => ({
      id,
      card: id.slice(0, 5),
      render_node: null,
      connector: id.slice(6),
      connected: connected.includes(id),
      active_mode: null,
      modes: [],
    })),
  };
}

function decide(facts: Partial<ConsoleFacts> = {}, attempts: ConsoleAttempts = NO_ATTEMPTS) {
  const ready: ConsoleFacts = {
    config: ON,
    capabilities: displays('card1:DP-4'),
    isReported: true,
    isPlaceable: true,
    sessionId: null,
    isStopping: false,
  };
  return decideConsole({ ...ready, ...facts }, attempts, NOW);
}

describe('starting by itself', () => {
  test('enabled, wanted, with app, account and display: local only, or both where it is streamed', () => {
    expect(decide()).toEqual({ kind: 'launch', appId: APP, userId: USER, topology: 'local_only' });
    expect(decide({ config: { ...ON, stream: true } })).toMatchObject({ topology: 'dual_output' });
  });

  test.each<[string, Partial<ConsoleFacts>, string]>([
    ['nothing was ever set', { config: null }, 'off'],
    ['the console is off', { config: { ...ON, enabled: false } }, 'off'],
    ['it is not wanted', { config: { ...ON, auto_start_on_display: false } }, 'off'],
    ['no app is named', { config: { ...ON, default_app: null } }, 'off'],
    ['no account is named', { config: { ...ON, default_user: null } }, 'off'],
    ['no display is connected', { capabilities: displays() }, 'no_display'],
    ['nothing was reported', { capabilities: NO_CAPABILITIES }, 'no_display'],
    ['another output is wanted', { config: { ...ON, output_id: 'card0:DP-1' } }, 'no_display'],
    ['another connector is wanted', { config: { ...ON, connector: 'DP-1' } }, 'no_display'],
    ['the host takes no sessions', { isPlaceable: false }, 'not_placeable'],
    ['the host is away', { isReported: false }, 'offline'],
    ['it runs already', { sessionId: 's' }, 'running'],
  ])('not when %s', (_name, facts, why) => {
    expect(decide(facts)).toEqual({ kind: 'rest', why });
  });

  test.each([{ output_id: 'card1:DP-4' }, { connector: 'DP-4' }])(
    'on the display that is named: %j',
    (named) => {
      expect(decide({ config: { ...ON, ...named } }).kind).toBe('launch');
    },
  );
});

describe('ending what was started', () => {
  test.each<[string, Partial<ConsoleFacts>, string]>([
    ['the display is gone', { capabilities: displays() }, 'console_display_disconnected'],
    ['the console was turned off', { config: { ...ON, enabled: false } }, 'console_disabled'],
    [
      'it was turned off and the display is gone',
      { config: null, capabilities: displays() },
      'console_disabled',
    ],
  ])('when %s', (_name, facts, reason) => {
    expect(decide({ ...facts, sessionId: 's' })).toEqual({ kind: 'stop', sessionId: 's', reason });
  });

  test.each<[string, Partial<ConsoleFacts>, string]>([
    ['the host is away', { isReported: false, capabilities: displays() }, 'offline'],
    ['the host is drained', { isPlaceable: false }, 'running'],
    ['another app is named', { config: { ...ON, default_app: USER } }, 'running'],
    ['it should not start again', { config: { ...ON, auto_start_on_display: false } }, 'running'],
    ['it is asked to stop already', { capabilities: displays(), isStopping: true }, 'running'],
  ])('not when %s', (_name, facts, why) => {
    expect(decide({ ...facts, sessionId: 's' })).toEqual({ kind: 'rest', why });
  });
});

describe('trying again', () => {
  /** The waits (seconds) after each of `count` equal outcomes in a row. */
  function waits(count: number, outcome: (attempts: ConsoleAttempts) => ConsoleAttempts): number[] {
    let attempts = NO_ATTEMPTS;
    return Array.from({ length: count }, () => {
      attempts = outcome(attempts);
      return (attempts.notBeforeMs - NOW) / 1_000;
    });
  }

  test('after 2 s, doubling to 60 s', () => {
    expect(waits(7, (attempts) => refused(attempts, NOW))).toEqual([2, 4, 8, 16, 32, 60, 60]);
    expect(waits(5, (attempts) => ended(attempts, 0, NOW))).toEqual([2, 4, 8, 16, 32]);
  });

  test('not before the wait is over, and then at once', () => {
    const attempts = refused(NO_ATTEMPTS, NOW - 1_999);
    expect(decide({}, attempts)).toEqual({ kind: 'wait', untilMs: NOW + 1 });
    expect(decide({}, refused(NO_ATTEMPTS, NOW - 2_000)).kind).toBe('launch');
  });

  const afterQuickEnds = (count: number, livedMs = 29_999) => {
    let attempts = NO_ATTEMPTS;
    for (let index = 0; index < count; index += 1) attempts = ended(attempts, livedMs, NOW - 1_000_000);
    return attempts;
  };

  test('six that died within 30 s: not until a new capacity report', () => {
    expect(decide({}, afterQuickEnds(5)).kind).toBe('launch');
    expect(decide({}, afterQuickEnds(6))).toEqual({ kind: 'rest', why: 'given_up' });
    expect(decide({}, reported(afterQuickEnds(6))).kind).toBe('launch');
    expect(reported(afterQuickEnds(6))).toEqual(NO_ATTEMPTS);
  });

  test('a capacity report in between shortens no wait', () => {
    expect(reported(afterQuickEnds(5))).toEqual(afterQuickEnds(5));
  });

  test('one that lived for 30 s: the count and the wait start again', () => {
    const attempts = ended(afterQuickEnds(5), 30_000, NOW);
    expect(attempts).toEqual({ inRow: 1, quickEnds: 0, notBeforeMs: NOW + 2_000 });
  });

  test('refused launches never add up to giving up', () => {
    let attempts = afterQuickEnds(5);
    for (let index = 0; index < 50; index += 1) attempts = refused(attempts, NOW - 1_000_000);
    expect(decide({}, attempts).kind).toBe('launch');
  });

  test('every wait is between 2 s and 60 s', () => {
    const outcome = fc.oneof(fc.constant(null), fc.nat({ max: 60_000 }));
    fc.assert(
      fc.property(fc.array(outcome, { minLength: 1, maxLength: 40 }), (outcomes) => {
        let attempts = NO_ATTEMPTS;
        for (const livedMs of outcomes) {
          attempts = livedMs === null ? refused(attempts, NOW) : ended(attempts, livedMs, NOW);
        }
        expect(attempts.notBeforeMs).toBeGreaterThanOrEqual(NOW + 2_000);
        expect(attempts.notBeforeMs).toBeLessThanOrEqual(NOW + 60_000);
      }),
    );
  });
});
