/**
 * Codes that are published but not used yet: clients and agents may know them, but no program of this version sends
 * them. A test fails if any other code is never produced, or if one of these codes is produced.
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
