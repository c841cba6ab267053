import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Effect, heldState, type Input, type Machine, newMachine, step } from './state.ts';

/** Applies inputs in order and returns the effects. */
function run(inputs: Input[], from: Machine = newMachine()): { machine: Machine; effects: Effect[] } {
  let machine = from;
  const effects: Effect[] = [];
  for (const input of inputs) {
    const next = step(machine, input);
    machine = next.machine;
    effects.push(...next.effects);
  }
  return { machine, effects };
}

function details(effects: Effect[]): string[] {
  return effects.flatMap((effect) => (effect.kind === 'report' ? [effect.detail] : []));
}

const PREPARED: Input[] = [
  { kind: 'home_free' },
  { kind: 'display_begun' },
  { kind: 'screen_ready' },
  { kind: 'worker_ready' },
];
const STARTED: Input[] = [...PREPARED, { kind: 'start' }];
const RUNNING: Input[] = [...STARTED, { kind: 'encoding' }];
const PRESENTED: Input[] = [...RUNNING, { kind: 'presented' }];
const ENDING: Input[] = [...RUNNING, { kind: 'stop', reason: 'admin', graceMs: 100 }];
const ENDED: Input[] = [...ENDING, { kind: 'torn_down' }];

const STATES: Record<string, Input[]> = {
  new: [],
  waiting: [{ kind: 'home_busy' }],
  prepared: PREPARED,
  started: STARTED,
  running: RUNNING,
  presented: PRESENTED,
  ending: ENDING,
  ended: ENDED,
};

const INPUTS: Input[] = [
  { kind: 'home_busy' },
  { kind: 'home_free' },
  { kind: 'display_begun' },
  { kind: 'screen_ready' },
  { kind: 'worker_ready' },
  { kind: 'start' },
  { kind: 'encoding' },
  { kind: 'presented' },
  { kind: 'app_exited', status: 0 },
  { kind: 'app_exited', status: 1 },
  { kind: 'app_exited', status: null },
  { kind: 'stop', reason: 'admin', graceMs: 100 },
  { kind: 'failure', failure_code: 'encoder_failed', error: 'x' },
  { kind: 'boot_timeout', afterSecs: 3 },
  { kind: 'torn_down' },
];

/** The whole table of the state machine: for each state, the next state after each input. */
const TABLE: Record<string, Record<string, string>> = {
  new: {
    home_busy: 'assigned',
    start: 'starting',
    failure: 'stopping',
    stop: 'stopping',
    boot_timeout: 'stopping',
  },
  waiting: { failure: 'stopping', stop: 'stopping', boot_timeout: 'stopping' },
  prepared: { start: 'starting', failure: 'stopping', stop: 'stopping', boot_timeout: 'stopping' },
  started: {
    encoding: 'running',
    app_exited: 'stopping',
    failure: 'stopping',
    stop: 'stopping',
    boot_timeout: 'stopping',
  },
  running: { app_exited: 'stopping', failure: 'stopping', stop: 'stopping', boot_timeout: 'stopping' },
  presented: { app_exited: 'stopping', failure: 'stopping', stop: 'stopping' },
  ending: { torn_down: 'stopped' },
  ended: {},
};

describe('every state with every input', () => {
  const cases = Object.entries(STATES).flatMap(([name, path]) =>
    INPUTS.map((input) => ({ name, path, input, label: `${name} + ${JSON.stringify(input)}` })),
  );
  test.each(cases)('$label', ({ name, path, input }) => {
    const before = run(path).machine;
    const { machine, effects } = step(before, input);
    const expected = TABLE[name]?.[input.kind] ?? heldState(before);
    expect(heldState(machine)).toBe(expected);
    if (name === 'ended') expect(effects).toEqual([]);
    if (name === 'ending' && input.kind !== 'torn_down') expect(effects).toEqual([]);
  });
});

