import type { AdminApp, LibraryStatus } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconBooks } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import type { ListSearch } from '../../search/list-search.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { everyLabel } from '../frame/interval-labels.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { PickFilter } from '../frame/lists/pick-filter.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { Whole } from '../frame/whole.tsx';
import { nameOfUser, pickUsers } from '../people/user-lookup.ts';
import { discoveryLabel, scanLabel } from './discovery-labels.ts';
import { LauncherAccess } from './launcher-access.tsx';
import { Rules } from './rules.tsx';
import { Unpublished } from './unpublished.tsx';

/** Refresh interval. Hosts fetch scans every 60 s and report a few seconds later. */
const REFRESH_MS = 3_000;
/** Largest page size of the server. A larger library shows the first titles. */
const MAX_APPS = 1000;

const SCAN_COLUMNS: readonly Column<LibraryStatus['recent_scans'][number]>[] = [
  {
    head: msg('Person'),
    kind: 'short',
    cell: (scan) => (
      <Link to="/admin/users" search={{ q: scan.user }} className={styles.nameLink}>
        {scan.user}
      </Link>
    ),
  },
  {
    head: msg('Host'),
    kind: 'short',
    cell: (scan) => (
      <Link to="/admin/hosts" search={{ q: scan.host }} className={styles.nameLink}>
        {scan.host}
      </Link>
    ),
  },
  {
    head: msg('State'),
    cell: (scan) =>
      scan.state === 'reported' ? (
        <StateChip tone={scan.error === '' ? 'success' : 'warning'}>
          {scan.error === '' ? t('Done') : t('In part')}
        </StateChip>
      ) : (
        <StateChip tone="danger">{t('Failed')}</StateChip>
      ),
  },
  { head: msg('Ended'), cell: (scan) => <RelativeTime at={scan.completed_at} /> },
  { head: msg('Found'), kind: 'number', cell: (scan) => scan.observed },
  { head: msg('New'), kind: 'number', cell: (scan) => scan.created },
  { head: msg('Kept out'), kind: 'number', cell: (scan) => scan.suppressed },
  { head: msg('Access given'), kind: 'number', cell: (scan) => scan.granted },
  { head: msg('Access removed'), kind: 'number', cell: (scan) => scan.revoked },
  { head: msg('Error'), kind: 'wrap', cell: (scan) => scan.error },
];

export type DiscoverySearch = ListSearch<'app' | 'user'>;

/** Library discovery: its state, its scans, and rules about titles. */
export function DiscoveryPage(props: {
  search: DiscoverySearch;
  onSearch: (search: DiscoverySearch) => void;
}) {
  usePageTitle(t('Discovery'));
  const { search, onSearch } = props;
  const queryClient = useQueryClient();
  const query = useQuery({
    queryKey: adminKeys.libraryStatus,
    queryFn: ({ signal }) => call('library.status', { signal }),
    refetchInterval: REFRESH_MS,
  });
  const apps = useQuery({
    queryKey: adminKeys.libraryApps,
    queryFn: ({ signal }) => call('admin.apps.list', { query: { limit: MAX_APPS }, signal }),
  });
  const scan = useMutation({
    mutationFn: () =>
      call('library.scan', { body: { app_id: provider?.id ?? null, user_id: search.user ?? null } }),
    onMutate: () => notifications.clean(),
    onSuccess: (answer) => {
      notifications.show({ message: scanLabel(answer), autoClose: 8000 });
      return queryClient.invalidateQueries({ queryKey: adminKeys.libraryStatus });
    },
  });
  const status = query.data;
  const providers = apps.data?.items.filter((app) => app.library_provider !== '') ?? [];
  const provider = providers.find((app) => app.id === search.app) ?? providers[0];
  // The choice of who may use a launcher is shown only at the oldest app of a provider, because it applies to this app.
  // The oldest app is last in the list.
  const isOldest =
    provider?.id === providers.findLast((app) => app.library_provider === provider?.library_provider)?.id;
  return (
    <>
      <PageHead
        title={t('Discovery')}
        lead={status === undefined ? t('Asking the service') : discoveryLabel(status)}
        actions={
          <Button variant="filled" loading={scan.isPending} onClick={() => scan.mutate()}>
            {search.user === undefined ? t('Search all homes now') : t('Search the homes of one person now')}
          </Button>
        }
      />
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {scan.isError && <Problem error={scan.error} />}
      <Whole>
        <div className={styles.filters}>
          {providers.length > 1 && (
            <SegmentedChoice
              label={t('Launcher')}
              value={provider?.id ?? ''}
              options={providers.map(({ id, name }) => ({ value: id, label: name }))}
              onChange={(app) => onSearch({ ...search, app })}
            />
          )}
          <PickFilter
            label={t('Homes of')}
            all={t('everybody')}
            kind="users"
            id={search.user}
            find={pickUsers}
            nameOf={nameOfUser}
            onPick={(user) => {
              const { user: _former, ...others } = search;
              onSearch(user === undefined ? others : { ...others, user });
            }}
          />
        </div>
        {status === undefined ? (
          !query.isError && <Skeleton height={160} radius={14} />
        ) : (
          <Status status={status} providers={providers} />
        )}
        {apps.isError && <Problem error={apps.error} retry={() => void apps.refetch()} />}
        {provider !== undefined && (
          <>
            {isOldest && <LauncherAccess key={`access ${provider.id}`} app={provider} />}
            <Unpublished key={`titles ${provider.id}`} app={provider} apps={apps.data?.items ?? []} />
            <Rules key={`rules ${provider.id}`} app={provider} apps={apps.data?.items ?? []} />
          </>
        )}
        {apps.isSuccess && provider === undefined && <NoProvider />}
        {status !== undefined && status.recent_scans.length > 0 && (
          <Section title={t('Last searches')}>
            <ListTable
              label={t('Last searches')}
              columns={SCAN_COLUMNS}
              rows={status.recent_scans}
              rowKey={(scan) => `${scan.completed_at} ${scan.user} ${scan.host}`}
            />
          </Section>
        )}
      </Whole>
    </>
  );
}

