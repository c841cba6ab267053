import { isTerminal, type SessionStateName, sessionStates } from '@footlight/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Actor,
  type ControlEnd,
  decideControlEnd,
  decideHeld,
  decideReport,
  decideStop,
  mayMove,
  opensRelay,
  type SessionFacts,
  type SessionReport,
  type Step,
  TRANSITIONS,
} from './state.ts';

const facts = (state: SessionStateName, more: Partial<SessionFacts> = {}): SessionFacts => ({
  state,
  state_detail: null,
  end_reason: isTerminal(state) ? 'host_lost' : null,
  stop_reason: state === 'stopping' ? 'user_requested' : null,
  failure_code: null,
  app_log_tail: null,
  home_bytes: null,
  swap_app_id: null,
  swap_home_app_id: null,
  ...more,
});

/** The state of the row after the step. */
function stateAfter(from: SessionFacts, step: Step): SessionStateName {
  if (step.kind === 'move') return step.to;
  return step.kind === 'end' ? step.ending.to : from.state;
}

const REPORTED = ['starting', 'running', 'stopping', 'stopped', 'failed'] as const;

describe('agent reports move a session', () => {
  const rows: [SessionStateName, (typeof REPORTED)[number], SessionStateName, string][] = [
    ['pending', 'starting', 'pending', 'no report applies to a session without a host'],
    ['pending', 'running', 'pending', 'no host'],
    ['pending', 'stopping', 'pending', 'no host'],
    ['pending', 'stopped', 'pending', 'no host'],
    ['pending', 'failed', 'pending', 'no host'],
    ['assigned', 'starting', 'starting', 'preparation began'],
    ['assigned', 'running', 'running', 'starting may be skipped'],
    ['assigned', 'stopping', 'stopping', 'the agent ends it'],
    ['assigned', 'stopped', 'stopped', 'it ended'],
    ['assigned', 'failed', 'failed', 'it failed'],
    ['starting', 'starting', 'starting', 'idempotent'],
    ['starting', 'running', 'running', 'frames leave the encoder'],
    ['starting', 'stopping', 'stopping', 'the agent ends it'],
    ['starting', 'stopped', 'stopped', 'it ended'],
    ['starting', 'failed', 'failed', 'it failed'],
    ['running', 'starting', 'running', 'never back'],
    ['running', 'running', 'running', 'idempotent'],
    ['running', 'stopping', 'stopping', 'the agent ends it'],
    ['running', 'stopped', 'stopped', 'idle, or the app ended'],
    ['running', 'failed', 'failed', 'a crash'],
    ['stopping', 'starting', 'stopping', 'a stop is not undone'],
    ['stopping', 'running', 'stopping', 'a stop is not undone'],
    ['stopping', 'stopping', 'stopping', 'idempotent'],
    ['stopping', 'stopped', 'stopped', 'the stop is done'],
    ['stopping', 'failed', 'stopped', 'a failure while stopping is a stop'],
    ['stopped', 'starting', 'stopped', 'final states ignore everybody'],
    ['stopped', 'running', 'stopped', 'final'],
    ['stopped', 'stopping', 'stopped', 'final'],
    ['stopped', 'stopped', 'stopped', 'final'],
    ['stopped', 'failed', 'stopped', 'final'],
    ['failed', 'starting', 'failed', 'final'],
    ['failed', 'running', 'failed', 'final'],
    ['failed', 'stopping', 'failed', 'final'],
    ['failed', 'stopped', 'failed', 'final'],
    ['failed', 'failed', 'failed', 'final'],
  ];
  test.each(rows)('%s + %s → %s: %s', (from, report, to) => {
    const row = facts(from);
    expect(stateAfter(row, decideReport(row, { state: report }))).toBe(to);
  });

  test('every state and report has exactly one row above', () => {
    const pairs = sessionStates.flatMap((from) => REPORTED.map((report) => `${from} + ${report}`));
    expect(rows.map(([from, report]) => `${from} + ${report}`).sort()).toEqual(pairs.sort());
  });

  test('every row that changes the state is in the table of moves', () => {
    for (const [from, , to] of rows)
      if (from !== to) expect([from, to, mayMove('agent', from, to)]).toEqual([from, to, true]);
  });
});

