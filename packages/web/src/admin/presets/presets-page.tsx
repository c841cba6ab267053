import type { RuntimePreset } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconPlus, IconTemplate } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { usePresets } from './use-presets.ts';

const COLUMNS: readonly Column<RuntimePreset>[] = [
  {
    head: msg('Preset'),
    kind: 'name',
    sort: 'name',
    by: (preset) => preset.name,
    cell: (preset) => (
      <Link to="/admin/presets/$id" params={{ id: preset.id }} className={styles.nameLink}>
        {preset.name}
      </Link>
    ),
  },
  { head: msg('Description'), kind: 'name', cell: (preset) => preset.description },
  {
    head: msg('Container image'),
    kind: 'name',
    sort: 'image',
    by: (preset) => preset.image || null,
    cell: (preset) =>
      preset.image === '' ? (
        <span className={styles.dim}>{t('none')}</span>
      ) : (
        <span className={styles.mono}>{preset.image}</span>
      ),
  },
  {
    head: msg('Used by'),
    sort: 'used',
    by: (preset) => preset.used_by.length,
    cell: (preset) =>
      preset.used_by.length === 0 ? (
        <span className={styles.dim}>{t('no app')}</span>
      ) : (
        <span title={preset.used_by.map((app) => app.name).join(', ')}>
          {plural(preset.used_by.length, '{n} app', '{n} apps')}
        </span>
      ),
  },
  {
    head: msg('Changed'),
    sort: 'changed',
    by: (preset) => preset.updated_at,
    cell: (preset) => <RelativeTime at={preset.updated_at} />,
  },
];

/** Runtime presets. */
export function PresetsPage() {
  usePageTitle(t('Presets'));
  const query = usePresets();
  const [search, setSearch] = useListSearch(['sort']);
  const presets = query.data?.items;
  const add = (
    <Button
      variant="filled"
      leftSection={<IconPlus size={18} />}
      renderRoot={(props) => <Link to="/admin/presets/new" {...props} />}
    >
      {t('Add a preset')}
    </Button>
  );
  return (
    <>
      <PageHead
        title={t('Presets')}
        lead={t('Common values of several apps. The app’s own fields override them.')}
        actions={presets?.length === 0 ? undefined : add}
      />
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {presets?.length === 0 ? (
        <EmptyState icon={IconTemplate} title={t('No presets yet')} action={add}>
          {t(
            'A preset stores values that several apps share: an image, arguments, variables, mounts, a home.',
          )}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Presets')}
          columns={COLUMNS}
          rows={presets}
          rowKey={(preset) => preset.id}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ sort: sort ?? '' }) }}
        />
      )}
    </>
  );
}
