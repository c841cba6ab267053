import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { usePageTitle } from '../../components/use-page-title.ts';
import { t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { PageHead } from '../frame/page-head.tsx';
import { PresetFields } from './preset-form.tsx';
import { bodyOf, NEW_PRESET, type PresetForm } from './preset-model.ts';

/** Adds a runtime preset. */
export function NewPresetPage() {
  usePageTitle(t('Add a preset'));
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const create = useMutation({
    mutationFn: (form: PresetForm) => call('runtimePresets.create', { body: bodyOf(form, undefined) }),
    onSuccess: async ({ runtime_preset: preset }) => {
      notifications.show({ message: t('{name} was added', { name: preset.name }), autoClose: 4000 });
      await queryClient.invalidateQueries({ queryKey: adminKeys.presets });
      await navigate({ to: '/admin/presets/$id', params: { id: preset.id } });
    },
  });
  return (
    <>
      <PageHead title={t('Add a preset')} back={{ to: '/admin/presets', label: t('Presets') }} />
      <PresetFields
        initial={NEW_PRESET}
        action={t('Add preset')}
        pending={create.isPending}
        error={create.error}
        onSubmit={(form) => create.mutate(form)}
      />
    </>
  );
}
