import type { CatalogImage } from '@footlight/protocol/rest';
import { Button, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { bytesLabel } from '../../components/bytes-labels.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, rich, t } from '../../i18n/translate.ts';
import { useLiveSessions } from '../fleet/use-fleet.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { AbsentRecord } from '../frame/record-page.tsx';
import { imageState, onHostState, presenceOf } from './image-labels.ts';
import { useImageAction, useImages } from './use-images.ts';

const back = () => ({ to: '/admin/images', label: t('Images') }) as const;
const COLUMNS: readonly Column<CatalogImage['hosts'][number]>[] = [
  {
    head: msg('Host'),
    kind: 'name',
    cell: (host) => (
      <Link to="/admin/hosts/$id" params={{ id: host.host_id }} className={styles.nameLink}>
        {host.node_name}
      </Link>
    ),
  },
  {
    head: msg('State'),
    cell: (host) => {
      const [tone, label] = onHostState(host);
      return <StateChip tone={tone}>{label}</StateChip>;
    },
  },
  {
    head: msg('Progress'),
    kind: 'wrap',
    cell: (host) =>
      host.error ??
      ((host.state === 'pulling' || host.state === 'building') && (
        // The margins take back the padding of a long text, so that the row keeps its height.
        <div style={{ margin: '-8px 0', whiteSpace: 'nowrap' }}>
          {host.progress_pct === null ? (
            <span className={styles.dim}>{t('begins')}</span>
          ) : (
            <span className={styles.percent}>
              <progress
                max={100}
                value={host.progress_pct}
                aria-label={t('Progress on {host}', { host: host.node_name })}
              />
              <span className="tabular">{host.progress_pct} %</span>
            </span>
          )}
        </div>
      )),
  },
  { head: msg('Version'), cell: (host) => host.version ?? '' },
  {
    head: msg('Size'),
    kind: 'number',
    cell: (host) => (host.bytes === null ? '' : bytesLabel(host.bytes)),
  },
];

/** One image: its description, its state on each host, and its actions. */
export function ImagePage({ id }: { id: string }) {
  const query = useImages();
  const image = query.data?.images.find((each) => each.id === id);
  usePageTitle(image?.display_name ?? t('Image'));
  if (image === undefined) {
    // The list contains every image, so an id that is not in it does not exist.
    const gone = query.isSuccess
      ? { isError: true, error: new ApiFailure(404, 'not_found', ''), refetch: query.refetch }
      : query;
    return <AbsentRecord label={t('Image')} back={back()} query={gone} />;
  }
  return <LoadedImage image={image} />;
}

function LoadedImage({ image }: { image: CatalogImage }) {
  const action = useImageAction();
  const [removing, setRemoving] = useState(false);
  const [installing, setInstalling] = useState(false);
  const [tone, label] = imageState(image);
  const { bytes } = presenceOf(image);
  const use = useUseOf(image);
  const isBusy = (name: string) => action.isPending && action.variables.action === name;
  return (
    <>
      <PageHead
        title={image.display_name}
        lead={image.description}
        back={back()}
        actions={
          image.installed ? (
            <>
              {image.update_available && (
                <Button
                  variant="filled"
                  disabled={image.pinned}
                  loading={isBusy('update')}
                  onClick={() => action.mutate({ image, action: 'update' })}
                >
                  {t('Update to {version}', { version: image.version })}
                </Button>
              )}
              <Button
                loading={isBusy('pin') || isBusy('unpin')}
                onClick={() => action.mutate({ image, action: image.pinned ? 'unpin' : 'pin' })}
              >
                {image.pinned ? t('Unpin') : t('Pin this version')}
              </Button>
              <Button color="danger" onClick={() => setRemoving(true)}>
                {t('Uninstall')}
              </Button>
            </>
          ) : (
            <Button variant="filled" onClick={() => setInstalling(true)}>
              {t('Install')}
            </Button>
          )
        }
      />
      {action.isError && !removing && !installing && <Problem error={action.error} />}
      {image.pinned && image.update_available && (
        <p className={styles.note}>
          {t('{newer} is newer. The image is pinned, so it stays at {installed} until you unpin it.', {
            newer: image.version,
            installed: image.installed_version ?? '',
          })}
        </p>
      )}
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>{t('State')}</dt>
          <dd>
            <StateChip tone={tone}>{label}</StateChip>
          </dd>
          <dt>{t('In use')}</dt>
          <dd>{image.installed_version ?? t('none')}</dd>
          <dt>{t('In the catalog')}</dt>
          <dd>{image.version}</dd>
          <dt>{t('Made by')}</dt>
          <dd>
            {image.kind === 'prebuilt'
              ? t('Its publisher; hosts pull it')
              : t('Each host, from a Dockerfile')}
          </dd>
          {image.installed && (
            <>
              <dt>{t('Hosts fetch it')}</dt>
              <dd>{image.lazy ? t('With the first launch there') : t('Immediately')}</dd>
              <dt>{t('Used by')}</dt>
              <dd>{use === undefined ? t('not known') : appLabel(use.apps)}</dd>
            </>
          )}
          {image.runtime_preset_id !== null && (
            <>
              <dt>{t('Preset')}</dt>
              <dd>
                <Link to="/admin/presets/$id" params={{ id: image.runtime_preset_id }}>
                  {t('How its apps are started')}
                </Link>
              </dd>
            </>
          )}
          {image.library_provider !== null && (
            <>
              <dt>{t('Games in it')}</dt>
              <dd>
                {rich('Found by {discovery}', {
                  discovery: (
                    <Link key="discovery" to="/admin/discovery">
                      {t('discovery')}
                    </Link>
                  ),
                })}
              </dd>
            </>
          )}
          <dt>{t('On disks')}</dt>
          <dd>{bytes === 0 ? t('not known') : bytesLabel(bytes)}</dd>
          {image.registry_digest !== null && (
            <>
              <dt>{t('Digest')}</dt>
              <dd className={styles.mono}>{image.registry_digest}</dd>
            </>
          )}
          <dt>{t('Id')}</dt>
          <dd className={styles.mono}>{image.id}</dd>
        </dl>
      </div>
      <Section title={t('Hosts')}>
        {image.hosts.length === 0 && <p className={styles.dim}>{t('No host has enrolled yet.')}</p>}
        {image.hosts.length > 0 && (
          <ListTable
            label={t('Hosts of the image')}
            columns={COLUMNS}
            rows={image.hosts}
            rowKey={(host) => host.host_id}
          />
        )}
      </Section>
      <InstallDialog
        image={image}
        opened={installing}
        pending={isBusy('install') || isBusy('installLazily')}
        error={action.error}
        onInstall={(lazy) =>
          action.mutate(
            { image, action: lazy ? 'installLazily' : 'install' },
            { onSuccess: () => setInstalling(false) },
          )
        }
        onClose={() => {
          setInstalling(false);
          action.reset();
        }}
      />
      <ConfirmDialog
        opened={removing}
        title={t('Uninstall {image}?', { image: image.display_name })}
        action={plural(presenceOf(image).ready.length, 'Remove it from {n} host', 'Remove it from {n} hosts')}
        pending={isBusy('uninstall')}
        error={action.error}
        onConfirm={() =>
          action.mutate({ image, action: 'uninstall' }, { onSuccess: () => setRemoving(false) })
        }
        onClose={() => {
          setRemoving(false);
          action.reset();
        }}
      >
        <UninstallEffect image={image} use={use} />
      </ConfirmDialog>
    </>
  );
}

/** Apps of an image's preset, and how many sessions they run. */
interface ImageUse {
  apps: readonly { id: string; name: string }[];
  sessions: number;
}

/** undefined: the use is not known yet, or the image has no preset. */
function useUseOf({ runtime_preset_id }: CatalogImage): ImageUse | undefined {
  const preset = useQuery({
    queryKey: adminKeys.preset(runtime_preset_id ?? ''),
    queryFn: ({ signal }) => call('runtimePresets.read', { params: { id: runtime_preset_id ?? '' }, signal }),
    enabled: runtime_preset_id !== null,
  });
  const sessions = useLiveSessions();
  const apps = preset.data?.runtime_preset.used_by;
  if (apps === undefined) return undefined;
  const ids = new Set(apps.map((app) => app.id));
  const running = sessions.data?.items.filter(
    (session) => session.app_id !== null && ids.has(session.app_id),
  );
  return { apps, sessions: running?.length ?? 0 };
}

const appLabel = (apps: ImageUse['apps']): string =>
  apps.length === 0 ? t('No app') : apps.map((app) => app.name).join(', ');

/** Numbers of records that are deleted together with an image. */
export function UninstallEffect({ image, use }: { image: CatalogImage; use: ImageUse | undefined }) {
  const { ready, bytes } = presenceOf(image);
  return (
    <>
      <p>
        {bytes === 0
          ? plural(
              ready.length,
              'It is deleted on {n} host. Its preset stays, and a later installation uses it again.',
              'It is deleted on {n} hosts. Its preset stays, and a later installation uses it again.',
            )
          : plural(
              ready.length,
              'It is deleted on {n} host, which frees {size}. Its preset stays, and a later installation uses it again.',
              'It is deleted on {n} hosts, which frees {size}. Its preset stays, and a later installation uses it again.',
              { size: bytesLabel(bytes) },
            )}
      </p>
      {use !== undefined && use.apps.length > 0 && (
        <p>
          {plural(use.apps.length, '{n} app uses it: {apps}.', '{n} apps use it: {apps}.', {
            apps: appLabel(use.apps),
          })}{' '}
          {image.kind === 'prebuilt'
            ? t('Their next launch on a host fetches it again, which takes minutes.')
            : t('They cannot be launched until it is installed again.')}
        </p>
      )}
      {use !== undefined && use.sessions > 0 && (
        <p>
          {plural(
            use.sessions,
            '{n} of their sessions continues; their hosts keep the image.',
            '{n} of their sessions continue; their hosts keep the image.',
          )}
        </p>
      )}
    </>
  );
}

function InstallDialog(props: {
  image: CatalogImage;
  opened: boolean;
  pending: boolean;
  error: unknown;
  onInstall: (lazy: boolean) => void;
  onClose: () => void;
}) {
  const { image } = props;
  const [lazy, setLazy] = useState(false);
  return (
    <ConfirmDialog
      opened={props.opened}
      title={t('Install {image} {version}?', { image: image.display_name, version: image.version })}
      action={
        lazy
          ? t('Install for later')
          : plural(image.hosts.length, 'Install on {n} host', 'Install on {n} hosts')
      }
      harmless
      pending={props.pending}
      error={props.error}
      onConfirm={() => props.onInstall(lazy)}
      onClose={props.onClose}
    >
      <p>
        {lazy
          ? t('Each host fetches it with the first launch there, which then takes minutes.')
          : plural(
              image.hosts.length,
              '{n} host fetches it now; offline hosts fetch it when they reconnect.',
              '{n} hosts fetch it now; offline hosts fetch it when they reconnect.',
            )}
        {image.kind === 'template' &&
          ` ${t('The catalog has no finished image, only a Dockerfile, so each host builds the image itself.')}`}
      </p>
      <Checkbox
        label={t('Fetch it only at the first launch on each host')}
        checked={lazy}
        onChange={(event) => setLazy(event.currentTarget.checked)}
      />
    </ConfirmDialog>
  );
}
