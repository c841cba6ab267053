import { Button } from '@mantine/core';
import { IconPlayerPlay, IconServer } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { clock } from '../../clock.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { plural, t } from '../../i18n/translate.ts';
import { ActivityTable } from '../activity/activity-table.tsx';
import { BACKUP_JOB, useBackups } from '../backups/use-backups.ts';
import { LiveSessionLimit } from '../fleet/live-session-limit.tsx';
import {
  useFleetSummary,
  useLiveSessions,
  usePicturedGpus,
  usePicturedHosts,
  useTroubledHosts,
} from '../fleet/use-fleet.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { PageHead, Section } from '../frame/page-head.tsx';
import { useImages } from '../images/use-images.ts';
import { useJobs } from '../jobs/jobs-page.tsx';
import { SessionTable } from '../sessions/session-table.tsx';
import { backupFindings } from './backup-findings.ts';
import { certificateFindings } from './certificate-findings.ts';
import { FindingList } from './finding-list.tsx';
import { findingsHeadline, findingsOf, worstFirst } from './findings.ts';
import { FleetPicture } from './fleet-picture.tsx';
import { JobStrip } from './job-strip.tsx';
import { upkeepFindings } from './upkeep-findings.ts';
import { useFailures } from './use-failures.ts';
import { webhookFindings } from './webhook-findings.ts';

const LATEST = 8;
const MAX_SESSIONS = 20;
/** Refresh interval of the counts. The pages with the details refresh more often. */
const REFRESH_MS = 15_000;
/** Refresh interval of the backups and the webhook, whose findings are hours old. */
const SLOW_REFRESH_MS = 60_000;

/** Refresh interval of the access check, which tells when the certificate ends. */
const ACCESS_REFRESH_MS = 10 * 60_000;

/** Height of the placeholder, in pixels: as many rows as fit on a laptop's screen. */
const LOADING_HEIGHT = 640;

