import type { AdminApp, ArtworkCrop, ArtworkEnvelope } from '@footlight/protocol/rest';
import { Button, FileButton, TextInput } from '@mantine/core';
import { IconPhotoSearch, IconUpload } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import { AppPicture } from '../../../components/app-picture.tsx';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { Problem } from '../../../components/problem.tsx';
import { msg, t } from '../../../i18n/translate.ts';
import styles from '../../frame/admin-pages.module.css';
import { adminKeys } from '../../frame/admin-query-keys.ts';
import { ArtworkSearch } from './artwork-search.tsx';
import { MatchAll } from './match-all.tsx';

const TYPES = 'image/jpeg,image/png,image/webp';
const CROPS: readonly { crop: ArtworkCrop; label: string; hint: string; upload: string }[] = [
  { crop: 'tile', label: msg('Tile'), hint: msg('Portrait, 2:3'), upload: msg('Upload a tile') },
  {
    crop: 'hero',
    label: msg('Wide picture'),
    hint: msg('Background of the library and of the page that starts the app'),
    upload: msg('Upload a wide picture'),
  },
];

/** An app's pictures, and all actions that change them. */
export function Artwork({ app }: { app: AdminApp }) {
  const [confirming, setConfirming] = useState<'search' | 'address' | 'remove' | null>(null);
  const queryClient = useQueryClient();
  const query = useQuery({
    queryKey: adminKeys.artwork(app.id),
    queryFn: ({ signal }) => call('artwork.envelope', { params: { id: app.id }, signal }),
  });
  const refresh = async (answer?: ArtworkEnvelope) => {
    setConfirming(null);
    if (answer !== undefined) queryClient.setQueryData(adminKeys.artwork(app.id), answer);
    await Promise.all([
      queryClient.invalidateQueries({ queryKey: adminKeys.artwork(app.id) }),
      queryClient.invalidateQueries({ queryKey: keys.app(app.id) }),
      queryClient.invalidateQueries({ queryKey: adminKeys.adminApps }),
    ]);
  };
  const upload = useMutation({
    mutationFn: ({ crop, file }: { crop: ArtworkCrop; file: File }) =>
      call('artwork.upload', { params: { id: app.id }, query: { crop }, file }),
    onSuccess: refresh,
  });
  const set = useMutation({
    mutationFn: (body: { rematch?: boolean; force?: boolean; provider_ref?: string; tile_url?: string }) =>
      call('artwork.set', { params: { id: app.id }, body }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: () => call('artwork.clear', { params: { id: app.id } }),
    onSuccess: () => refresh(),
  });
  const envelope = query.data;
  const record = envelope?.artwork ?? null;
  const lookup = envelope?.provider_configured === true;
  const remote = app.cover_url !== null && /^https?:/i.test(app.cover_url) ? app.cover_url : null;
  return (
    <div className={styles.stack}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {upload.isError && <Problem error={upload.error} />}
      {set.isError && confirming === null && <Problem error={set.error} />}
      <div className={styles.crops}>
        {CROPS.map(({ crop, label, hint, upload: uploadLabel }) => (
          <figure key={crop} className={styles.crop} data-crop={crop}>
            <AppPicture app={app} shape={crop === 'tile' ? 'cover' : 'hero'} className={styles.cropPicture} />
            <figcaption>
              <strong>{t(label)}</strong>
              <span className={styles.dim}>{t(hint)}</span>
            </figcaption>
            <FileButton accept={TYPES} onChange={(file) => file !== null && upload.mutate({ crop, file })}>
              {(props) => (
                <Button
                  {...props}
                  size="xs"
                  leftSection={<IconUpload size={16} />}
                  loading={upload.isPending && upload.variables.crop === crop}
                  aria-label={t(uploadLabel)}
                >
                  {t('Upload')}
                </Button>
              )}
            </FileButton>
          </figure>
        ))}
      </div>
      {envelope !== undefined && <p className={styles.dim}>{recordLabel(envelope)}</p>}
      {remote !== null && (
        <p className={styles.note}>
          {t('Its cover is on another server, and pages load no pictures from there.')}{' '}
          <Button size="compact-sm" loading={set.isPending} onClick={() => set.mutate({ tile_url: remote })}>
            {t('Copy it to this server')}
          </Button>
        </p>
      )}
      <div className={styles.filters}>
        {lookup && (
          <Button
            size="sm"
            leftSection={<IconPhotoSearch size={18} />}
            onClick={() => setConfirming('search')}
          >
            {t('Search')}
          </Button>
        )}
        {lookup && (
          <Button
            size="sm"
            loading={set.isPending}
            onClick={() => set.mutate({ rematch: true, force: true })}
          >
            {t('Match by name again')}
          </Button>
        )}
        {lookup && <MatchAll />}
        <Button size="sm" onClick={() => setConfirming('address')}>
          {t('Fetch from an address')}
        </Button>
        {record !== null && (
          <Button size="sm" variant="subtle" color="danger" onClick={() => setConfirming('remove')}>
            {t('Remove')}
          </Button>
        )}
      </div>
      {confirming === 'search' && (
        <ArtworkSearch
          app={app}
          pending={set.isPending ? set.variables.provider_ref : undefined}
          error={set.error}
          onPick={(provider_ref) => set.mutate({ provider_ref })}
          onClose={() => setConfirming(null)}
        />
      )}
      {confirming === 'address' && (
        <FromAddress
          pending={set.isPending}
          error={set.error}
          onFetch={(addresses) => set.mutate(addresses)}
          onClose={() => {
            setConfirming(null);
            set.reset();
          }}
        />
      )}
      <ConfirmDialog
        opened={confirming === 'remove'}
        title={t('Remove the pictures of {app}?', { app: app.name })}
        action={t('Remove the pictures')}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>
          {lookup
            ? t('It shows its gradient again, until the next automatic look-up finds something.')
            : t('It shows its gradient again.')}
        </p>
      </ConfirmDialog>
    </div>
  );
}

function recordLabel({ artwork, provider_configured, provider_problem }: ArtworkEnvelope): string {
  const found =
    artwork === null
      ? t('No pictures were chosen or looked up yet.')
      : artwork.source === 'none'
        ? t('Looked up by name, and nothing was found.')
        : artwork.source === 'provider'
          ? t('Found automatically as “{name}”. {attribution}', {
              name: artwork.matched_name,
              attribution: artwork.attribution,
            })
          : t('Chosen by an administrator; no automatic match replaces it. {attribution}', {
              attribution: artwork.attribution,
            });
  if (provider_problem !== undefined) return `${found} ${provider_problem}`;
  return provider_configured
    ? found
    : `${found} ${t('With a SteamGridDB key in the settings, pictures are also found automatically.')}`;
}

/** The server downloads the pictures, because the page loads nothing from other servers. */
function FromAddress(props: {
  pending: boolean;
  error: unknown;
  onFetch: (addresses: { tile_url?: string; hero_url?: string }) => void;
  onClose: () => void;
}) {
  const [tile, setTile] = useState('');
  const [hero, setHero] = useState('');
  const addresses = {
    ...(tile.trim() === '' ? {} : { tile_url: tile.trim() }),
    ...(hero.trim() === '' ? {} : { hero_url: hero.trim() }),
  };
  return (
    <Dialog opened title={t('Fetch pictures from an address')} onClose={props.onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          props.onFetch(addresses);
        }}
      >
        {props.error !== null && <Problem error={props.error} />}
        <p className={styles.dim}>
          {t('The server downloads them once and keeps them. JPEG, PNG or WebP, from a public address.')}
        </p>
        <TextInput
          label={t('Tile, portrait 2:3')}
          placeholder="https://…"
          data-autofocus
          value={tile}
          onChange={(event) => setTile(event.currentTarget.value)}
        />
        <TextInput
          label={t('Wide picture')}
          placeholder="https://…"
          value={hero}
          onChange={(event) => setHero(event.currentTarget.value)}
        />
        <Button
          type="submit"
          variant="filled"
          disabled={Object.keys(addresses).length === 0}
          loading={props.pending}
        >
          {t('Fetch')}
        </Button>
      </form>
    </Dialog>
  );
}
