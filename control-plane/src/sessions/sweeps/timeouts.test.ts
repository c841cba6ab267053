import type { SessionStateName } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import {
  decideDrift,
  decideGrace,
  decideStuck,
  graceSweepEveryMs,
  type HostTimes,
  isSweepPaused,
  type SessionTimes,
  startDeadline,
} from './timeouts.ts';

const S = 1_000;
const BOOT = 0;
const host = (more: Partial<HostTimes> = {}): HostTimes => ({
  connected: true,
  registeredAtMs: 0,
  lastSeenAtMs: 0,
  ...more,
});
const session = (state: SessionStateName, more: Partial<SessionTimes> = {}): SessionTimes => ({
  state,
  changedAtMs: 0,
  reportedAtMs: null,
  refusedAtMs: null,
  startAckedAtMs: null,
  ...more,
});

describe('the wait for running', () => {
  test('90 s after the acknowledged start', () => {
    const acked = session('assigned', { startAckedAtMs: 10 * S });
    expect(startDeadline(acked, host(), BOOT)).toBe(100 * S);
    expect(decideStuck(acked, host(), BOOT, 100 * S - 1)).toBeNull();
    expect(decideStuck(acked, host(), BOOT, 100 * S)).toEqual({ cause: 'start_timed_out' });
  });

  test('a report every 10 s moves it, up to 900 s in all', () => {
    const pulling = (reportedAtMs: number) =>
      session('starting', { changedAtMs: 20 * S, startAckedAtMs: 10 * S, reportedAtMs });
    expect(startDeadline(pulling(500 * S), host(), BOOT)).toBe(590 * S);
    expect(startDeadline(pulling(900 * S), host(), BOOT)).toBe(920 * S);
    expect(decideStuck(pulling(915 * S), host(), BOOT, 920 * S)).toEqual({ cause: 'start_timed_out' });
  });

  test("the host's last registration begins it again", () => {
    const acked = session('starting', { startAckedAtMs: 10 * S, reportedAtMs: 20 * S });
    expect(startDeadline(acked, host({ registeredAtMs: 200 * S }), BOOT)).toBe(290 * S);
  });

  test('rests while the host is away', () => {
    const acked = session('starting', { startAckedAtMs: 10 * S });
    expect(decideStuck(acked, host({ connected: false }), BOOT, 10_000 * S)).toBeNull();
  });

  test.each(['running', 'stopping', 'stopped', 'failed'] as const)('does not run in %s', (state) => {
    expect(startDeadline(session(state, { startAckedAtMs: 10 * S }), host(), BOOT)).toBeNull();
  });
});

describe('sessions without a waiting user', () => {
  test.each([
    ['pending', 60, 'assign_timed_out'],
    ['assigned', 120, 'assign_timed_out'],
    ['starting', 120, 'start_timed_out'],
    ['stopping', 120, 'stop_timed_out'],
  ] as const)('%s over %i s → %s', (state, limit, cause) => {
    expect(decideStuck(session(state), host(), BOOT, limit * S)).toBeNull();
    expect(decideStuck(session(state), host(), BOOT, limit * S + 1)).toEqual({ cause });
  });

  test.each(['running', 'stopped', 'failed'] as const)('%s has no limit', (state) => {
    expect(decideStuck(session(state), host(), BOOT, 1_000_000 * S)).toBeNull();
  });

  test.each([
    ['the last report', session('starting', { reportedAtMs: 100 * S }), host()],
    ['the last registration', session('starting'), host({ registeredAtMs: 100 * S })],
    ['the last change', session('starting', { changedAtMs: 100 * S }), host()],
  ])('counts from %s', (_what, facts, at) => {
    expect(decideStuck(facts, at, BOOT, 220 * S)).toBeNull();
    expect(decideStuck(facts, at, BOOT, 220 * S + 1)).not.toBeNull();
  });

  test('counts from the boot when nothing else is known', () => {
    const unknown = session('assigned', { changedAtMs: null });
    expect(decideStuck(unknown, host({ registeredAtMs: null }), 50 * S, 170 * S)).toBeNull();
    expect(decideStuck(unknown, host({ registeredAtMs: null }), 50 * S, 170 * S + 1)).not.toBeNull();
  });

  test('a host without a connection is left to the grace', () => {
    for (const state of ['assigned', 'starting', 'stopping'] as const)
      expect(decideStuck(session(state), host({ connected: false }), BOOT, 9_999 * S)).toBeNull();
  });
});

