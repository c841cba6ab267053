import { NativeSelect } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useUser } from '../../api/auth-store.ts';
import { call } from '../../api/client.ts';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { PageHead } from '../frame/page-head.tsx';
import { AppFields } from './app-form.tsx';
import { type AppForm, bodyOf, NEW_APP } from './app-form-model.ts';

type Audience = 'me' | 'all' | 'none';

const AUDIENCES: { value: Audience; label: string }[] = [
  { value: 'me', label: msg('Only me') },
  { value: 'all', label: msg('Everybody') },
  { value: 'none', label: msg('Nobody yet; I choose afterwards') },
];

/** @returns false: the grant failed. The app still exists, and its page offers the grant again */
async function grantTo(id: string, userId: string | undefined): Promise<boolean> {
  if (userId === undefined) return false;
  const body = { subject_type: 'user', subject_id: userId } as const;
  return call('entitlements.grant', { params: { id }, body }).then(
    () => true,
    () => false,
  );
}

/** Adds an app to the instance. */
export function NewAppPage() {
  usePageTitle(t('Add an app'));
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const me = useUser();
  const [audience, setAudience] = useState<Audience>('me');
  const create = useMutation({
    mutationFn: async (form: AppForm) => {
      const entitle = audience === 'all' ? 'all' : 'none';
      const { app } = await call('apps.create', { body: { ...bodyOf(form, undefined, false), entitle } });
      return { app, granted: audience !== 'me' || (await grantTo(app.id, me?.id)) };
    },
    onSuccess: async ({ app, granted }) => {
      notifications.show(
        granted
          ? { message: t('{name} was added', { name: app.name }), autoClose: 4000 }
          : { message: t('{name} was added; nobody may use it yet', { name: app.name }), color: 'yellow' },
      );
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: adminKeys.adminApps }),
        queryClient.invalidateQueries({ queryKey: adminKeys.presets }),
        queryClient.invalidateQueries({ queryKey: adminKeys.launchProfiles }),
      ]);
      await navigate({ to: '/admin/apps/$id', params: { id: app.id } });
    },
  });
  return (
    <>
      <PageHead title={t('Add an app')} back={{ to: '/admin/apps', label: t('Apps') }} />
      <AppFields
        initial={NEW_APP}
        action={t('Add app')}
        pending={create.isPending}
        error={create.error}
        onSubmit={(form) => create.mutate(form)}
      >
        <NativeSelect
          label={t('Who gets it')}
          description={t('You can change this later. Give an app with a shell to individual people only.')}
          data={AUDIENCES.map((option) => ({ ...option, label: t(option.label) }))}
          value={audience}
          onChange={(event) => setAudience(event.currentTarget.value as Audience)}
        />
      </AppFields>
    </>
  );
}
