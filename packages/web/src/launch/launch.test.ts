// @vitest-environment happy-dom
import type { UnknownCode } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import { beforeEach, describe, expect, test } from 'vitest';
import { failedSession, session } from '../../test/fixtures.ts';
import { endLabel } from '../session/end-labels.ts';
import { keepTicket, takeTicket } from './first-ticket.ts';
import { advance, isDrawn, type LaunchProgress, NO_PROGRESS, stepsOf } from './launch-steps.ts';
import { median, rememberLaunch, usualLaunchMs } from './usual-time.ts';

const after = (...details: (string | null)[]): LaunchProgress =>
  details.reduce<LaunchProgress>(
    (progress, state_detail) => advance(progress, { state: 'starting', state_detail }),
    NO_PROGRESS,
  );
const current = (progress: LaunchProgress) =>
  stepsOf(progress).find((step) => step.state === 'current')?.label;

describe('launch steps', () => {
  test('start with finding a machine', () => {
    expect(current(NO_PROGRESS)).toBe('Finding a machine');
    expect(stepsOf(NO_PROGRESS).filter((step) => step.state === 'done')).toEqual([]);
  });

  test.each([
    [
      'waiting for the previous session to release its home',
      'Waiting for your last session to release its files',
    ],
    ['preparing home', 'Preparing your files'],
    ['pulling image 40 %', 'Fetching the app, 40 %'],
    ['pulling image', 'Fetching the app'],
    ['starting display', 'Starting the display'],
    ['starting app', 'Starting the app'],
    ['starting encoder', 'Starting the picture'],
    ['app booting', 'Waiting for the app to draw'],
    ['app presented', 'Connecting to the picture'],
  ])('%s is explained as "%s"', (detail, label) => {
    expect(current(after(detail))).toBe(label);
  });

  test('omit steps that do not apply, and keep those that were reported', () => {
    const keys = (progress: LaunchProgress) => stepsOf(progress).map((step) => step.key);
    expect(keys(after('starting display'))).not.toContain('image');
    expect(keys(after('pulling image 10 %', 'pulling image 90 %', 'starting display'))).toContain('image');
    expect(stepsOf(after('pulling image 90 %', 'starting app'))[1]).toEqual({
      key: 'image',
      label: 'Fetching the app, 90 %',
      state: 'done',
    });
  });

  test('never go back, and ignore details that are not a step', () => {
    const progress = after('starting app', 'starting display', 'host_unreachable', 'host_reconnected', null);
    expect(current(progress)).toBe('Starting the app');
  });

  test.each([
    ['starting app', null, false],
    ['app booting', null, false],
    ['app booting', 'starting', false],
    ['app booting', 'presented', true],
    ['app booting', 'game_running', true],
    ['app presented', null, true],
    ['app presented', 'starting', true],
  ] as const)(
    'after "%s", with an app that the host calls %s, the picture is the app’s: %s',
    (detail, app, drawn) => {
      expect(isDrawn(after(detail), app)).toBe(drawn);
    },
  );

  test('a page opened while the app runs only waits for the picture', () => {
    expect(current(advance(NO_PROGRESS, { state: 'running', state_detail: null }))).toBe(
      'Connecting to the picture',
    );
  });
});

describe('the usual time of a launch', () => {
  beforeEach(() => localStorage.clear());

  test('is unknown at first, then the median of the last ten on that host', () => {
    expect(usualLaunchMs('a', 'h')).toBeNull();
    for (const ms of [9000, 9000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000])
      rememberLaunch('a', 'h', ms);
    rememberLaunch('a', 'other', 5000);
    expect(usualLaunchMs('a', 'h')).toBe(1000);
    expect(usualLaunchMs('a', 'other')).toBe(5000);
  });

  test('keeps a bounded number of apps, and ignores invalid storage', () => {
    for (let n = 0; n < 150; n++) rememberLaunch(`app${n}`, 'h', 100);
    expect(usualLaunchMs('app0', 'h')).toBeNull();
    expect(usualLaunchMs('app149', 'h')).toBe(100);
    for (const text of ['{', 'null', '[1]', '{"a@h":"x"}', '{"a@h":["x"]}']) {
      localStorage.setItem('footlight.launch-times', text);
      expect(usualLaunchMs('a', 'h')).toBeNull();
    }
    rememberLaunch('a', 'h', Number.NaN);
    expect(usualLaunchMs('a', 'h')).toBeNull();
  });

  test.each([
    [[], null],
    [[3], 3],
    [[4, 1], 2.5],
    [[9, 1, 5], 5],
  ])('median of %j is %j', (values, middle) => {
    expect(median(values)).toBe(middle);
  });
});

describe('the token that came with a launch', () => {
  const ticket = (at: number) => ({
    url: '',
    token: 't',
    expires_at: new Date(at).toISOString(),
    ice_servers: [],
  });

  test('is returned once, and not shortly before its expiry', () => {
    keepTicket('a', ticket(60_000));
    expect(takeTicket('a', 0)).toBeDefined();
    expect(takeTicket('a', 0)).toBeUndefined();
    keepTicket('a', ticket(60_000));
    expect(takeTicket('a', 58_000)).toBeUndefined();
  });

  test('only the newest few are kept', () => {
    for (let n = 0; n < 20; n++) keepTicket(`s${n}`, ticket(60_000));
    expect(takeTicket('s0', 0)).toBeUndefined();
    expect(takeTicket('s19', 0)).toBeDefined();
  });
});

describe('the text about an ended session', () => {
  const ended = session(1, { state: 'stopped', ended_at: '2026-01-01T00:00:00.000Z' });
  test.each<[Session, string, boolean]>([
    [{ ...ended, end_reason: 'user_requested' }, 'You or an administrator ended this app.', true],
    [{ ...ended, end_reason: 'idle_timeout' }, 'It was ended because nobody used it for a while.', true],
    [{ ...ended, end_reason: 'never_heard_of' as UnknownCode }, 'The app has ended.', true],
    [failedSession, 'The app closed before it showed anything.', false],
    [
      { ...failedSession, failure_code: 'never_heard_of' as UnknownCode },
      'Something went wrong and the app had to be ended.',
      false,
    ],
    [
      { ...failedSession, failure_code: 'unsustainable', end_reason: 'unsustainable' },
      'The connection to this browser was too slow for too long.',
      false,
    ],
    [{ ...failedSession, failure_code: null, started_at: null }, 'The app could not be started.', false],
    [
      { ...failedSession, failure_code: null, state_detail: 'host_lost' },
      'The machine was lost and did not come back in time.',
      false,
    ],
  ])('%#', (record, sentence, calm) => {
    expect(endLabel(record, false)).toEqual({ sentence, calm });
  });

  test('says who ended an app only to the person who did it on this page', () => {
    const requested: Session = { ...ended, end_reason: 'user_requested' };
    expect(endLabel(requested, true).sentence).toBe('You ended this app.');
    expect(endLabel({ ...ended, end_reason: 'app_exited' }, true).sentence).toBe('The app closed itself.');
  });
});