describe('the grace of a lost host', () => {
  const away = host({ connected: false, lastSeenAtMs: 100 * S });
  const GRACE = 600 * S;

  test.each(['assigned', 'starting', 'running', 'stopping'] as const)('%s waits for it', (state) => {
    expect(decideGrace(state, away, BOOT, GRACE, false, 700 * S)).toBeNull();
    expect(decideGrace(state, away, BOOT, GRACE, false, 700 * S + 1)).toMatchObject({ cause: 'host_lost' });
  });

  test('a connected host loses nothing', () => {
    expect(decideGrace('running', host(), BOOT, GRACE, false, 9_999 * S)).toBeNull();
  });

  test('counts from the boot for a host not seen since', () => {
    const unseen = host({ connected: false, lastSeenAtMs: null });
    expect(decideGrace('running', unseen, 400 * S, GRACE, false, 1_000 * S)).toBeNull();
    expect(decideGrace('running', unseen, 400 * S, GRACE, false, 1_000 * S + 1)).not.toBeNull();
  });

  test('while the sweep is paused, only what a person stopped is ended', () => {
    expect(decideGrace('running', away, BOOT, GRACE, true, 9_999 * S)).toBeNull();
    expect(decideGrace('stopping', away, BOOT, GRACE, true, 9_999 * S)).not.toBeNull();
  });

  test.each([
    ['nobody is connected and two were together', 0, 2, null, true],
    ['nobody is connected and one was', 0, 1, null, false],
    ['the first one came back 59 s ago', 1, 3, 41, true],
    ['the first one came back 60 s ago', 1, 3, 40, false],
    ['nobody ever came', 1, 1, null, false],
  ] as const)('rests when %s', (_when, connected, lastConnected, firstAtSecs, rests) => {
    const firstConnectedAtMs = firstAtSecs === null ? null : firstAtSecs * S;
    expect(isSweepPaused({ connected, lastConnected, firstConnectedAtMs }, 100 * S)).toBe(rests);
  });

  test('looks every quarter of the grace, and not more often than every 5 s', () => {
    expect(graceSweepEveryMs(600 * S)).toBe(150 * S);
    expect(graceSweepEveryMs(4 * S)).toBe(5 * S);
  });
});

describe('drift', () => {
  const REGISTERED_AT = 0;
  const old = session('running', { changedAtMs: 0 });

  test('two heartbeats in a row that miss a session end it', () => {
    const first = decideDrift(old, REGISTERED_AT, BOOT, 0, false, 16 * S);
    expect(first).toEqual({ misses: 1, end: null });
    expect(decideDrift(old, REGISTERED_AT, BOOT, first.misses, false, 21 * S)).toMatchObject({
      misses: 2,
      end: { cause: 'host_lost', error: 'agent no longer holds the session' },
    });
  });

  test('one that lists it begins again', () => {
    expect(decideDrift(old, REGISTERED_AT, BOOT, 1, true, 21 * S)).toEqual({ misses: 0, end: null });
  });

  test('a session younger than 15 s is not judged', () => {
    expect(decideDrift(old, REGISTERED_AT, BOOT, 1, false, 15 * S)).toEqual({ misses: 0, end: null });
    expect(decideDrift(old, 10 * S, BOOT, 1, false, 25 * S).end).toBeNull();
  });

  test('a session whose report the database refuses is not judged', () => {
    const refused = session('running', { changedAtMs: 0, refusedAtMs: 20 * S });
    expect(decideDrift(refused, REGISTERED_AT, BOOT, 1, false, 35 * S)).toEqual({ misses: 0, end: null });
    expect(decideDrift(refused, REGISTERED_AT, BOOT, 1, false, 36 * S).end).not.toBeNull();
  });

  test.each(['assigned', 'stopping'] as const)('%s is not judged', (state) => {
    expect(decideDrift(session(state), REGISTERED_AT, BOOT, 1, false, 99 * S)).toEqual({
      misses: 0,
      end: null,
    });
  });
});
