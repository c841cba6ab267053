import type { Session } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { advance, type LaunchProgress, NO_PROGRESS, stepsOf } from '../launch/launch-steps.ts';
import { followLaunch, type LaunchFacts, type LaunchView, NO_LAUNCH, stageOf } from './launch-view.ts';

const DRAWN: LaunchProgress = advance(NO_PROGRESS, { state: 'running', state_detail: 'app presented' });
const STARTING: LaunchProgress = advance(NO_PROGRESS, { state: 'starting', state_detail: 'starting app' });
const CREATED_MS = Date.UTC(2026, 0, 1);
const dark = { shown: false, app: null };
const facts = (more: Partial<LaunchFacts> = {}): LaunchFacts => ({
  session: undefined,
  progress: NO_PROGRESS,
  stream: dark,
  framesSinceMs: null,
  insists: false,
  usualMs: null,
  nowMs: CREATED_MS + 2_500,
  ...more,
});
const at = (state: Session['state']) => ({
  session: { state, app_id: 'app', host_id: 'host', created_at: new Date(CREATED_MS).toISOString() },
});
const seen = (...steps: Partial<LaunchFacts>[]): LaunchView =>
  steps.reduce<LaunchView>((view, step) => followLaunch(view, facts(step)), NO_LAUNCH);

describe('the first record decides between launch and return', () => {
  test.each([
    ['pending', 'launch'],
    ['assigned', 'launch'],
    ['starting', 'launch'],
    ['running', 'return'],
  ] as const)('%s: %s', (state, visit) => {
    expect(seen(at(state)).visit).toBe(visit);
    // A later record does not change the decision.
    expect(seen(at(state), at('running')).visit).toBe(visit);
  });
  test('no record: not known', () => {
    expect(seen({})).toBe(NO_LAUNCH);
  });
});

describe("the picture is shown when it is the app's own", () => {
  const running = at('running');
  test.each<[string, Partial<LaunchFacts>, boolean]>([
    [
      'frames of the empty display stay hidden',
      { progress: STARTING, stream: { shown: true, app: null } },
      false,
    ],
    ['frames after the last step are shown', { progress: DRAWN, stream: { shown: true, app: null } }, true],
    [
      'frames of an app that the host names ready are shown',
      { stream: { shown: true, app: 'presented' } },
      true,
    ],
    ['without frames nothing is shown', { progress: DRAWN, stream: dark }, false],
  ])('%s', (_, step, shown) => {
    expect(seen({ ...running, ...step }).shown).toBe(shown);
  });
  test('it stays during a swap, which starts another app', () => {
    const swap = { ...running, progress: STARTING, stream: { shown: true, app: 'starting' as const } };
    expect(seen({ ...running, progress: DRAWN, stream: { shown: true, app: null } }, swap).shown).toBe(true);
  });
  test('it ends with the stream', () => {
    expect(seen({ ...running, progress: DRAWN, stream: { shown: true, app: null } }, running).shown).toBe(
      false,
    );
  });
});

describe('an app that shows one plain colour', () => {
  const framesSinceMs = CREATED_MS + 1_000;
  const plain = (ms: number, more: Partial<LaunchFacts> = {}) =>
    seen({
      ...at('running'),
      progress: STARTING,
      stream: { shown: true, app: 'starting' },
      framesSinceMs,
      nowMs: framesSinceMs + ms,
      ...more,
    });
  test.each([
    ['a slow app is waited for', 9_999, {}, { shown: false, offersPlain: false }],
    ['then the person may look', 10_000, {}, { shown: false, offersPlain: true }],
    ['and does', 10_500, { insists: true }, { shown: true, offersPlain: false }],
    ['or it is shown at last', 30_000, {}, { shown: true, offersPlain: false }],
    [
      'without frames there is nothing to show',
      30_000,
      { stream: dark },
      { shown: false, offersPlain: false },
    ],
  ])('%s', (_what, ms, more, view) => {
    expect(plain(ms, more)).toMatchObject(view);
  });
  test('its launch time is not stored', () => {
    const before = followLaunch(NO_LAUNCH, facts(at('assigned')));
    const late = facts({
      ...at('running'),
      progress: STARTING,
      stream: { shown: true, app: 'starting' },
      framesSinceMs,
      nowMs: framesSinceMs + 30_000,
    });
    expect(followLaunch(before, late)).toMatchObject({ shown: true, measured: null });
  });
});

describe('the usual time is the stored one from before this launch', () => {
  const shown = { ...at('running'), progress: DRAWN, stream: { shown: true, app: null } };
  test('it follows the stored value until the picture is shown', () => {
    const waiting = at('assigned');
    expect(seen({ ...waiting, usualMs: null }, { ...waiting, usualMs: 3_000 }).usualMs).toBe(3_000);
    expect(seen({ ...waiting, usualMs: 3_000 }, { ...shown, usualMs: 4_000 }).usualMs).toBe(3_000);
  });
});

describe('only a launch seen from its start is added to the usual time', () => {
  const shown = { ...at('running'), progress: DRAWN, stream: { shown: true, app: null } };
  const took = { appId: 'app', hostId: 'host', tookMs: 2_500 };
  test.each([
    ['from the queue', ['pending'], took],
    ['from its host', ['assigned', 'starting'], took],
    ['opened while it starts', ['starting'], null],
    ['opened while it runs', ['running'], null],
  ] as const)('%s', (_, states, measured) => {
    expect(seen(...states.map(at), shown).measured).toEqual(measured);
  });
  test('it is measured once, and a later swap changes nothing', () => {
    const before = seen(at('assigned'), shown);
    expect(followLaunch(before, facts({ ...shown, nowMs: CREATED_MS + 9_000 }))).toBe(before);
    const swapped = { ...shown.session, app_id: 'other' };
    expect(followLaunch(before, facts({ ...shown, session: swapped })).measured).toEqual(took);
  });
});

describe('the launch screen', () => {
  const steps = stepsOf(STARTING);
  const times = { createdMs: 1_000, openedMs: 5_000 };
  test('a launch is timed from the click, shows all steps and can be ended', () => {
    const view = { ...NO_LAUNCH, visit: 'launch', usualMs: 3_000 } as const;
    expect(stageOf(view, steps, times)).toEqual({ steps, startedAtMs: 1_000, usualMs: 3_000, cancel: 'end' });
  });
  test('before the record is known it names no step, is timed from the opening, and can be left', () => {
    expect(stageOf(NO_LAUNCH, steps, { ...times, createdMs: null })).toEqual({
      steps: [],
      startedAtMs: 5_000,
      usualMs: null,
      cancel: 'leave',
    });
  });
  test('a return only waits for the picture, is timed from the opening, and does not end the app', () => {
    const view = { ...NO_LAUNCH, visit: 'return', usualMs: 3_000 } as const;
    const stage = stageOf(view, steps, times);
    expect(stage).toMatchObject({ startedAtMs: 5_000, usualMs: null, cancel: 'leave' });
    expect(stage.steps.map(({ key }) => key)).toEqual(['app']);
  });
});
