import { NativeSelect } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { usePageTitle } from '../../components/use-page-title.ts';
import { PageHead } from '../frame/parts.tsx';
import { AppFields } from './app-form.tsx';
import { type AppForm, bodyOf, NEW_APP } from './app-form-model.ts';

/** Adds an app to the instance. */
export function NewAppPage() {
  usePageTitle('Add an app');
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [entitle, setEntitle] = useState<'all' | 'none'>('none');
  const create = useMutation({
    mutationFn: (form: AppForm) =>
      call('apps.create', { body: { ...bodyOf(form, undefined, false), entitle } }),
    onSuccess: async ({ app }) => {
      notifications.show({ message: `${app.name} was added`, autoClose: 4000 });
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: keys.adminApps }),
        queryClient.invalidateQueries({ queryKey: keys.presets }),
        queryClient.invalidateQueries({ queryKey: keys.launchProfiles }),
      ]);
      await navigate({ to: '/admin/apps/$id', params: { id: app.id } });
    },
  });
  return (
    <>
      <PageHead title="Add an app" back={{ to: '/admin/apps', words: 'Apps' }} />
      <AppFields
        initial={NEW_APP}
        act="Add app"
        pending={create.isPending}
        error={create.error}
        onSubmit={(form) => create.mutate(form)}
      >
        <NativeSelect
          label="Who may use it"
          description="An app that gives a shell is better given to single people."
          data={[
            { value: 'none', label: 'Nobody yet; I choose afterwards' },
            { value: 'all', label: 'Everybody' },
          ]}
          value={entitle}
          onChange={(event) => setEntitle(event.currentTarget.value === 'all' ? 'all' : 'none')}
        />
      </AppFields>
    </>
  );
}
