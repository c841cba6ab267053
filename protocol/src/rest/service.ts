import { z } from 'zod';
import { operation } from './operation.ts';

/** Answer of /health; 503 if the database does not answer. */
export const health = z
  .object({
    status: z.literal('ok').describe('The service answers.'),
    db: z.literal('ok').describe('The database answers.'),
  })
  .meta({ id: 'Health', description: 'All is well.' });
export const healthDegraded = z
  .object({
    status: z.literal('degraded').describe('The service answers, but its database does not.'),
    db: z.literal('error').describe('The database did not answer within a second.'),
  })
  .meta({ id: 'HealthDegraded', description: 'The database is unavailable.' });

/** Answer of /health/live. */
const alive = z
  .object({ status: z.literal('ok').describe('The process answers.') })
  .meta({ id: 'Alive', description: 'The process is alive and needs no restart.' });
/** Answer of /health/ready while the service should get no new requests. */
const notReady = z
  .object({
    status: z
      .enum(['draining', 'degraded'])
      .describe(
        'draining: the service stops soon and finishes its open requests. degraded: the database is unavailable.',
      ),
    db: z.enum(['ok', 'error']).describe('Whether the database answered within a second.'),
  })
  .meta({ id: 'NotReady', description: 'Send requests elsewhere.' });

/** The OpenAPI document of all operations. */
const openApi = z
  .looseObject({
    openapi: z.string().describe('Version of OpenAPI that the document follows.'),
    info: z
      .looseObject({
        title: z.string().describe('Name of the product.'),
        version: z.string().describe('Version of the contract.'),
      })
      .describe('What the document is about.'),
  })
  .meta({ id: 'OpenApi', description: 'An OpenAPI document.' });

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
  'health.live': operation({
    id: 'health.live',
    method: 'GET',
    path: '/health/live',
    auth: 'public',
    summary: 'Whether the process answers, regardless of its database',
    responses: { 200: alive },
    example: { response: { status: 'ok' } },
  }),
  'health.ready': operation({
    id: 'health.ready',
    method: 'GET',
    path: '/health/ready',
    auth: 'public',
    summary: 'Whether a load balancer should send requests here',
    responses: { 200: health, 503: notReady },
    example: { response: { status: 'ok', db: 'ok' } },
  }),
  'openapi.read': operation({
    id: 'openapi.read',
    method: 'GET',
    path: '/v1/openapi.json',
    auth: 'public',
    summary: 'This contract as OpenAPI 3.1',
    responses: { 200: openApi, 304: null },
    headers: {
      ETag: 'Version of this text; with it in `If-None-Match` the answer has no body while nothing changed.',
    },
    example: { response: { openapi: '3.1.0', info: { title: 'Footlight', version: '0.1.0' } } },
  }),
  'docs.read': operation({
    id: 'docs.read',
    method: 'GET',
    path: '/docs',
    auth: 'public',
    summary: 'This contract as a page for people',
    responses: { 200: z.string().describe('The page.') },
    contentType: 'text/html; charset=utf-8',
    example: {},
  }),
} as const;
