import { z } from 'zod';
import {
  gcConfirmedSchema,
  gcConfirmSchema,
  gcPendingSchema,
  MAX_GC_CONFIRM_BYTES,
  MAX_GC_CURSOR,
} from '../../agent/homes.ts';
import { uuid } from '../../common.ts';
import { dateTime, idParams, madeId, page, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/** Number of homes on a page of the list. */
export const HOMES_PER_PAGE = 50;

const storageHome = z
  .object({
    id: madeId.describe('Id of the home.'),
    user_id: madeId.nullable().describe('Account that the files belong to; null once it is deleted.'),
    username: z.string().nullable().describe('Its name; null once it is deleted.'),
    app_id: madeId.nullable().describe('App that the files belong to; null once it is deleted.'),
    app_name: z.string().nullable().describe('Its name; null once it is deleted.'),
    host_id: madeId
      .nullable()
      .describe('Host that the files lie on; null once its record is deleted: the files stay there.'),
    host_name: z.string().nullable().describe('Its node name; null once its record is deleted.'),
    provider: z.enum(['local', 'volume']).describe('`local`: a directory; `volume`: an engine volume.'),
    ref: z.string().describe('Path of the directory on the host, or name of the volume.'),
    bytes_used: z
      .int()
      .describe('Size when the last session of the home ended, in bytes; 0 until one was measured.'),
    created_at: dateTime.describe('When the home was made.'),
    last_used_at: dateTime.describe('When a session last used it.'),
    gc_after: dateTime
      .nullable()
      .describe('When it was marked for deletion; its host deletes it a day later. null: it is kept.'),
  })
  .meta({ id: 'StorageHome', description: 'The files of one account for one app on one host.' });
export type StorageHome = z.output<typeof storageHome>;

const homesQuery = z.object({
  user_id: uuid.optional().describe('Only the homes of this account.'),
  app_id: uuid.optional().describe('Only the homes of this app.'),
  pending_gc: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .describe('true: only what is marked for deletion; false: only what is kept; left out: both.'),
  cursor: string({ max: 1024 })
    .optional()
    .describe('`next_cursor` of the page before; left out: the first page.'),
});

const gcPendingQuery = z.object({
  cursor: string({ max: MAX_GC_CURSOR })
    .optional()
    .describe('`next_cursor` of the answer before; left out: from the homes that have waited longest.'),
});

const HOME_ID = '8d1f6a52-3c0b-4e7d-9a64-b5f2c7e01d38';

export const storageOperations = {
  'admin.storage.homes.list': operation({
    id: 'admin.storage.homes.list',
    method: 'GET',
    path: '/v1/admin/storage/homes',
    auth: 'admin',
    summary: 'Homes of all accounts, newest first',
    description: `A page has ${HOMES_PER_PAGE} homes.`,
    query: homesQuery,
    responses: { 200: page(storageHome) },
    example: {
      query: { pending_gc: 'true' },
      response: {
        items: [
          {
            id: HOME_ID,
            user_id: null,
            username: null,
            app_id: exampleIds.app,
            app_name: 'SuperTux',
            host_id: exampleIds.host,
            host_name: 'rack-1',
            provider: 'local',
            ref: '/srv/homes/alice-7f9c24e8/supertux-5a4f3c52',
            bytes_used: 73_400_320,
            created_at: '2026-05-20T18:00:00.000Z',
            last_used_at: '2026-06-01T20:15:00.000Z',
            gc_after: '2026-06-02T12:00:00.000Z',
          },
        ],
        next_cursor: null,
      },
    },
  }),
  'admin.storage.homes.delete': operation({
    id: 'admin.storage.homes.delete',
    method: 'DELETE',
    path: '/v1/admin/storage/homes/{id}',
    auth: 'admin',
    summary: 'Mark a home for deletion',
    description:
      'Its host deletes the files a day later. Until then a launch of the app by its owner keeps them. A repeat changes nothing: the day counts from the first mark.',
    params: idParams,
    responses: { 204: null },
    refusals: {
      not_found: 'There is no such home.',
      home_in_use:
        'A session that is pending, assigned, starting or running uses it; an app and its tiles share one.',
    },
    example: { params: { id: HOME_ID } },
  }),
  'agent.storage.gcPending': operation({
    id: 'agent.storage.gcPending',
    method: 'GET',
    path: '/v1/agent/storage/gc-pending',
    auth: 'node',
    summary: 'Homes that the calling host shall collect',
    description:
      'Marked at least a day ago, without a session that uses them; at most a hundred. Asking changes nothing; only `gc-confirm` deletes. The cursor leads past homes that the host cannot collect now.',
    query: gcPendingQuery,
    responses: { 200: gcPendingSchema },
    example: {
      response: {
        homes: [{ id: HOME_ID, provider: 'local', ref: '/srv/homes/alice-7f9c24e8/supertux-5a4f3c52' }],
        next_cursor: null,
      },
    },
  }),
  'agent.storage.gcConfirm': operation({
    id: 'agent.storage.gcConfirm',
    method: 'POST',
    path: '/v1/agent/storage/gc-confirm',
    auth: 'node',
    summary: 'Decide about homes that the calling host has moved aside',
    description:
      'Deletes the records of those that are past their day and keeps the others. An id without a record on this host counts as deleted, so a repeat gets the same answer.',
    body: { schema: gcConfirmSchema, maxBytes: MAX_GC_CONFIRM_BYTES, unknownKeys: 'ignored' },
    responses: { 200: gcConfirmedSchema },
    example: {
      body: { home_ids: [HOME_ID] },
      response: { deleted: 1, deleted_ids: [HOME_ID], kept_ids: [] },
    },
  }),
} as const;
