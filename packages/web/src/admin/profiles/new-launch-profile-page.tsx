import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { PageHead } from '../frame/page-head.tsx';
import { LaunchProfileFields } from './launch-profile-form.tsx';
import { bodyOf, type LaunchProfileForm, newLaunchProfile } from './launch-profile-model.ts';
import { useLaunchProfiles, useRungs } from './use-profiles.ts';

/** Adds a launch profile; its page then shows warnings about the chain. */
export function NewLaunchProfilePage() {
  usePageTitle(t('Add a launch profile'));
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const rungs = useRungs();
  const profiles = useLaunchProfiles();
  const create = useMutation({
    mutationFn: (form: LaunchProfileForm) =>
      call('launchProfiles.create', { body: { id: form.id.trim(), ...bodyOf(form) } }),
    onSuccess: async (profile) => {
      queryClient.setQueryData(adminKeys.launchProfile(profile.id), profile);
      notifications.show({ message: t('{name} was added', { name: profile.display_name }), autoClose: 4000 });
      await navigate({ to: '/admin/profiles/$id', params: { id: profile.id } });
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: adminKeys.launchProfiles }),
        queryClient.invalidateQueries({ queryKey: adminKeys.rungs }),
      ]);
    },
  });
  const failed = rungs.error ?? profiles.error;
  return (
    <>
      <PageHead title={t('Add a launch profile')} back={{ to: '/admin/profiles', label: t('Profiles') }} />
      {failed !== null && <Problem error={failed} />}
      {rungs.data !== undefined && profiles.data !== undefined ? (
        <LaunchProfileFields
          initial={newLaunchProfile(profiles.data.items)}
          rungs={rungs.data.items}
          made={false}
          action={t('Add launch profile')}
          pending={create.isPending}
          error={create.error}
          onSubmit={(form) => create.mutate(form)}
        />
      ) : (
        failed === null && <Skeleton height={480} radius={14} />
      )}
    </>
  );
}
