import type { CatalogImage, ImageCatalog } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPackage, IconSearch } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { saidByServer } from '../../api/server-sentences.ts';
import { bytesLabel } from '../../components/bytes-labels.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, rich, t } from '../../i18n/translate.ts';
import type { ListSearch } from '../../search/list-search.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { SearchField } from '../frame/lists/paged-list.tsx';
import { PageHead } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { imageState, presenceLabel, presenceOf, SYNC_SENTENCES } from './image-labels.ts';
import { useImages } from './use-images.ts';

const COLUMNS: readonly Column<CatalogImage>[] = [
  {
    head: msg('Image'),
    kind: 'name',
    sort: 'name',
    by: (image) => image.display_name,
    cell: (image) => (
      <Link
        to="/admin/images/$id"
        params={{ id: image.id }}
        className={styles.nameLink}
        title={image.description}
      >
        {image.display_name}
      </Link>
    ),
  },
  {
    head: msg('State'),
    sort: 'state',
    by: (image) => imageState(image)[1],
    cell: (image) => {
      const [tone, label] = imageState(image);
      return <StateChip tone={tone}>{label}</StateChip>;
    },
  },
  {
    head: msg('In use'),
    kind: 'short',
    sort: 'version',
    by: (image) => image.installed_version,
    cell: (image) => image.installed_version ?? <span className={styles.dim}>{t('none')}</span>,
  },
  { head: msg('In the catalog'), kind: 'short', cell: (image) => image.version },
  {
    head: msg('Hosts'),
    kind: 'number',
    sort: 'hosts',
    by: (image) => presenceOf(image).ready.length,
    cell: presenceLabel,
  },
  {
    head: msg('Size'),
    kind: 'number',
    sort: 'size',
    by: (image) => presenceOf(image).hostBytes,
    cell: (image) => {
      const { hostBytes } = presenceOf(image);
      return hostBytes === 0 ? '–' : bytesLabel(hostBytes);
    },
  },
];
const FILTERS = [
  { value: 'all', label: msg('All') },
  { value: 'installed', label: msg('Installed') },
  { value: 'newer', label: msg('Updates') },
  { value: 'failed', label: msg('Failed') },
] as const;
type Filter = (typeof FILTERS)[number]['value'];

export type ImagesSearch = ListSearch<'q' | 'state' | 'sort'>;

/** The image catalog, with its origin and the state on each host. */
export function ImagesPage(props: { search: ImagesSearch; onSearch: (search: ImagesSearch) => void }) {
  usePageTitle(t('Images'));
  const { search, onSearch } = props;
  const query = useImages();
  const queryClient = useQueryClient();
  const catalog = query.data;
  const sync = useMutation({
    mutationFn: () => call('images.sync', {}),
    onMutate: () => notifications.clean(),
    onSuccess: (fetched) => {
      queryClient.setQueryData(adminKeys.images, fetched);
      if (fetched.sync_error === null)
        notifications.show({
          message: plural(fetched.images.length, 'The catalog has {n} image', 'The catalog has {n} images'),
          autoClose: 5000,
        });
    },
  });
  const state = FILTERS.find((filter) => filter.value === search.state)?.value ?? 'all';
  const text = (search.q ?? '').toLowerCase();
  const images = catalog?.images.filter(
    (image) => fits(image, state) && `${image.display_name} ${image.id}`.toLowerCase().includes(text),
  );
  const fetchNow = (
    <Button variant="filled" loading={sync.isPending} onClick={() => sync.mutate()}>
      {t('Fetch the catalog')}
    </Button>
  );
  const isNew = catalog?.images.length === 0;
  return (
    <>
      <PageHead
        title={t('Images')}
        lead={catalog === undefined ? t('Asking for the catalog') : <CatalogLead catalog={catalog} />}
        actions={isNew ? undefined : fetchNow}
      />
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {sync.isError && <Problem error={sync.error} />}
      {catalog?.sync_error != null && (
        <p className={styles.note} role="status">
          {catalog.fetched_at === null
            ? t('The catalog could not be fetched.')
            : t('The catalog could not be fetched; the list shows the previous one.')}{' '}
          {saidByServer(catalog.sync_error, SYNC_SENTENCES)}
        </p>
      )}
      {isNew ? (
        <EmptyState icon={IconPackage} title={t('No images yet')} action={fetchNow}>
          {t(
            "An image contains an app with all it needs, for the container engine of the hosts. The catalog is a file in the repository that the server's variable SERVICE_IMAGE_CATALOG_REPO names. Set it and start the server again before you fetch the catalog.",
          )}
        </EmptyState>
      ) : (
        <>
          <div className={styles.filters}>
            <SegmentedChoice
              label={t('State')}
              value={state}
              options={FILTERS.map((option) => ({ ...option, label: t(option.label) }))}
              onChange={(next) => onSearch({ ...search, state: next })}
            />
            <SearchField
              label={t('Find an image')}
              hint={t('Name or id')}
              value={search.q ?? ''}
              onChange={(q) => onSearch({ ...search, q })}
            />
          </div>
          {images?.length === 0 ? (
            <EmptyState icon={IconSearch} title={t('No such image')}>
              {t('Nothing matches the filter and the search text.')}
            </EmptyState>
          ) : (
            <ListTable
              label={t('Images')}
              columns={COLUMNS}
              rows={images}
              rowKey={(image) => image.id}
              order={{ sort: search.sort, onSort: (sort) => onSearch({ ...search, sort: sort ?? '' }) }}
              loadingRows={4}
            />
          )}
        </>
      )}
      {catalog?.manifest_provenance != null && <Provenance catalog={catalog} />}
    </>
  );
}

function CatalogLead({ catalog }: { catalog: ImageCatalog }) {
  const installed = catalog.images.filter((image) => image.installed).length;
  return (
    <>
      {plural(
        catalog.images.length,
        '{n} image in the catalog, {installed} installed.',
        '{n} images in the catalog, {installed} installed.',
        { installed },
      )}{' '}
      {catalog.fetched_at === null
        ? t('Never fetched.')
        : rich('Fetched {time}.', { time: <RelativeTime key="time" at={catalog.fetched_at} /> })}
    </>
  );
}

/** The source of the catalog, for people who want to verify it. */
function Provenance({ catalog }: { catalog: ImageCatalog }) {
  const from = catalog.manifest_provenance;
  if (from === null) return null;
  return (
    <Disclosure label={t('Where the catalog comes from')}>
      <p className={styles.dim}>
        {t("The variable SERVICE_IMAGE_CATALOG_REPO in the server's environment chooses the catalog.")}
      </p>
      <dl className={styles.facts}>
        <dt>{t('Address')}</dt>
        <dd className={styles.mono}>{from.url}</dd>
        <dt>{t('Branch or tag')}</dt>
        <dd className={styles.mono}>{from.ref}</dd>
        <dt>{t('Commit')}</dt>
        <dd className={styles.mono}>{from.commit_sha ?? t('not known')}</dd>
        <dt>SHA-256</dt>
        <dd className={styles.mono}>{from.sha256}</dd>
        <dt>{t('Last change')}</dt>
        <dd>
          <RelativeTime at={from.changed_at} />
        </dd>
      </dl>
    </Disclosure>
  );
}

function fits(image: CatalogImage, filter: Filter): boolean {
  if (filter === 'installed') return image.installed;
  if (filter === 'newer') return image.update_available;
  return filter === 'all' || presenceOf(image).failed.length > 0;
}