function Status({ status, providers }: { status: LibraryStatus; providers: readonly AdminApp[] }) {
  const { scans } = status;
  return (
    <>
      {status.inert_reason !== '' && (
        <p className={styles.note}>
          {status.inert_reason}{' '}
          {status.enabled
            ? t('Titles that were found stay as they are.')
            : t(
                'Titles that were found stay as they are, and their launchers are switched off until discovery is on again.',
              )}{' '}
          <Link to="/admin/settings">{t('Open the settings')}</Link>
        </p>
      )}
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>{t('State')}</dt>
          <dd>
            {status.inert_reason === '' ? (
              <StateChip tone="success">{t('Working')}</StateChip>
            ) : (
              <StateChip tone="neutral">{status.enabled ? t('Does nothing') : t('Switched off')}</StateChip>
            )}
          </dd>
          <dt>{t('A home is searched')}</dt>
          <dd>
            {setByLabel(
              everyLabel(status.scan_interval_secs),
              status.interval_overridden_by_env && 'SERVICE_LIBRARY_SCAN_INTERVAL',
            )}
          </dd>
          <dt>{t('Launchers')}</dt>
          <dd>
            {providers.length === 0
              ? t('none')
              : providers.map((app, index) => (
                  <span key={app.id}>
                    {index > 0 && ', '}
                    <Link to="/admin/apps/$id" params={{ id: app.id }}>
                      {app.name}
                    </Link>
                  </span>
                ))}
          </dd>
          <dt>{t('The store is asked')}</dt>
          <dd>
            {setByLabel(
              status.appdetails_lookup ? t('about each title') : t('never'),
              status.appdetails_overridden_by_env && 'SERVICE_STEAM_APPDETAILS_LOOKUP',
            )}
          </dd>
          <dt>{t('Last search')}</dt>
          <dd>
            <RelativeTime at={status.last_scan_completed_at} />
          </dd>
          <dt>{t('Searches')}</dt>
          <dd className="tabular">
            {t('{waiting} waiting, {running} under way, {done} done, {failed} failed', {
              waiting: scans.pending,
              running: scans.claimed,
              done: scans.reported,
              failed: scans.failed,
            })}
          </dd>
        </dl>
      </div>
    </>
  );
}

/** @param variable of the environment that sets the value; false: the settings set it */
const setByLabel = (value: string, variable: string | false): string =>
  variable === false ? value : t('{value}, set by {variable}', { value, variable });

/** Links to the images, because a launcher's app is created from its image. */
function NoProvider() {
  return (
    <EmptyState
      icon={IconBooks}
      title={t('No launcher yet')}
      action={
        <Button renderRoot={(root) => <Link to="/admin/images" {...root} />}>{t('Open the images')}</Button>
      }
    >
      {t(
        'A launcher is an app in which people install games, such as Steam. When discovery is switched on, the launchers are created automatically from images of the catalog.',
      )}
    </EmptyState>
  );
}
