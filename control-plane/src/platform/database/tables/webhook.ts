import type { Generated } from 'kysely';

/** Events that the operator's webhook has not confirmed yet. */
export interface WebhookTables {
  webhook_events: WebhookEventsTable;
}

export interface WebhookEventsTable {
  /** Order of the delivery. */
  id: Generated<number>;
  /** Header `webhook-id`, the same in each attempt. */
  event_id: string;
  /** The JSON text that is sent. */
  body: string;
  created_at: number;
}
