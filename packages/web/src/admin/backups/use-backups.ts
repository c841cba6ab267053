import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call, send } from '../../api/client.ts';
import { t } from '../../i18n/translate.ts';
import { fileNameOf, saveFile } from '../diagnosis/save-file.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { translatedJob } from '../jobs/job-texts.ts';
import { requestedLabel } from '../jobs/run-job.ts';

/** Id of the job that makes backups. */
export const BACKUP_JOB = 'database.backup';
/** Refresh interval of the job, as on its page: a run lasts seconds. */
const JOB_REFRESH_MS = 2_000;

/** The backups, newest first. @param refreshMs refresh interval; a run adds and deletes backups */
export function useBackups(refreshMs: number) {
  return useQuery({
    queryKey: adminKeys.backupList,
    queryFn: ({ signal }) => call('admin.backups.list', { signal }),
    refetchInterval: refreshMs,
  });
}

/** The job that makes backups. */
export function useBackupJob() {
  return useQuery({
    queryKey: adminKeys.job(BACKUP_JOB),
    queryFn: ({ signal }) => call('admin.jobs.read', { params: { job_id: BACKUP_JOB }, signal }),
    select: translatedJob,
    refetchInterval: JOB_REFRESH_MS,
  });
}

/** Requests a run of the job. */
export function useBackUpNow() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => call('admin.backups.create', {}),
    onMutate: () => notifications.clean(),
    onSuccess: ({ eta_note }) => {
      const message = requestedLabel(eta_note, { name: t('Backup'), hosts: [] });
      notifications.show({ message, autoClose: 8000 });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.jobs }),
  });
}

/** Deletes a backup. @param onDeleted called after the deletion */
export function useDeleteBackup(onDeleted: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => call('admin.backups.delete', { params: { name } }),
    onMutate: () => notifications.clean(),
    onSuccess: (_answer, name) => {
      onDeleted();
      notifications.show({ message: t('{name} was deleted', { name }), autoClose: 5000 });
    },
    // If the deletion is refused, another administrator may have deleted the backup, so the list is loaded again too.
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.backupList }),
  });
}

/** Lets the browser save the file of a backup. */
export function useDownload(name: string) {
  return useMutation({
    mutationKey: downloadKey(name),
    mutationFn: async () => {
      const response = await send('admin.backups.download', { params: { name } });
      saveFile(await response.blob(), fileNameOf(response.headers.get('content-disposition'), name));
    },
  });
}

/** Key of the downloads of a backup, with which other cells of its row show their error. */
export const downloadKey = (name: string) => ['backup-download', name];
