import { z } from 'zod';
import { dateTime } from '../atoms.ts';
import { operation } from '../operation.ts';

export const webhookOperations = {
  'admin.webhook.status': operation({
    id: 'admin.webhook.status',
    method: 'GET',
    path: '/v1/admin/webhook',
    auth: 'admin',
    summary: 'Whether the webhook of the operator confirms the events of this instance',
    description:
      'An event is confirmed within seconds. A waiting event that is older means that the receiver does not work; the log of the control plane has the reason (`webhook.failed`).',
    responses: {
      200: z
        .object({
          configured: z.boolean().describe('`SERVICE_WEBHOOK_URL` is set.'),
          waiting: z.int().describe('Number of events that the receiver has not confirmed.'),
          oldest_at: dateTime.nullable().describe('Time of the oldest of them; null: none waits.'),
        })
        .meta({ id: 'WebhookStatus', description: 'Events that wait for the webhook.' }),
    },
    example: {
      response: { configured: true, waiting: 12, oldest_at: '2026-06-02T12:00:00.000Z' },
    },
  }),
} as const;