describe('details', () => {
  test('the same state with another text changes the text', () => {
    const row = facts('starting', { state_detail: 'preparing home' });
    expect(decideReport(row, { state: 'starting', detail: 'starting display' })).toEqual({
      kind: 'detail',
      state_detail: 'starting display',
    });
  });

  test('a repeat changes nothing', () => {
    const row = facts('starting', { state_detail: 'starting app' });
    expect(decideReport(row, { state: 'starting', detail: 'starting app' })).toEqual({
      kind: 'ignore',
      why: 'repeat',
    });
    expect(decideReport(row, { state: 'starting' }).kind).toBe('ignore');
  });

  test('a move without a text keeps the one that is there', () => {
    expect(decideReport(facts('starting'), { state: 'running' })).toEqual({
      kind: 'move',
      to: 'running',
      state_detail: null,
    });
  });
});

describe('what an end stores', () => {
  const end = (from: SessionFacts, report: SessionReport) => {
    const step = decideReport(from, report);
    if (step.kind !== 'end') throw new Error(`expected an end, got ${step.kind}`);
    return step.ending;
  };

  test('a failure keeps error, code and log', () => {
    const ending = end(facts('running'), {
      state: 'failed',
      error: 'exit code 3',
      failure_code: 'app_crashed',
      app_log_tail: 'last words',
      home_bytes: 12,
    });
    expect(ending).toMatchObject({
      to: 'failed',
      error_message: 'exit code 3',
      failure_code: 'app_crashed',
      app_log_tail: 'last words',
      end_reason: 'app_crashed',
      home_bytes: 12,
    });
  });

  test('a stop keeps neither, save the log of an app that ended by itself', () => {
    const idle = end(facts('running'), { state: 'stopped', reason: 'idle_timeout', app_log_tail: 'x' });
    expect(idle).toMatchObject({
      to: 'stopped',
      end_reason: 'idle_timeout',
      error_message: null,
      app_log_tail: null,
    });
    const exited = end(facts('running'), { state: 'stopped', reason: 'app_exited', app_log_tail: 'bye' });
    expect(exited).toMatchObject({ end_reason: 'app_exited', app_log_tail: 'bye', failure_code: null });
  });

  test('the reason of the stop is kept where the agent gives none', () => {
    expect(end(facts('stopping'), { state: 'stopped' }).end_reason).toBe('user_requested');
    expect(end(facts('running'), { state: 'stopped' }).end_reason).toBe('stopped');
  });

  test('a failure while stopping shows its text as detail and no error', () => {
    const ending = end(facts('stopping'), {
      state: 'failed',
      error: 'the app hung',
      failure_code: 'app_crashed',
    });
    expect(ending).toMatchObject({
      to: 'stopped',
      state_detail: 'the app hung',
      error_message: null,
      failure_code: null,
      end_reason: 'user_requested',
    });
  });

  test('a text about a broken link is not shown to the person who stopped the session', () => {
    expect(end(facts('stopping'), { state: 'failed', error: 'websocket closed' }).state_detail).toBeNull();
  });
});

