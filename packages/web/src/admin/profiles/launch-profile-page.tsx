import type { LaunchProfile } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { PageHead } from '../frame/page-head.tsx';
import { AbsentRecord, DeleteRecord } from '../frame/record-page.tsx';
import { ChainWarnings } from './chain-warnings.tsx';
import { LaunchProfileFields } from './launch-profile-form.tsx';
import { bodyOf, chainOf, deletionLabel, formOf, type LaunchProfileForm } from './launch-profile-model.ts';
import { isFault } from './profile-labels.ts';
import { useRungs } from './use-profiles.ts';

const back = () => ({ to: '/admin/profiles', label: t('Profiles') }) as const;

/** One launch profile: the places where it is the default, its fields, its deletion. */
export function LaunchProfilePage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: adminKeys.launchProfile(id),
    queryFn: ({ signal }) => call('launchProfiles.read', { params: { id }, signal }),
  });
  const profile = query.data;
  usePageTitle(profile?.display_name ?? t('Launch profile'));
  if (query.isError || profile === undefined) {
    return <AbsentRecord label={t('Launch profile')} back={back()} query={query} />;
  }
  return <LoadedProfile profile={profile} />;
}

function LoadedProfile({ profile }: { profile: LaunchProfile }) {
  const queryClient = useQueryClient();
  const rungs = useRungs();
  const save = useMutation({
    mutationFn: (form: LaunchProfileForm) =>
      call('launchProfiles.update', {
        params: { id: profile.id },
        body: changesOf({ ...profile, rungs: chainOf(profile) }, bodyOf(form)),
      }),
    onSuccess: (answer) => {
      queryClient.setQueryData(adminKeys.launchProfile(profile.id), answer);
      const name = answer.display_name;
      const message = answer.warnings.some(isFault)
        ? t('{name} was saved, with a warning about its chain', { name })
        : t('{name} was saved', { name });
      notifications.show({ message, autoClose: 4000 });
      return Promise.all([
        queryClient.invalidateQueries({ queryKey: adminKeys.launchProfileList }),
        queryClient.invalidateQueries({ queryKey: adminKeys.rungs }),
      ]);
    },
  });
  return (
    <>
      <PageHead title={profile.display_name} back={back()} actions={<DeleteProfile profile={profile} />} />
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>{t('Default of')}</dt>
          <dd>
            <Uses usedBy={profile.used_by} />
          </dd>
          <dt>{t('Id')}</dt>
          <dd className={styles.mono}>{profile.id}</dd>
        </dl>
      </div>
      <ChainWarnings warnings={profile.warnings} />
      {rungs.isError && <Problem error={rungs.error} retry={() => void rungs.refetch()} />}
      {rungs.data === undefined && !rungs.isError && <Skeleton height={480} radius={14} />}
      {rungs.data !== undefined && (
        <LaunchProfileFields
          initial={formOf(profile)}
          rungs={rungs.data.items}
          made
          action={t('Save changes')}
          pending={save.isPending}
          error={save.error}
          onSubmit={(form) => save.mutate(form)}
        />
      )}
    </>
  );
}

function Uses({ usedBy }: { usedBy: LaunchProfile['used_by'] }) {
  const { apps, global_default, user_preferences } = usedBy;
  if (!global_default && apps.length === 0 && user_preferences === 0) {
    return <span className={styles.dim}>{t('nobody')}</span>;
  }
  return (
    <ul>
      {global_default && <li>{t('The instance')}</li>}
      {apps.map((app) => (
        <li key={app.id}>
          <Link to="/admin/apps/$id" params={{ id: app.id }}>
            {app.name}
          </Link>
        </li>
      ))}
      {user_preferences > 0 && (
        <li>
          {plural(user_preferences, '{n} person by their own choice', '{n} people by their own choice')}
        </li>
      )}
    </ul>
  );
}

function DeleteProfile({ profile }: { profile: LaunchProfile }) {
  return (
    <DeleteRecord
      name={profile.display_name}
      back={back()}
      remove={() => call('launchProfiles.delete', { params: { id: profile.id } })}
      stale={[adminKeys.launchProfileList, adminKeys.rungs]}
    >
      <p>{deletionLabel(profile)}</p>
    </DeleteRecord>
  );
}
