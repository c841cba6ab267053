import type { ActivityAction } from '@footlight/protocol/rest';
import type { Executor } from './database/database.ts';

/** An event for the operator's webhook. Source: docs/audit.md, "Webhook". */
export interface WebhookEvent {
  type: `activity.${ActivityAction}` | 'session.created' | 'session.running' | 'session.ended';
  /** Ids, names and codes; never a secret. */
  data: Record<string, unknown>;
}

/** Events for the operator's webhook. The webhook feature implements it. */
export interface Webhook {
  /**
   * Stores events in the transaction of the change that they report, so that they are sent after its commit and never
   * without it.
   * @param events at least one
   */
  add(tx: Executor, events: readonly WebhookEvent[]): Promise<void>;
}
