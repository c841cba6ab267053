import type { Backup, Job } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconDatabaseExport } from '@tabler/icons-react';
import { useMutationState } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { bytesLabel } from '../../components/bytes-labels.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { resultLabel, standingOf } from '../jobs/job-labels.ts';
import { NextRun } from '../jobs/next-run.tsx';
import { reasonLabel, restoreCommand } from './backup-labels.ts';
import {
  BACKUP_JOB,
  downloadKey,
  useBackUpNow,
  useBackupJob,
  useBackups,
  useDeleteBackup,
  useDownload,
} from './use-backups.ts';

/** Refresh interval, so that a person sees the new backup soon after the run. Chosen, not measured. */
const REFRESH_MS = 5_000;
/** Height of the placeholder, in pixels. */
const LOADING_HEIGHT = 480;

const columns = (onDelete: (backup: Backup) => void): readonly Column<Backup>[] => [
  {
    head: msg('Backup'),
    kind: 'name',
    cell: ({ created_at, name }) => (
      <div className={styles.described}>
        <RelativeTime at={created_at} />
        <span className={styles.mono}>{name}</span>
      </div>
    ),
  },
  { head: msg('Reason'), cell: reasonLabel },
  { head: msg('Size'), kind: 'number', cell: ({ bytes }) => bytesLabel(bytes) },
  { head: msg('Check'), live: true, cell: (backup) => <CheckState backup={backup} /> },
  { head: msg('Release'), cell: ({ release }) => release ?? t('unknown') },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (backup) => (
      <>
        <DownloadButton name={backup.name} />
        <EndButton label={t('Delete {name}', { name: backup.name })} onClick={() => onDelete(backup)}>
          {t('Delete')}
        </EndButton>
      </>
    ),
  },
];

/** Backups of the database, the job that makes them, and how to restore one. */
export function BackupsPage() {
  usePageTitle(t('Backups'));
  const backups = useBackups(REFRESH_MS);
  const job = useBackupJob();
  const run = useBackUpNow();
  const [deleting, setDeleting] = useState<Backup | null>(null);
  const remove = useDeleteBackup(() => setDeleting(null));
  const items = backups.data?.items;
  const newest = items?.find(({ verified }) => verified);
  return (
    <>
      <PageHead
        title={t('Backups')}
        lead={t('Each backup is one file with the database: accounts, apps, settings, hosts and sessions.')}
        actions={
          <Button
            variant="filled"
            disabled={job.data === undefined || !job.data.enabled || job.data.running === true}
            loading={run.isPending}
            onClick={() => run.mutate()}
          >
            {t('Back up now')}
          </Button>
        }
      />
      {run.isError && <Problem error={run.error} />}
      {job.isError && <Problem error={job.error} retry={() => void job.refetch()} />}
      {backups.isError && <Problem error={backups.error} retry={() => void backups.refetch()} />}
      {backups.isPending || job.isPending ? (
        <Skeleton height={LOADING_HEIGHT} radius={14} />
      ) : (
        <>
          {job.data !== undefined && <JobState job={job.data} keep={backups.data?.keep} />}
          {items?.length === 0 && (
            <EmptyState icon={IconDatabaseExport} title={t('No backup yet')}>
              {t('The first one appears here when the job has run.')}
            </EmptyState>
          )}
          {items !== undefined && items.length > 0 && (
            <ListTable
              label={t('Backups')}
              columns={columns(setDeleting)}
              rows={items}
              rowKey={({ name }) => name}
            />
          )}
          {backups.data !== undefined && (
            <p className={styles.dim}>
              {rich('The files are in {folder} on the machine of the control plane.', {
                folder: (
                  <span key="folder" className={styles.mono}>
                    {backups.data.folder}
                  </span>
                ),
              })}
            </p>
          )}
          <Section title={t('What else to save')}>
            <p>
              {rich(
                'No backup contains a key. Save the variables of the service with {key}, the certificate and the pictures of apps, but not in the folder of the backups. Anyone who has both the key and a backup can read the secrets. docs/backup.md lists the files.',
                { key: <code key="key">SERVICE_SECRET_KEY</code> },
              )}
            </p>
          </Section>
          {newest !== undefined && backups.data !== undefined && (
            <Section title={t('Restore')}>
              <p>
                {t(
                  'Stop all control planes and run this command in the folder of Footlight, with the variables of the service. It replaces the database with the newest verified backup; what was changed later is lost. SQLite: the former file is kept. Then start the control plane again.',
                )}
              </p>
              <CopyLine
                label={t('command that restores the newest backup')}
                value={restoreCommand(`${backups.data.folder}/${newest.name}`)}
              />
            </Section>
          )}
        </>
      )}
      <ConfirmDialog
        opened={deleting !== null}
        title={deleting === null ? '' : t('Delete {name}?', { name: deleting.name })}
        action={t('Delete 1 backup')}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => deleting !== null && remove.mutate(deleting.name)}
        onClose={() => {
          setDeleting(null);
          remove.reset();
        }}
      >
        {deleting !== null && (
          <p>
            {rich(
              'The file of {size} that was written {time} is deleted from the disk, for good. The database does not change.',
              {
                size: bytesLabel(deleting.bytes),
                time: <RelativeTime key="time" at={deleting.created_at} />,
              },
            )}
          </p>
        )}
        {deleting !== null && deleting.name === newest?.name && (
          <p>{t('It is the newest verified backup.')}</p>
        )}
      </ConfirmDialog>
    </>
  );
}

/** State and next run of the job, and how many backups stay. @param props.keep undefined: not known */
function JobState({ job, keep }: { job: Job; keep: number | undefined }) {
  const standing = standingOf(job);
  return (
    <>
      <p>
        <StateChip tone={standing.tone}>{standing.label}</StateChip>{' '}
        {rich('Next backup: {time}. {job}', {
          time: <NextRun key="time" at={standing.nextRunAt} job={job} />,
          job: (
            <Link key="job" to="/admin/jobs/$id" params={{ id: BACKUP_JOB }}>
              {t('Schedule and runs')}
            </Link>
          ),
        })}
      </p>
      {standing.failing && standing.lastRun !== null && <p>{resultLabel(standing.lastRun)}</p>}
      {keep === 0 && (
        <p className={styles.dim}>{t('No backup is deleted automatically (SERVICE_BACKUP_KEEP).')}</p>
      )}
      {keep !== undefined && keep > 0 && (
        <p className={styles.dim}>
          {plural(
            keep,
            'The newest {n} backup stays, and the newest one before each migration.',
            'The newest {n} backups stay, and the newest one before each migration.',
          )}
        </p>
      )}
    </>
  );
}

function CheckState({ backup: { name, verified } }: { backup: Backup }) {
  const failure = useMutationState({
    filters: { mutationKey: downloadKey(name) },
    select: (download) => download.state.error,
  }).at(-1);
  return (
    <>
      {verified ? (
        <StateChip tone="success">{t('Verified')}</StateChip>
      ) : (
        <StateChip tone="warning">{t('Not verified')}</StateChip>
      )}
      {failure && <Problem error={failure} />}
    </>
  );
}

function DownloadButton({ name }: { name: string }) {
  const download = useDownload(name);
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      loading={download.isPending}
      aria-label={t('Download {name}', { name })}
      onClick={() => download.mutate()}
    >
      {t('Download')}
    </Button>
  );
}