/** Findings, the fleet as a picture, live sessions. */
export function OverviewPage() {
  usePageTitle(t('Overview'));
  const summary = useFleetSummary();
  const hosts = usePicturedHosts();
  const items = hosts.data?.items ?? [];
  const troubled = useTroubledHosts();
  const gpus = usePicturedGpus();
  const sessions = useLiveSessions({ limit: MAX_SESSIONS });
  const setup = useQuery({ queryKey: keys.setup, queryFn: ({ signal }) => call('setup.status', { signal }) });
  const activity = useQuery({
    queryKey: adminKeys.activityList({ limit: LATEST }),
    queryFn: ({ signal }) => call('activity.list', { query: { limit: LATEST }, signal }),
    refetchInterval: REFRESH_MS,
  });
  const jobs = useJobs();
  const images = useImages();
  const backups = useBackups(SLOW_REFRESH_MS);
  const access = useQuery({
    queryKey: adminKeys.accessCheck,
    queryFn: ({ signal }) => call('access.check', { signal }),
    refetchInterval: ACCESS_REFRESH_MS,
  });
  const webhook = useQuery({
    queryKey: adminKeys.webhook,
    queryFn: ({ signal }) => call('admin.webhook.status', { signal }),
    refetchInterval: SLOW_REFRESH_MS,
  });
  const failures = useFailures();
  const { online = 0, draining = 0, offline = 0 } = summary.data?.hosts ?? {};
  const count = online + draining + offline;
  const slots = summary.data?.slots ?? { total: 0, used: 0 };
  const findings = worstFirst([
    ...findingsOf(troubled.data?.items ?? [], slots.total > 0 && slots.used >= slots.total),
    ...upkeepFindings(jobs.data?.items ?? [], images.data?.images ?? []),
    ...backupFindings(
      jobs.data?.items.find(({ id }) => id === BACKUP_JOB),
      backups.data?.items ?? [],
      clock.nowMs(),
    ),
    ...certificateFindings(access.data, clock.nowMs()),
    ...webhookFindings(webhook.data, clock.nowMs()),
  ]);
  // The parts are shown together, because a part that is shown later would push down the parts below it.
  const isLoading = [
    summary,
    hosts,
    troubled,
    gpus,
    sessions,
    activity,
    jobs,
    images,
    backups,
    access,
    webhook,
    failures,
  ].some((query) => query.isPending);
  const unread = [summary, hosts, troubled, images, backups, access, webhook].find((query) => query.isError);
  // Without the jobs, nobody knows whether one fails. Their section shows the error.
  const isUnknown = unread !== undefined || jobs.isError;
  return (
    <>
      <PageHead
        title={
          isLoading || isUnknown ? t('Overview') : count === 0 ? t('No host yet') : findingsHeadline(findings)
        }
        lead={
          summary.data === undefined
            ? t('Asking the hosts')
            : `${plural(count, '{n} host', '{n} hosts')}, ${plural(
                slots.total,
                '{taken} of {n} slot in use',
                '{taken} of {n} slots in use',
                { taken: slots.used },
              )}`
        }
        actions={
          setup.data?.setup_completed === false && (
            <Button renderRoot={(props) => <Link to="/admin/setup" {...props} />}>
              {t('Continue setup')}
            </Button>
          )
        }
      />
      {isLoading ? <Skeleton height={LOADING_HEIGHT} radius={14} /> : null}
      {!isLoading && (
        <>
          {unread !== undefined && <Problem error={unread.error} retry={() => void unread.refetch()} />}
          {!isUnknown && items.length > 0 && <FindingList findings={findings} />}
          {troubled.data?.next_cursor != null && (
            <p className={styles.dim}>
              <Link to="/admin/hosts" search={{ show: 'attention' } as never}>
                {t('More hosts need attention')}
              </Link>
            </p>
          )}
          <Section title={t('Fleet')}>
            {hosts.isSuccess && items.length === 0 && (
              <EmptyState
                icon={IconServer}
                title={t('No host has enrolled')}
                action={
                  <Button variant="filled" renderRoot={(props) => <Link to="/admin/hosts" {...props} />}>
                    {t('Enroll a host')}
                  </Button>
                }
              >
                {t('A host is a machine whose agent connects here. It appears here after it has enrolled.')}
              </EmptyState>
            )}
            <FleetPicture hosts={items} total={count} gpus={gpus.data} />
          </Section>
          <Section
            title={t('Sessions')}
            busy={sessions.isPending}
            actions={
              <Button
                size="xs"
                variant="subtle"
                renderRoot={(props) => <Link to="/admin/sessions" {...props} />}
              >
                {t('All sessions')}
              </Button>
            }
          >
            {sessions.isError && <Problem error={sessions.error} retry={() => void sessions.refetch()} />}
            {sessions.data?.items.length === 0 ? (
              <EmptyState icon={IconPlayerPlay} title={t('Nobody uses an app right now')}>
                {t('Sessions appear here as soon as somebody launches one.')}
              </EmptyState>
            ) : (
              <SessionTable sessions={sessions.data?.items} />
            )}
            <LiveSessionLimit sessions={sessions} />
          </Section>
          <Section
            title={t('Failures of the last day')}
            busy={failures.isPending}
            actions={
              <Button
                size="xs"
                variant="subtle"
                renderRoot={(props) => <Link to="/admin/sessions" search={{ state: 'failed' }} {...props} />}
              >
                {t('All failures')}
              </Button>
            }
          >
            {failures.isError && <Problem error={failures.error} retry={() => void failures.refetch()} />}
            {failures.data?.length === 0 ? (
              <p className={styles.dim}>{t('No session failed in the last day.')}</p>
            ) : (
              <>
                <SessionTable failed sessions={failures.data?.slice(0, LATEST)} />
                {failures.data !== undefined && failures.data.length > LATEST && (
                  <p className={styles.dim}>
                    {t('The newest {shown} of {all}.', { shown: LATEST, all: failures.data.length })}
                  </p>
                )}
              </>
            )}
          </Section>
          <Section
            title={t('Jobs')}
            busy={jobs.isPending}
            actions={
              <Button size="xs" variant="subtle" renderRoot={(props) => <Link to="/admin/jobs" {...props} />}>
                {t('All jobs')}
              </Button>
            }
          >
            {jobs.isError && <Problem error={jobs.error} retry={() => void jobs.refetch()} />}
            <JobStrip jobs={jobs.data?.items} />
          </Section>
          <Section
            title={t('Activity')}
            busy={activity.isPending}
            actions={
              <Button
                size="xs"
                variant="subtle"
                renderRoot={(props) => <Link to="/admin/activity" {...props} />}
              >
                {t('All activity')}
              </Button>
            }
          >
            {activity.isError && <Problem error={activity.error} retry={() => void activity.refetch()} />}
            <ActivityTable entries={activity.data?.items} />
          </Section>
        </>
      )}
    </>
  );
}
