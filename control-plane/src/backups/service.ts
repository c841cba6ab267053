import type { FileHandle } from 'node:fs/promises';
import type { Success } from '@footlight/protocol/rest';
import type { JobsService } from '../jobs/index.ts';
import { instant } from '../platform/database/index.ts';
import { noSuch } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import type { Platform } from '../platform/platform.ts';
import type { BackupFolder } from './folder.ts';

const JOB = 'database.backup';

/** Backups for administrators. */
export interface Backups {
  list(): Promise<Success<'admin.backups.list'>>;
  /** Queues a run of the job. @throws ApiError job_disabled, job_already_running */
  create(actor: Caller): Promise<Success<'admin.backups.create'>>;
  /** Opens a backup for a download; the caller closes it. @throws ApiError not_found */
  open(name: string): Promise<{ file: FileHandle; bytes: number }>;
  /** Records that an administrator got the file. */
  downloaded(actor: Caller, name: string): Promise<void>;
  /** @throws ApiError not_found */
  remove(actor: Caller, name: string): Promise<void>;
}

/** Registers the job. @param deps.jobAdmin operations of administrators on jobs */
export function createBackups(
  platform: Platform,
  deps: { folder: BackupFolder; jobAdmin: JobsService['admin'] },
): Backups {
  const { activity, config, jobs } = platform;
  const { folder, jobAdmin } = deps;
  const { keep } = config.backups;

  jobs.handle(JOB, {
    lock: keep === 0 ? { variable: 'SERVICE_BACKUP_KEEP', everyMs: null } : null,
    async run({ trigger, signal }) {
      const { name, bytes } = await folder.write(trigger === 'manual' ? 'manual' : null, signal);
      return { state: 'succeeded', summary: { name, bytes, deleted: await folder.prune(keep) } };
    },
  });

  return {
    async list() {
      const items = (await folder.list()).map(({ createdAtMs, ...backup }) => ({
        ...backup,
        created_at: instant(createdAtMs),
      }));
      return { items, folder: folder.dir, keep };
    },

    create: (actor) => jobAdmin.run(actor, JOB, null),

    async open(name) {
      const opened = await folder.open(name);
      if (opened === null) throw noSuch('backup', name);
      return opened;
    },

    downloaded: (actor, name) => activity.record(actor.userId, 'backup.download', name),

    async remove(actor, name) {
      if (!(await folder.remove(name))) throw noSuch('backup', name);
      await activity.record(actor.userId, 'backup.delete', name);
    },
  };
}