describe('steps of a launch', () => {
  test('in their order', () => {
    expect(details(run(PRESENTED).effects)).toEqual([
      'preparing home',
      'starting display',
      'starting app',
      'starting encoder',
      'app booting',
      'app presented',
    ]);
  });

  test('a window that appears before the first encoded frame is reported after it', () => {
    const { effects } = run([...STARTED, { kind: 'presented' }, { kind: 'encoding' }]);
    expect(details(effects).slice(-2)).toEqual(['app booting', 'app presented']);
  });

  test('the app does not wait for the worker, and the encoder waits for both', () => {
    const { effects } = run([{ kind: 'home_free' }, { kind: 'start' }, { kind: 'screen_ready' }]);
    expect(effects.map(({ kind }) => kind)).toContain('launch_app');
    expect(effects.map(({ kind }) => kind)).not.toContain('start_encoder');
    const early = run([{ kind: 'home_free' }, { kind: 'start' }, { kind: 'worker_ready' }]);
    expect(early.effects.map(({ kind }) => kind)).not.toContain('start_encoder');
  });

  test('viewers may attach while the worker is still preparing', () => {
    const { effects } = run([{ kind: 'home_free' }, { kind: 'start' }, { kind: 'screen_ready' }]);
    expect(details(effects).at(-1)).toBe('starting encoder');
  });

  test('nothing is started before its request', () => {
    expect(run(PREPARED).effects.map(({ kind }) => kind)).not.toContain('launch_app');
    expect(heldState(run(PREPARED).machine)).toBe('assigned');
  });

  test('a start during the wait for a home takes effect when the home is free', () => {
    const { machine } = run([{ kind: 'home_busy' }, { kind: 'start' }]);
    expect(heldState(machine)).toBe('assigned');
    expect(heldState(run([{ kind: 'home_free' }], machine).machine)).toBe('starting');
  });
});

describe('how a session ends', () => {
  test.each([
    ['exit 0 before a picture', RUNNING, 0, { state: 'failed', failure_code: 'app_exited_early' }],
    ['exit 1 before a picture', RUNNING, 1, { state: 'failed', failure_code: 'app_exited_early' }],
    ['exit 0 after a picture', PRESENTED, 0, { state: 'stopped', reason: 'app_exited', appLog: true }],
    ['exit 1 after a picture', PRESENTED, 1, { state: 'failed', failure_code: 'app_crashed' }],
    ['a signal after a picture', PRESENTED, null, { state: 'failed', failure_code: 'app_crashed' }],
  ] as const)('%s', (_name, path, status, ending) => {
    const { machine } = run([...path, { kind: 'app_exited', status }]);
    expect(machine.ending).toMatchObject(ending);
  });

  test.each([
    [0, 'the app ended without showing a window (exit status 0)'],
    [3, 'the app exited with status 3 before it drew anything'],
    [null, 'the app was ended by a signal before it drew anything'],
  ])('the message for an app that exits with %s before a picture', (status, error) => {
    const { machine } = run([...RUNNING, { kind: 'app_exited', status }]);
    expect(machine.ending).toMatchObject({ failure_code: 'app_exited_early', error });
  });

  test('the message names the missing requirement of the app, if known', () => {
    const { machine } = run([...RUNNING, { kind: 'app_exited', status: 1, hint: 'it needs this' }]);
    expect(machine.ending).toMatchObject({
      error: 'the app exited with status 1 before it drew anything; it needs this',
    });
  });

  test('a failure is never reported as stopping before it', () => {
    const { effects } = run([...RUNNING, { kind: 'failure', failure_code: 'capture_failed', error: 'x' }]);
    expect(effects.map(({ kind }) => kind)).not.toContain('report_stopping');
  });

  test('the first cause wins', () => {
    const { machine } = run([
      ...RUNNING,
      { kind: 'failure', failure_code: 'encoder_failed', error: 'first' },
      { kind: 'stop', reason: 'admin', graceMs: 1 },
      { kind: 'torn_down' },
    ]);
    expect(machine.ending).toMatchObject({ failure_code: 'encoder_failed' });
  });

  test('for any events teardown and last report come at most once, in that order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...INPUTS), { maxLength: 40 }), (inputs) => {
        const kinds = run(inputs).effects.map(({ kind }) => kind);
        const downs = kinds.filter((kind) => kind === 'tear_down').length;
        const ends = kinds.filter((kind) => kind === 'report_end').length;
        expect(downs).toBeLessThanOrEqual(1);
        expect(ends).toBeLessThanOrEqual(downs);
        if (ends === 1) expect(kinds.at(-1)).toBe('report_end');
      }),
    );
  });
});

describe('a local session', () => {
  const { machine, effects } = run(STARTED, newMachine(false));

  test('runs as soon as its app was started, without encoder steps', () => {
    expect(machine.phase).toBe('running');
    expect(details(effects)).toEqual(['preparing home', 'starting display', 'starting app', 'app booting']);
    expect(effects).not.toContainEqual({ kind: 'start_encoder' });
  });

  test('waits for the watcher of its app', () => {
    const early = run([{ kind: 'screen_ready' }, { kind: 'start' }], newMachine(false));
    expect(early.machine.phase).toBe('starting');
    expect(run([{ kind: 'worker_ready' }], early.machine).machine.phase).toBe('running');
  });

  test('is presented like any other', () => {
    expect(details(run([{ kind: 'presented' }], machine).effects)).toEqual(['app presented']);
  });
});
