import { z } from 'zod';
import { operation } from './operation.ts';

/** What /health answers; 503 when the database does not. */
export const health = z
  .object({
    status: z.literal('ok').describe('The service answers.'),
    db: z.literal('ok').describe('The database answers.'),
  })
  .meta({ id: 'Health', description: 'All is well.' });
export const healthDegraded = z
  .object({
    status: z.literal('degraded').describe('The service answers, and can do little.'),
    db: z.literal('error').describe('The database did not answer within a second.'),
  })
  .meta({ id: 'HealthDegraded', description: 'The database is away.' });

export const serviceOperations = {
  health: operation({
    id: 'health',
    method: 'GET',
    path: '/health',
    auth: 'public',
    summary: 'Whether the service and its database answer',
    responses: { 200: health, 503: healthDegraded },
    example: { response: { status: 'ok', db: 'ok' } },
  }),
} as const;
