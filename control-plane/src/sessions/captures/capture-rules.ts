/** Decides what an administrator may capture, and converts refusals of the host. Pure. Source: docs/recordings.md. */
import type { JsonObject } from '@footlight/protocol';
import {
  CAPTURE_BUDGET,
  CAPTURE_PARAMS,
  type CaptureOrder,
  clampCapture,
  isCaptureKind,
} from '@footlight/protocol/agent';
import type { CommandResult } from '../../fleet/index.ts';
import type { Refusal } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';

/** The request body of the operation. */
export interface CaptureRequest {
  kind?: string | undefined;
  params?: JsonObject | undefined;
}

/** Kind and parameters of the capture, with defaults applied, or the first refusal. */
export function readOrder({
  kind = '',
  params = {},
}: CaptureRequest): { order: CaptureOrder } | { refusal: Refusal } {
  if (kind.trim() === '')
    return { refusal: { code: 'validation_failed', message: 'kind: must not be blank' } };
  if (!isCaptureKind(kind)) return { refusal: { code: 'capture_kind_unsupported' } };
  const wrong = CAPTURE_PARAMS[kind].find(
    (name) => params[name] !== undefined && !Number.isInteger(params[name]),
  );
  if (wrong !== undefined)
    return { refusal: { code: 'validation_failed', message: `params.${wrong}: must be a whole number` } };
  return { order: clampCapture(kind, params, CAPTURE_BUDGET.max_ms) };
}

/** The host from which a capture of this session can be requested, or the refusal. */
export function judgeCaptured(
  row: Pick<SessionRow, 'state' | 'host_id'>,
): { hostId: string } | { refusal: Refusal } {
  if (row.state !== 'running' || row.host_id === null) return { refusal: { code: 'session_not_running' } };
  return { hostId: row.host_id };
}

/** @param features null: the host is not connected */
export function judgeAgent(features: readonly string[] | null): Refusal | null {
  if (features === null) return { code: 'agent_not_connected' };
  return features.includes('capture') ? null : { code: 'capture_unsupported' };
}

/** @returns null: the host accepted the command */
export function judgeAnswer(result: CommandResult): Refusal | null {
  if (result.kind === 'ok') return null;
  if (result.kind !== 'refused') return { code: 'agent_not_connected' };
  switch (result.code) {
    case 'unknown_command':
      return { code: 'capture_unsupported' };
    case 'busy':
      return { code: 'capture_busy' };
    case 'unknown_kind':
    case 'unsupported':
      return { code: 'capture_kind_unsupported' };
    case 'no_such_session':
      return { code: 'session_not_running' };
    default:
      return { code: 'conflict', message: `The host refused the capture: ${result.error}` };
  }
}

/** Whether the host may be capturing; also true when its answer was lost. */
export const isUnderWay = (result: CommandResult): boolean =>
  result.kind === 'ok' || result.kind === 'timeout' || (result.kind === 'not_connected' && result.sent);
