import { instant } from '../platform/database/index.ts';
import type { WebhookEvent } from '../platform/webhook.ts';
import type { SessionRow } from './record.ts';

type Shown = Pick<SessionRow, 'id' | 'user_id' | 'app_id' | 'host_id' | 'created_at'>;
type End = Pick<SessionRow, 'end_reason' | 'failure_code'> & { state: SessionRow['state'] | 'withdrawn' };

const NOT_ENDED = { end_reason: null, failure_code: null };

const eventOf = (
  type: WebhookEvent['type'],
  { id, user_id, app_id, host_id, created_at }: Shown,
  end: End,
): WebhookEvent => ({
  type,
  data: { id, user_id, app_id, host_id, ...end, created_at: instant(created_at) },
});

/** The events of a session for the webhook. Pure. Source: docs/audit.md, "Events". */
export const createdEvent = (row: Shown & Pick<SessionRow, 'state'>): WebhookEvent =>
  eventOf('session.created', row, { state: row.state, ...NOT_ENDED });
export const runningEvent = (row: Shown): WebhookEvent =>
  eventOf('session.running', row, { state: 'running', ...NOT_ENDED });
export const endedEvent = (row: Shown, { state, end_reason, failure_code }: End): WebhookEvent =>
  eventOf('session.ended', row, { state, end_reason, failure_code });
