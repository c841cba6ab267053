import { z } from 'zod';
import { dateTime, string } from '../atoms.ts';
import { operation } from '../operation.ts';
import { jobOperations } from './jobs.ts';

const backupDatabase = z.enum(['sqlite', 'postgres']);
export type BackupDatabase = z.output<typeof backupDatabase>;

const backup = z
  .object({
    name: z
      .string()
      .describe(
        'Name of the file: `footlight-YYYYMMDD-HHMMSS[-reason].sqlite` or `.pgdump`, with the time in UTC.',
      ),
    created_at: dateTime.describe('Start of the backup.'),
    bytes: z.int().describe('Length of the file.'),
    reason: z
      .string()
      .nullable()
      .describe(
        '`manual`: an administrator asked for it; `before-<step>`: made at a start, before that migration step; null: the daily one.',
      ),
    verified: z
      .boolean()
      .describe('It was read completely after it was written, and its length has not changed since.'),
    database: backupDatabase.describe('Database system that was saved.'),
    release: z.string().nullable().describe('Version of the control plane that wrote it; null: unknown.'),
  })
  .meta({ id: 'Backup', description: 'A file with the database of the instance.' });
export type Backup = z.output<typeof backup>;

const backupParams = z.object({ name: string({ max: 255 }).describe('Name of the backup.') });
const NO_BACKUP = 'There is no such backup. Names of other files count as unknown.';
const NAME = 'footlight-20260602-030004.sqlite';
const { responses, example } = jobOperations['admin.jobs.run'];

export const backupOperations = {
  'admin.backups.list': operation({
    id: 'admin.backups.list',
    method: 'GET',
    path: '/v1/admin/backups',
    auth: 'admin',
    summary: 'Backups in the folder of the instance, newest first',
    description:
      'The folder of the control plane that answers. Keys of secrets, certificates and pictures are in none of them.',
    responses: {
      200: z.object({
        items: z.array(backup).describe('All backups, newest first.'),
        folder: z.string().describe('Path of the folder on the machine of the control plane.'),
        keep: z
          .int()
          .describe(
            'Daily and manual backups that are kept; 0: the schedule makes none, and none of them is deleted.',
          ),
      }),
    },
    example: {
      response: {
        items: [
          {
            name: NAME,
            created_at: '2026-06-02T03:00:04.000Z',
            bytes: 4_341_760,
            reason: null,
            verified: true,
            database: 'sqlite',
            release: '0.1.0',
          },
        ],
        folder: '/var/lib/service-control/backups',
        keep: 14,
      },
    },
  }),
  'admin.backups.create': operation({
    id: 'admin.backups.create',
    method: 'POST',
    path: '/v1/admin/backups',
    auth: 'admin',
    summary: 'Make a backup now',
    description:
      'Queues a run of the job `database.backup`, as `POST /v1/admin/jobs/{job_id}/run` does. The run tells whether it succeeded.',
    responses,
    refusals: {
      job_disabled: 'The job is switched off.',
      job_already_running: 'A backup is being written.',
    },
    example: { response: example.response },
  }),
  'admin.backups.download': operation({
    id: 'admin.backups.download',
    method: 'GET',
    path: '/v1/admin/backups/{name}/file',
    auth: 'admin',
    summary: 'The file of a backup, for scripts/restore',
    description: 'It contains hashes of passwords and tokens. The activity log says who got it.',
    params: backupParams,
    responses: { 200: z.string() },
    contentType: 'application/octet-stream',
    headers: {
      'cache-control': 'Always `no-store`.',
      'content-disposition': 'Always `attachment`, with the name of the backup.',
    },
    refusals: { not_found: NO_BACKUP },
    example: { params: { name: NAME } },
  }),
  'admin.backups.delete': operation({
    id: 'admin.backups.delete',
    method: 'DELETE',
    path: '/v1/admin/backups/{name}',
    auth: 'admin',
    summary: 'Delete a backup',
    params: backupParams,
    responses: { 204: null },
    refusals: { not_found: NO_BACKUP },
    example: { params: { name: NAME } },
  }),
} as const;
