import { describe, expect, test } from 'vitest';
import { AGENT_CLOSE } from '../../protocol/src/agent/limits.ts';
import {
  CONTROL_ERROR_CODES,
  type ControlErrorCode,
  END_REASONS,
  FAILURE_CODES,
  type FailureCode,
  type Open,
  REFUSAL_CODES,
  type RefusalCode,
  type SessionEndReason,
  SIGNAL_ERROR_CODES,
  type SignalErrorCode,
} from '../../protocol/src/codes.ts';
import { RESERVED } from '../../protocol/src/reserved-codes.ts';
import { ACTIVITY_ACTIONS } from '../../protocol/src/rest/activity.ts';
import { ERRORS, type ErrorCode } from '../../protocol/src/rest/errors.ts';
import { SIGNAL_CLOSE } from '../../protocol/src/signal/close-codes.ts';
import { AGENT_EVENT_TYPES, BROWSER_EVENT_TYPES } from '../../protocol/src/telemetry/events.ts';
import { LOG_EVENTS, type LogEvent } from '../../protocol/src/telemetry/log-events.ts';
import { modulesBelow } from './modules.ts';

const AGENT = source('node-agent/src');
const CONTROL_PLANE = source('control-plane/src');
/** Included in the agent's sources, because a note of an administrator counts as an event of an agent. */
const TRACES = source('control-plane/src/telemetry/trace');
const PLAYER = source('packages/stream-client/src');

/** The program's own code, without comments, tests, and comparisons with received values. */
function source(folder: string): string {
  return modulesBelow(folder)
    .filter((module) => !module.path.includes('/testing/'))
    .map((module) => module.text)
    .join('\n')
    .replace(/\/\*[\s\S]*?\*\/|\/\/ .*/g, '')
    .replace(/(?:[=!]==|\bcase) '[\w.]+'/g, '');
}

/** Codes that do not occur in the code of the programs that should produce them. */
const unproduced = (codes: readonly string[], producers: string, form = (code: string) => `'${code}'`) =>
  codes.filter((code) => !producers.includes(form(code))).sort();

describe('each declared code is produced, unless it is reserved', () => {
  test.each([
    ['errors of the HTTP API', Object.keys(ERRORS), CONTROL_PLANE, RESERVED.errors],
    ['failures of sessions', FAILURE_CODES, AGENT + CONTROL_PLANE, RESERVED.failures],
    ['ends of sessions', END_REASONS, AGENT + CONTROL_PLANE, RESERVED.endReasons],
    ['refusals of commands', REFUSAL_CODES, AGENT + CONTROL_PLANE, RESERVED.refusals],
    ['errors of signaling', SIGNAL_ERROR_CODES, AGENT + CONTROL_PLANE, RESERVED.signalErrors],
    ['errors of the control channel', CONTROL_ERROR_CODES, AGENT, RESERVED.controlErrors],
    ['trace events of agents and operators', AGENT_EVENT_TYPES, AGENT + TRACES, RESERVED.agentEvents],
    ['trace events of viewers', BROWSER_EVENT_TYPES, PLAYER, RESERVED.browserEvents],
    ['actions of the activity log', Object.keys(ACTIVITY_ACTIONS), CONTROL_PLANE, []],
    ['log events', LOG_EVENTS, AGENT + CONTROL_PLANE, []],
  ])('%s', (_set, codes, producers, reserved) => {
    expect(unproduced(codes, producers)).toEqual([...reserved].sort());
  });

  // 1009 is left out, because the library `ws` itself closes with this code.
  test.each([
    ['agents', 'AGENT_CLOSE', AGENT_CLOSE, AGENT + CONTROL_PLANE],
    ['viewers', 'SIGNAL_CLOSE', SIGNAL_CLOSE, CONTROL_PLANE],
  ])('close codes of the sockets of %s', (_peer, table, codes, producers) => {
    // A close code is used either through its table or in a rule.
    const byTable = unproduced(Object.keys(codes), producers, (name) => `${table}.${name}`);
    expect(unproduced(byTable, producers)).toEqual(['frame_too_large']);
  });
});

test('a misspelled code does not compile, even in types that allow codes of newer versions', () => {
  // @ts-expect-error app_crashed
  const failure: Open<FailureCode> = 'app_crashd';
  // @ts-expect-error user_requested
  const end: Open<SessionEndReason> = 'user_request';
  // @ts-expect-error busy
  const refusal: Open<RefusalCode> = 'bussy';
  // @ts-expect-error ice_timeout
  const signal: Open<SignalErrorCode> = 'ice_time_out';
  // @ts-expect-error input_flood
  const control: Open<ControlErrorCode> = 'input_floods';
  // @ts-expect-error not_found
  const error: Open<ErrorCode> = 'no_found';
  // @ts-expect-error session.failed
  const event: LogEvent = 'session.faild';
  expect(new Set([failure, end, refusal, signal, control, error, event]).size).toBe(7);
});
