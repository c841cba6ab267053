import { z } from 'zod';
import { operation } from './operation.ts';

/** What /health answers; 503 when the database does not. */
export const health = z.object({ status: z.literal('ok'), db: z.literal('ok') });
export const healthDegraded = z.object({ status: z.literal('degraded'), db: z.literal('error') });

export const serviceOperations = {
  health: operation({
    id: 'health',
    method: 'GET',
    path: '/health',
    auth: 'public',
    summary: 'Whether the service and its database answer',
    responses: { 200: health, 503: healthDegraded },
  }),
} as const;
