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
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { DeletionEffects } from '../frame/deletion/deletion-effects.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { countLabel } from '../frame/quantity-labels.ts';
import { AbsentRecord } from '../frame/record-page.tsx';
import { Whole } from '../frame/whole.tsx';
import { AppFields } from './app-form.tsx';
import { type AppForm, bodyOf, formOf } from './app-form-model.ts';
import { Artwork } from './artwork/artwork.tsx';
import { Entitlements } from './entitlements.tsx';
import { useLaunchNow } from './use-launch-now.ts';

const BACK = { to: '/admin/apps', label: 'Apps' } as const;

/** One app: fields, entitlements, deletion. */
export function EditAppPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: keys.app(id),
    queryFn: ({ signal }) => call('apps.read', { params: { id }, signal }),
  });
  const app = query.data?.app;
  usePageTitle(app?.name ?? 'App');
  // Administrators get the full record. If fields are missing, the person is no longer an administrator.
  if (query.isError || app === undefined || !('runtime_spec' in app)) {
    return <AbsentRecord label="App" back={BACK} query={query} />;
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
      notifications.show({ message: `${answer.app.name} was saved`, autoClose: 4000 });
      return forgetUses(queryClient);
    },
  });
  return (
    <>
      <PageHead
        title={app.name}
        back={BACK}
        actions={
          <>
            <Button
              disabled={!app.enabled}
              loading={launch.isPending || launch.isSuccess}
              onClick={() => launch.mutate(app.id)}
            >
              Launch
            </Button>
            <Button renderRoot={(root) => <Link to="/admin/placement" search={{ app: app.id }} {...root} />}>
              Where would it run?
            </Button>
            <DeleteApp app={app} />
          </>
        }
      />
      {launch.isError && <Problem error={launch.error} />}
      <Whole>
        <Section title="Who may use it">
          <Entitlements app={app} />
        </Section>
        <Section title="Pictures">
          <Artwork app={app} />
        </Section>
        <AppFields
          initial={formOf(app)}
          action="Save changes"
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
      notifications.show({ message: `${app.name} was deleted`, autoClose: 4000 });
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
  const withTiles =
    tiles === null ? '' : ` and ${tiles.length === 0 ? 'its tiles' : countLabel(tiles.length, 'tile')}`;
  return (
    <>
      <Button color="danger" onClick={() => setConfirming(true)}>
        Delete
      </Button>
      <ConfirmDialog
        opened={confirming}
        title={`Delete ${app.name}${withTiles}?`}
        action={`Delete ${app.name}${withTiles}`}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => {
          setConfirming(false);
          setTiles(null);
          remove.reset();
        }}
      >
        <p>It disappears from every library.</p>
        <DeletionEffects id={app.id} />
        {tiles !== null && tiles.length > 0 && (
          <p>Its tiles are deleted too: {tiles.map((tile) => tile.name).join(', ')}.</p>
        )}
      </ConfirmDialog>
    </>
  );
}
