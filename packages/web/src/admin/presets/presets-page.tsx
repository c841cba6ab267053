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
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { sortRows } from '../frame/lists/table-sort.ts';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { usePresets } from './use-presets.ts';

const COLUMNS: readonly Column[] = [
  { label: msg('Preset'), sort: 'name' },
  { label: msg('Description') },
  { label: msg('Container image'), sort: 'image' },
  { label: msg('Used by'), sort: 'used' },
  { label: msg('Changed'), sort: 'changed' },
];

const SORT_KEYS = {
  name: (preset: RuntimePreset) => preset.name,
  image: (preset: RuntimePreset) => preset.image || null,
  used: (preset: RuntimePreset) => preset.used_by.length,
  changed: (preset: RuntimePreset) => preset.updated_at,
};

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
        <DataTable
          label={t('Presets')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ sort: sort ?? '' }) }}
        >
          {presets === undefined && <SkeletonRows rows={3} columns={COLUMNS.length} />}
          {sortRows(presets ?? [], search.sort, SORT_KEYS).map((preset) => (
            <tr key={preset.id}>
              <td className={styles.nameCell}>
                <Link to="/admin/presets/$id" params={{ id: preset.id }} className={styles.nameLink}>
                  {preset.name}
                </Link>
              </td>
              <td className={styles.nameCell}>{preset.description}</td>
              <td className={styles.nameCell}>
                {preset.image === '' ? (
                  <span className={styles.dim}>{t('none')}</span>
                ) : (
                  <span className={styles.mono}>{preset.image}</span>
                )}
              </td>
              <td>
                {preset.used_by.length === 0 ? (
                  <span className={styles.dim}>{t('no app')}</span>
                ) : (
                  <span title={preset.used_by.map((app) => app.name).join(', ')}>
                    {plural(preset.used_by.length, '{n} app', '{n} apps')}
                  </span>
                )}
              </td>
              <td>
                <RelativeTime at={preset.updated_at} />
              </td>
            </tr>
          ))}
        </DataTable>
      )}
    </>
  );
}