describe('late fields', () => {
  const late = { state: 'failed', failure_code: 'app_crashed', app_log_tail: 'tail', home_bytes: 7 } as const;

  test('a failed row accepts its missing fields', () => {
    expect(decideReport(facts('failed'), late)).toEqual({
      kind: 'late',
      fields: { failure_code: 'app_crashed', app_log_tail: 'tail', home_bytes: 7 },
    });
  });

  test('and only those, once', () => {
    const row = facts('failed', { failure_code: 'agent_restarted', app_log_tail: 'first', home_bytes: 1 });
    expect(decideReport(row, late)).toEqual({ kind: 'ignore', why: 'terminal' });
  });

  test('a stopped row takes no failure, and a log only where the app ended by itself', () => {
    expect(decideReport(facts('stopped', { end_reason: 'user_requested' }), late)).toEqual({
      kind: 'late',
      fields: { home_bytes: 7 },
    });
  });

  test('an end that a registration lists leaves the reason to the report that follows', () => {
    const listed = {
      session_id: 's1',
      state: 'stopped',
      app_id: 'a1',
      started_at: 1,
      viewer: false,
    } as const;
    const step = decideHeld(facts('running'), listed);
    expect(step).toMatchObject({ kind: 'end', ending: { to: 'stopped', end_reason: null } });
    const ended = facts('stopped', { end_reason: null });
    expect(decideReport(ended, { state: 'stopped', reason: 'app_exited', app_log_tail: 'bye' })).toEqual({
      kind: 'late',
      fields: { end_reason: 'app_exited', app_log_tail: 'bye' },
    });
    expect(decideReport(ended, { state: 'stopped' })).toEqual({
      kind: 'late',
      fields: { end_reason: 'stopped' },
    });
    const asked = facts('stopping', { stop_reason: 'user_requested' });
    expect(decideHeld(asked, listed)).toMatchObject({ ending: { end_reason: 'user_requested' } });
  });

  test('a live report of an ended session changes nothing', () => {
    expect(decideReport(facts('failed'), { state: 'running', home_bytes: 3 }).kind).toBe('ignore');
  });
});

describe('ends that the control plane decides', () => {
  const causes: ControlEnd[] = [
    { cause: 'assign_refused', code: 'policy', error: 'no such mount' },
    { cause: 'start_refused', code: 'busy', error: '' },
    { cause: 'assign_timed_out' },
    { cause: 'start_timed_out' },
    { cause: 'stop_timed_out' },
    { cause: 'not_delivered' },
    { cause: 'host_lost', error: 'gone', failure_code: 'agent_restarted' },
    { cause: 'unsustainable', why: 'not above 2000 kbit/s' },
  ];

  test.each(causes)('%o: final states stay, stopping stops without error, the others fail', (cause) => {
    for (const state of sessionStates) {
      const ending = decideControlEnd(facts(state), cause);
      if (isTerminal(state)) expect(ending).toBeNull();
      else if (state === 'stopping')
        expect(ending).toMatchObject({
          to: 'stopped',
          error_message: null,
          failure_code: null,
          end_reason: 'user_requested',
        });
      else {
        expect(ending?.to).toBe('failed');
        expect(ending?.error_message).toBeTruthy();
      }
    }
  });

  test.each([
    ['assign_timed_out', 'assign timed out'],
    ['start_timed_out', 'start timed out'],
  ] as const)('%s says "%s"', (cause, detail) => {
    expect(decideControlEnd(facts('assigned'), { cause })?.state_detail).toBe(detail);
  });

  test('a stop that took too long says so', () => {
    expect(decideControlEnd(facts('stopping'), { cause: 'stop_timed_out' })?.state_detail).toBe(
      'stop timed out',
    );
  });

  test("a refusal carries the agent's words and code", () => {
    expect(decideControlEnd(facts('assigned'), causes[0] as ControlEnd)).toMatchObject({
      error_message: 'no such mount',
      failure_code: 'policy',
    });
  });

  test('a stream that is unsustainable says why in detail and error', () => {
    expect(decideControlEnd(facts('running'), { cause: 'unsustainable', why: 'too slow' })).toMatchObject({
      to: 'failed',
      state_detail: 'unsustainable: too slow',
      error_message: 'unsustainable: too slow',
      failure_code: 'unsustainable',
      end_reason: 'unsustainable',
    });
  });

  test('a lost host leaves its code', () => {
    expect(decideControlEnd(facts('running'), causes[6] as ControlEnd)).toMatchObject({
      state_detail: 'host_lost',
      end_reason: 'host_lost',
      failure_code: 'agent_restarted',
    });
  });
});

