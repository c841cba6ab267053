import type { AdminApp, DerivedTile } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { plural, t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { DeletionEffects } from '../frame/deletion/deletion-effects.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { AbsentRecord } from '../frame/record-page.tsx';
import { Whole } from '../frame/whole.tsx';
import { AppFields } from './app-form.tsx';
import { type AppForm, bodyOf, formOf } from './app-form-model.ts';
import { Artwork } from './artwork/artwork.tsx';
import { Entitlements } from './entitlements.tsx';
import { useLaunchNow } from './use-launch-now.ts';

const back = () => ({ to: '/admin/apps', label: t('Apps') }) as const;

/** One app: fields, entitlements, deletion. */
export function EditAppPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: keys.app(id),
    queryFn: ({ signal }) => call('apps.read', { params: { id }, signal }),
  });
  const app = query.data?.app;
  usePageTitle(app?.name ?? t('App'));
  // Administrators get the full record. If fields are missing, the person is no longer an administrator.
  if (query.isError || app === undefined || !('runtime_spec' in app)) {
    return <AbsentRecord label={t('App')} back={back()} query={query} />;
  }
  return <LoadedApp app={app} />;
}

function LoadedApp({ app }: { app: AdminApp }) {
  const launch = useLaunchNow();
  const queryClient = useQueryClient();
  const parentId = app.parent_app_id;
  const parent = useQuery({
    queryKey: keys.app(parentId ?? ''),
    queryFn: ({ signal }) => call('apps.read', { params: { id: parentId ?? '' }, signal }),
    enabled: parentId !== null,
  });
  const save = useMutation({
    mutationFn: (form: AppForm) =>
      call('apps.update', {
        params: { id: app.id },
        body: changesOf(app, bodyOf(form, app.runtime_spec, parentId !== null)),
      }),
    onSuccess: (answer) => {
      queryClient.setQueryData(keys.app(app.id), answer);
      notifications.show({ message: t('{name} was saved', { name: answer.app.name }), autoClose: 4000 });
      return forgetUses(queryClient);
    },
  });
  return (
    <>
      <PageHead
        title={app.name}
        back={back()}
        actions={
          <>
            <Button
              disabled={!app.enabled}
              loading={launch.isPending || launch.isSuccess}
              onClick={() => launch.mutate(app.id)}
            >
              {t('Launch')}
            </Button>
            <Button renderRoot={(root) => <Link to="/admin/placement" search={{ app: app.id }} {...root} />}>
              {t('Where would it run?')}
            </Button>
            <DeleteApp app={app} />
          </>
        }
      />
      {launch.isError && <Problem error={launch.error} />}
      <Whole>
        <Section title={t('Who may use it')}>
          <Entitlements app={app} />
        </Section>
        <Section title={t('Pictures')}>
          <Artwork app={app} />
        </Section>
        <AppFields
          initial={formOf(app)}
          action={t('Save changes')}
          {...(parentId !== null && { parent: { id: parentId, name: parent.data?.app.name } })}
          pending={save.isPending}
          error={save.error}
          onSubmit={(form) => save.mutate(form)}
        />
      </Whole>
    </>
  );
}

/** Invalidates lists of apps, and the lists of apps that use a preset or launch profile. */
function forgetUses(queryClient: QueryClient) {
  const stale = [adminKeys.adminApps, adminKeys.presets, adminKeys.launchProfiles];
  return Promise.all(stale.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}

function DeleteApp({ app }: { app: AdminApp }) {
  const [confirming, setConfirming] = useState(false);
  const [tiles, setTiles] = useState<DerivedTile[] | null>(null);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () =>
      call('apps.delete', { params: { id: app.id }, query: tiles === null ? {} : { delete_derived: true } }),
    onSuccess: async () => {
      notifications.show({ message: t('{name} was deleted', { name: app.name }), autoClose: 4000 });
      await navigate({ to: '/admin/apps' });
      await forgetUses(queryClient);
    },
    onError: (error) => {
      if (error instanceof ApiFailure && error.derivedTiles !== undefined) {
        setTiles(error.derivedTiles);
        remove.reset();
      }
    },
  });
  const { title, action } = deletionLabels(app.name, tiles?.length ?? null);
  return (
    <>
      <Button color="danger" onClick={() => setConfirming(true)}>
        {t('Delete')}
      </Button>
      <ConfirmDialog
        opened={confirming}
        title={title}
        action={action}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => {
          setConfirming(false);
          setTiles(null);
          remove.reset();
        }}
      >
        <p>{t('It disappears from every library.')}</p>
        <DeletionEffects id={app.id} />
        {tiles !== null && tiles.length > 0 && (
          <p>
            {t('Its tiles are deleted too: {tiles}.', { tiles: tiles.map((tile) => tile.name).join(', ') })}
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}

/** @param tiles number of tiles that are deleted too; null: none, 0: unknown */
function deletionLabels(name: string, tiles: number | null): { title: string; action: string } {
  if (tiles === null) return { title: t('Delete {name}?', { name }), action: t('Delete {name}', { name }) };
  if (tiles === 0)
    return {
      title: t('Delete {name} and its tiles?', { name }),
      action: t('Delete {name} and its tiles', { name }),
    };
  return {
    title: plural(tiles, 'Delete {name} and {n} tile?', 'Delete {name} and {n} tiles?', { name }),
    action: plural(tiles, 'Delete {name} and {n} tile', 'Delete {name} and {n} tiles', { name }),
  };
}
