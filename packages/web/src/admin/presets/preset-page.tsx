import type { RuntimePreset } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { PageHead } from '../frame/page-head.tsx';
import { AbsentRecord, DeleteRecord } from '../frame/record-page.tsx';
import { PresetFields } from './preset-form.tsx';
import { bodyOf, formOf, type PresetForm } from './preset-model.ts';

const back = () => ({ to: '/admin/presets', label: t('Presets') }) as const;

/** One runtime preset: apps that use it, fields, deletion. */
export function PresetPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: adminKeys.preset(id),
    queryFn: ({ signal }) => call('runtimePresets.read', { params: { id }, signal }),
  });
  const preset = query.data?.runtime_preset;
  usePageTitle(preset?.name ?? t('Preset'));
  if (query.isError || preset === undefined) {
    return <AbsentRecord label={t('Preset')} back={back()} query={query} />;
  }
  return <LoadedPreset preset={preset} />;
}

function LoadedPreset({ preset }: { preset: RuntimePreset }) {
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (form: PresetForm) =>
      call('runtimePresets.update', {
        params: { id: preset.id },
        body: changesOf(preset, bodyOf(form, preset)),
      }),
    onSuccess: (answer) => {
      queryClient.setQueryData(adminKeys.preset(preset.id), answer);
      notifications.show({
        message: t('{name} was saved', { name: answer.runtime_preset.name }),
        autoClose: 4000,
      });
      return queryClient.invalidateQueries({ queryKey: adminKeys.presetList });
    },
  });
  return (
    <>
      <PageHead
        title={preset.name}
        lead={t('A change applies to sessions that start later, not to running ones.')}
        back={back()}
        actions={<DeletePreset preset={preset} />}
      />
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>{t('Used by')}</dt>
          <dd>
            {preset.used_by.length === 0 && <span className={styles.dim}>{t('no app')}</span>}
            <ul>
              {preset.used_by.map((app) => (
                <li key={app.id}>
                  <Link to="/admin/apps/$id" params={{ id: app.id }}>
                    {app.name}
                  </Link>
                </li>
              ))}
            </ul>
          </dd>
          <dt>{t('Changed')}</dt>
          <dd>
            <RelativeTime at={preset.updated_at} />
          </dd>
          <dt>{t('Id')}</dt>
          <dd className={styles.mono}>{preset.id}</dd>
        </dl>
      </div>
      <PresetFields
        initial={formOf(preset)}
        action={t('Save changes')}
        pending={save.isPending}
        error={save.error}
        onSubmit={(form) => save.mutate(form)}
      />
    </>
  );
}

function DeletePreset({ preset }: { preset: RuntimePreset }) {
  return (
    <DeleteRecord
      name={preset.name}
      back={back()}
      remove={() => call('runtimePresets.delete', { params: { id: preset.id } })}
      stale={[adminKeys.presetList]}
    >
      <p>
        {preset.used_by.length === 0
          ? t('No app uses it. Running sessions continue.')
          : plural(
              preset.used_by.length,
              '{n} app uses it. Choose another preset for every app first, also for disabled apps.',
              '{n} apps use it. Choose another preset for every app first, also for disabled apps.',
            )}
      </p>
    </DeleteRecord>
  );
}