describe('the relay opens', () => {
  test.each([
    ['starting', 'preparing home', false],
    ['starting', 'starting app', false],
    ['starting', 'starting encoder', true],
    ['starting', 'app booting', true],
    ['starting', 'app presented', true],
    ['starting', undefined, false],
    ['running', undefined, true],
    ['stopping', 'starting encoder', false],
  ] as const)('%s "%s": %s', (state, detail, opens) => {
    expect(opensRelay({ state, detail })).toBe(opens);
  });
});

describe('invariants', () => {
  const state = fc.constantFrom(...sessionStates);
  const report = fc.record(
    {
      state: fc.constantFrom(...REPORTED),
      detail: fc.string(),
      reason: fc.string(),
      error: fc.string(),
      failure_code: fc.string(),
      app_log_tail: fc.string(),
      home_bytes: fc.nat(),
    },
    { requiredKeys: ['state'] },
  ) as fc.Arbitrary<SessionReport>;
  const end = fc.constantFrom<ControlEnd>(
    { cause: 'assign_timed_out' },
    { cause: 'start_timed_out' },
    { cause: 'host_lost', error: 'x', failure_code: null },
    { cause: 'start_refused', code: 'busy', error: 'y' },
    { cause: 'unsustainable', why: 'z' },
  );

  /** The effect of one input on a row, and the actor of the input. */
  function next(row: SessionFacts, input: SessionReport | ControlEnd | 'stop'): [Actor, SessionStateName] {
    if (input === 'stop') {
      const step = decideStop(row, 'user_requested');
      if (step.kind === 'ignore') return ['control_plane', row.state];
      return ['control_plane', step.kind === 'end' ? step.ending.to : step.to];
    }
    if ('cause' in input) return ['control_plane', decideControlEnd(row, input)?.to ?? row.state];
    return ['agent', stateAfter(row, decideReport(row, input))];
  }

  test('no sequence of reports, stops and ends leaves a final state, and each actor makes only its own moves', () => {
    const inputs = fc.array(fc.oneof(report, end, fc.constant('stop' as const)), { maxLength: 30 });
    fc.assert(
      fc.property(state, inputs, (from, given) => {
        let row = facts(from);
        for (const input of given) {
          const before = row.state;
          const [actor, after] = next(row, input);
          if (after !== before) expect(mayMove(actor, before, after)).toBe(true);
          row = facts(after, { end_reason: isTerminal(after) ? 'stopped' : null });
        }
      }),
    );
  });

  test.each([
    ['pending', 'stopped'],
    ['assigned', 'stopping'],
    ['starting', 'stopping'],
    ['running', 'stopping'],
    ['stopping', 'stopping'],
    ['stopped', 'stopped'],
    ['failed', 'failed'],
  ] as const)('a stop of a session that is %s leaves it %s', (from, to) => {
    expect(next(facts(from), 'stop')).toEqual(['control_plane', to]);
  });

  test('final states have no way out in the table itself', () => {
    for (const actor of ['agent', 'control_plane'] as const) {
      expect(TRANSITIONS[actor].stopped).toEqual([]);
      expect(TRANSITIONS[actor].failed).toEqual([]);
    }
  });

  test('an error is stored only with failed', () => {
    fc.assert(
      fc.property(state, report, (from, input) => {
        const step = decideReport(facts(from), input);
        if (step.kind === 'end' && step.ending.to === 'stopped') {
          expect(step.ending.error_message).toBeNull();
          expect(step.ending.failure_code).toBeNull();
        }
        if (step.kind === 'end') expect(step.ending.end_reason).not.toBeNull();
      }),
    );
  });
});
