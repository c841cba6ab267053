import type { CatalogImage } from '@footlight/protocol/rest';
import { Button, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { bytesLabel } from '../../i18n/bytes-labels.ts';
import { useLiveSessions } from '../fleet/use-fleet.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { countLabel } from '../frame/quantity-labels.ts';
import { AbsentRecord } from '../frame/record-page.tsx';
import { imageState, onHostState, presenceOf } from './image-labels.ts';
import { useImageAction, useImages } from './use-images.ts';

const BACK = { to: '/admin/images', label: 'Images' } as const;
const COLUMNS: readonly Column[] = [
  { label: 'Host' },
  { label: 'State' },
  { label: 'Progress' },
  { label: 'Version' },
  { label: 'Size', kind: 'number' },
];

/** One image: its description, its state on each host, and its actions. */
export function ImagePage({ id }: { id: string }) {
  const query = useImages();
  const image = query.data?.images.find((each) => each.id === id);
  usePageTitle(image?.display_name ?? 'Image');
  if (image === undefined) {
    // The list contains every image, so an id that is not in it does not exist.
    const gone = query.isSuccess
      ? { isError: true, error: new ApiFailure(404, 'not_found', ''), refetch: query.refetch }
      : query;
    return <AbsentRecord label="Image" back={BACK} query={gone} />;
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
        back={BACK}
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
                  Update to {image.version}
                </Button>
              )}
              <Button
                loading={isBusy('pin') || isBusy('unpin')}
                onClick={() => action.mutate({ image, action: image.pinned ? 'unpin' : 'pin' })}
              >
                {image.pinned ? 'Unpin' : 'Pin this version'}
              </Button>
              <Button color="danger" onClick={() => setRemoving(true)}>
                Uninstall
              </Button>
            </>
          ) : (
            <Button variant="filled" onClick={() => setInstalling(true)}>
              Install
            </Button>
          )
        }
      />
      {action.isError && !removing && !installing && <Problem error={action.error} />}
      {image.pinned && image.update_available && (
        <p className={styles.note}>
          {image.version} is newer. The image is pinned, so it stays at {image.installed_version} until you
          unpin it.
        </p>
      )}
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>State</dt>
          <dd>
            <StateChip tone={tone}>{label}</StateChip>
          </dd>
          <dt>In use</dt>
          <dd>{image.installed_version ?? 'none'}</dd>
          <dt>In the catalog</dt>
          <dd>{image.version}</dd>
          <dt>Made by</dt>
          <dd>
            {image.kind === 'prebuilt' ? 'Its publisher; hosts pull it' : 'Each host, from a Dockerfile'}
          </dd>
          {image.installed && (
            <>
              <dt>Hosts fetch it</dt>
              <dd>{image.lazy ? 'With the first launch there' : 'At once'}</dd>
              <dt>Used by</dt>
              <dd>{use === undefined ? 'not known' : appLabel(use.apps)}</dd>
            </>
          )}
          {image.runtime_preset_id !== null && (
            <>
              <dt>Preset</dt>
              <dd>
                <Link to="/admin/presets/$id" params={{ id: image.runtime_preset_id }}>
                  How its apps are started
                </Link>
              </dd>
            </>
          )}
          {image.library_provider !== null && (
            <>
              <dt>Games in it</dt>
              <dd>
                Found by <Link to="/admin/discovery">discovery</Link>
              </dd>
            </>
          )}
          <dt>On disks</dt>
          <dd>{bytes === 0 ? 'not known' : bytesLabel(bytes)}</dd>
          {image.registry_digest !== null && (
            <>
              <dt>Digest</dt>
              <dd className={styles.mono}>{image.registry_digest}</dd>
            </>
          )}
          <dt>Id</dt>
          <dd className={styles.mono}>{image.id}</dd>
        </dl>
      </div>
      <Section title="Hosts">
        {image.hosts.length === 0 && <p className={styles.dim}>No host has enrolled yet.</p>}
        {image.hosts.length > 0 && (
          <DataTable label="Hosts of the image" columns={COLUMNS}>
            {image.hosts.map((host) => (
              <HostRow key={host.host_id} host={host} />
            ))}
          </DataTable>
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
        title={`Uninstall ${image.display_name}?`}
        action={`Remove it from ${countLabel(presenceOf(image).ready.length, 'host')}`}
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

function HostRow({ host }: { host: CatalogImage['hosts'][number] }) {
  const [tone, label] = onHostState(host);
  const isBusy = host.state === 'pulling' || host.state === 'building';
  return (
    <tr>
      <td className={styles.nameCell}>
        <Link to="/admin/hosts/$id" params={{ id: host.host_id }} className={styles.nameLink}>
          {host.node_name}
        </Link>
      </td>
      <td>
        <StateChip tone={tone}>{label}</StateChip>
      </td>
      <td className={host.error === null ? undefined : styles.wrapCell}>
        {host.error}
        {isBusy && host.progress_pct === null && <span className={styles.dim}>begins</span>}
        {isBusy && host.progress_pct !== null && (
          <span className={styles.percent}>
            <progress max={100} value={host.progress_pct} aria-label={`Progress on ${host.node_name}`} />
            <span className="tabular">{host.progress_pct} %</span>
          </span>
        )}
      </td>
      <td>{host.version ?? ''}</td>
      <td className={styles.number}>{host.bytes === null ? '' : bytesLabel(host.bytes)}</td>
    </tr>
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
  apps.length === 0 ? 'No app' : apps.map((app) => app.name).join(', ');

/** Numbers of records that are deleted together with an image. */
export function UninstallEffect({ image, use }: { image: CatalogImage; use: ImageUse | undefined }) {
  const { ready, bytes } = presenceOf(image);
  return (
    <>
      <p>
        It is deleted on {countLabel(ready.length, 'host')}
        {bytes === 0 ? '' : `, which frees ${bytesLabel(bytes)}`}. Its preset stays, and a later installation
        uses it again.
      </p>
      {use !== undefined && use.apps.length > 0 && (
        <p>
          {countLabel(use.apps.length, 'app uses', 'apps use')} it: {appLabel(use.apps)}.{' '}
          {image.kind === 'prebuilt'
            ? 'Their next launch on a host fetches it again, which takes minutes.'
            : 'They cannot be launched until it is installed again.'}
        </p>
      )}
      {use !== undefined && use.sessions > 0 && (
        <p>
          {countLabel(use.sessions, 'of their sessions continues', 'of their sessions continue')}; their hosts
          keep the image.
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
      title={`Install ${image.display_name} ${image.version}?`}
      action={lazy ? 'Install for later' : `Install on ${countLabel(image.hosts.length, 'host')}`}
      harmless
      pending={props.pending}
      error={props.error}
      onConfirm={() => props.onInstall(lazy)}
      onClose={props.onClose}
    >
      <p>
        {lazy
          ? 'Each host fetches it with the first launch there, which then takes minutes.'
          : `${countLabel(image.hosts.length, 'host fetches', 'hosts fetch')} it now; offline hosts fetch it when they reconnect.`}
        {image.kind === 'template' &&
          ' The catalog has no finished image, only a Dockerfile, so each host builds the image itself.'}
      </p>
      <Checkbox
        label="Fetch it only at the first launch on each host"
        checked={lazy}
        onChange={(event) => setLazy(event.currentTarget.checked)}
      />
    </ConfirmDialog>
  );
}
