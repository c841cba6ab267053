/**
 * Part of the published contract, not served yet: clients and agents may know these codes, and no program of this
 * version sends them. A test fails for every other code that nothing produces, and for one of these once something
 * does.
 */
import type {
  ControlErrorCode,
  FailureCode,
  RefusalCode,
  SessionEndReason,
  SignalErrorCode,
} from './codes.ts';
import type { ErrorCode } from './rest/errors.ts';
import type { AgentEventType, BrowserEventType } from './telemetry/events.ts';

export const RESERVED = {
  errors: [],
  failures: [],
  endReasons: ['peer_gone'],
  refusals: [],
  signalErrors: [],
  controlErrors: [],
  agentEvents: ['host.xid', 'host.gpu_fault', 'agent.link_restored'],
  browserEvents: ['bench.window'],
} as const satisfies {
  errors: readonly ErrorCode[];
  failures: readonly FailureCode[];
  endReasons: readonly SessionEndReason[];
  refusals: readonly RefusalCode[];
  signalErrors: readonly SignalErrorCode[];
  controlErrors: readonly ControlErrorCode[];
  agentEvents: readonly AgentEventType[];
  browserEvents: readonly BrowserEventType[];
};
