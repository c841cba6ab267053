import { z } from 'zod';
import { body, dateTime, string } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

/** State of a secret for administrators, without its value. */
export const secretStatus = z
  .object({
    name: z.string().describe('Name of the secret, fixed by the service.'),
    label: z.string().describe('What to call it in a form.'),
    description: z.string().describe('What the service uses it for.'),
    env_var: z.string().describe('Environment variable that is used while nothing is stored.'),
    docs_url: z.string().describe('Page on which the value can be got.'),
    configured: z.boolean().describe('A value is stored.'),
    readable: z.boolean().describe('A value is stored and a configured master key decrypts it.'),
    hint: z
      .string()
      .describe('Last 4 characters of the stored value; empty when it has fewer than 12 or none is stored.'),
    env_set: z.boolean().describe('The environment variable has a value.'),
    origin: z
      .enum(['none', 'database', 'environment'])
      .describe('Where the value in force comes from; none also while a stored value cannot be decrypted.'),
    key_version: z
      .int()
      .describe('Version of the master key that encrypted the stored value; 0 when none is.'),
    updated_by: z
      .string()
      .nullable()
      .describe('Account that stored the value; null when none is, or it is gone.'),
    updated_at: dateTime.nullable().describe('Time at which the value was stored; null when none is.'),
    problem: z.string().optional().describe('Why the stored value cannot be used; left out when it can.'),
  })
  .meta({ id: 'Secret', description: 'What is known of a secret, never its value.' });
export type SecretStatus = z.output<typeof secretStatus>;

const masterKeyConfigured = z
  .boolean()
  .describe('SERVICE_SECRET_KEY is set; without it nothing can be stored.');

const secretParams = z.object({ name: string({ max: 256 }).describe('Name of a declared secret.') });

const setBody = body({
  value: string()
    .transform((value) => value.trim())
    .refine((value) => value !== '', { error: 'must not be blank' })
    .describe('The secret; spaces around it are dropped. No answer ever shows it.'),
});

const example = {
  name: 'artwork.steamgriddb.api_key',
  label: 'SteamGridDB API key',
  description: 'Lets the server look up and download cover art from SteamGridDB.',
  env_var: 'SERVICE_STEAMGRIDDB_API_KEY',
  docs_url: 'https://www.steamgriddb.com/profile/preferences/api',
  configured: true,
  readable: true,
  hint: '9f3a',
  env_set: false,
  origin: 'database',
  key_version: 1,
  updated_by: exampleIds.admin,
  updated_at: '2026-06-02T12:00:00.000Z',
};

export const secretOperations = {
  'secrets.list': operation({
    id: 'secrets.list',
    method: 'GET',
    path: '/v1/admin/secrets',
    auth: 'admin',
    summary: 'Secrets of the instance, without their values',
    responses: {
      200: z.object({
        secrets: z.array(secretStatus).describe('Every declared secret, by name.'),
        master_key_configured: masterKeyConfigured,
        key_versions: z.array(z.int()).describe('Versions of all configured master keys, ascending.'),
      }),
    },
    example: { response: { secrets: [example], master_key_configured: true, key_versions: [1] } },
  }),
  'secrets.set': operation({
    id: 'secrets.set',
    method: 'PUT',
    path: '/v1/admin/secrets/{name}',
    auth: 'admin',
    summary: 'Store a secret, encrypted under the current master key',
    params: secretParams,
    body: { schema: setBody, maxBytes: 64 * 1024 },
    responses: {
      200: z.object({
        secret: secretStatus.describe('The secret after the write.'),
        master_key_configured: masterKeyConfigured,
      }),
    },
    refusals: {
      not_found: 'The service declares no secret of this name.',
      conflict: 'No master key is configured (SERVICE_SECRET_KEY).',
    },
    example: {
      params: { name: 'artwork.steamgriddb.api_key' },
      body: { value: '0123456789abcdef9f3a' },
      response: { secret: example, master_key_configured: true },
    },
  }),
  'secrets.clear': operation({
    id: 'secrets.clear',
    method: 'DELETE',
    path: '/v1/admin/secrets/{name}',
    auth: 'admin',
    summary: 'Forget a stored secret; the environment variable counts again',
    params: secretParams,
    responses: { 204: null },
    refusals: { not_found: 'The service declares no secret of this name.' },
    example: { params: { name: 'artwork.steamgriddb.api_key' } },
  }),
} as const;
