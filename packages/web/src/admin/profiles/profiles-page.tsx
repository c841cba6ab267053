import type { LaunchProfile } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconPlus, IconStack2 } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead, Section } from '../frame/page-head.tsx';
import { PolicyForm } from './policy-form.tsx';
import { isFault, usesLabel, VISIBILITY_LABELS, warningLabel } from './profile-labels.ts';
import { Rungs } from './rung-table.tsx';
import { useLaunchProfiles, useProfilePolicy, useRungs } from './use-profiles.ts';

const COLUMNS: readonly Column<LaunchProfile>[] = [
  {
    head: msg('Launch profile'),
    kind: 'name',
    sort: 'name',
    by: (profile) => profile.display_name,
    cell: (profile) => (
      <Link to="/admin/profiles/$id" params={{ id: profile.id }} className={styles.nameLink}>
        {profile.display_name}
      </Link>
    ),
  },
  {
    head: msg('For'),
    sort: 'for',
    by: (profile) => t(VISIBILITY_LABELS[profile.visibility]),
    cell: (profile) => t(VISIBILITY_LABELS[profile.visibility]),
  },
  {
    head: msg('Chain'),
    cell: (profile) => (
      <ol className={styles.chain}>
        {profile.rungs.map(({ stream_profile: rung }) => (
          <li key={rung.id} title={rung.display_name}>
            {rung.id}
          </li>
        ))}
      </ol>
    ),
  },
  {
    head: msg('Default of'),
    cell: (profile) => usesLabel(profile.used_by) ?? <span className={styles.dim}>{t('nobody')}</span>,
  },
  {
    head: msg('Warnings'),
    cell: ({ warnings }) => <Warnings warnings={warnings.filter(isFault)} />,
  },
];

function Warnings({ warnings }: Pick<LaunchProfile, 'warnings'>) {
  if (warnings.length === 0) return <span className={styles.dim}>{t('none')}</span>;
  return (
    <span className={styles.warnings}>
      {warnings.map((warning) => (
        <span key={warning.code} title={warning.message}>
          <StateChip tone="warning">{warningLabel(warning)}</StateChip>
        </span>
      ))}
    </span>
  );
}

/** Policy, launch profiles and rungs. */
export function ProfilesPage() {
  usePageTitle(t('Profiles'));
  const profiles = useLaunchProfiles();
  const policy = useProfilePolicy();
  const items = profiles.data?.items;
  const rungs = useRungs();
  // The lists are shown together, because a list that is shown later would push down the lists below it.
  const isLoading = [profiles, policy, rungs].some((query) => query.isPending);
  const [search, setSearch] = useListSearch(['sort']);
  const add = (
    <Button
      variant="filled"
      leftSection={<IconPlus size={18} />}
      renderRoot={(props) => <Link to="/admin/new-profile" {...props} />}
    >
      {t('Add a launch profile')}
    </Button>
  );
  return (
    <>
      <PageHead
        title={t('Profiles')}
        lead={t(
          'A rung is one way to encode the picture: codec, size, frame rate and bitrate. A launch profile is a chain of rungs; a launch uses the first one that host and device support.',
        )}
        actions={items?.length === 0 ? undefined : add}
      />
      {isLoading ? (
        <Skeleton height={640} radius={14} />
      ) : (
        <>
          <Section title={t('Which one applies')} busy={policy.isPending}>
            {policy.isError && <Problem error={policy.error} retry={() => void policy.refetch()} />}
            {(policy.data === undefined || items === undefined) && !policy.isError && !profiles.isError && (
              <Skeleton height={160} radius={14} />
            )}
            {policy.data !== undefined && items !== undefined && (
              <PolicyForm policy={policy.data} profiles={items} />
            )}
          </Section>
          <Section title={t('Launch profiles')} folds busy={profiles.isPending}>
            {profiles.isError && <Problem error={profiles.error} retry={() => void profiles.refetch()} />}
            {items?.length === 0 ? (
              <EmptyState icon={IconStack2} title={t('No launch profiles')} action={add}>
                {t(
                  'Without a launch profile, each app streams with the size, frame rate and bitrate that it declares.',
                )}
              </EmptyState>
            ) : (
              <ListTable
                label={t('Launch profiles')}
                columns={COLUMNS}
                rows={items}
                rowKey={(profile) => profile.id}
                order={{ sort: search.sort, onSort: (sort) => setSearch({ sort: sort ?? '' }) }}
                loadingRows={6}
              />
            )}
          </Section>
          <Rungs />
        </>
      )}
    </>
  );
}
