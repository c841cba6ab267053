import type { InstanceSettings } from '@footlight/protocol/rest';
import { NativeSelect, NumberInput, Switch } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule } from '../frame/bound-rules.ts';
import { everyLabel } from '../frame/interval-labels.ts';

const STORAGE = [
  { value: 'auto', label: msg('A directory on the host') },
  { value: 'volume', label: msg('A volume of the container engine') },
];

const UPDATES = [
  { value: 'manual', label: msg('Nothing') },
  { value: 'notify', label: msg('Tell administrators') },
  { value: 'auto', label: msg('Update all hosts') },
];

/** Settings of automatic work: storing homes, finding games in homes, updating images. */
export interface UpkeepValues {
  storage_provider: string;
  library_discovery_enabled: boolean;
  library_discovery_interval_minutes: number | string;
  library_discovery_appdetails_enabled: boolean;
  image_update_policy: string;
}

export const upkeepRules = {
  library_discovery_interval_minutes: numberRule(
    bodyBounds['settings.update'].library_discovery_interval_minutes,
  ),
};

export const upkeepValues = (settings: InstanceSettings): UpkeepValues => ({
  // "local" and "auto" store homes in the same place, so the form has one choice for the two.
  storage_provider: settings.storage_provider === 'volume' ? 'volume' : 'auto',
  library_discovery_enabled: settings.library_discovery_enabled,
  library_discovery_interval_minutes: settings.library_discovery_interval_minutes,
  library_discovery_appdetails_enabled: settings.library_discovery_appdetails_enabled,
  image_update_policy: settings.image_update_policy,
});

export const upkeepBody = (values: UpkeepValues) => ({
  storage_provider: values.storage_provider as InstanceSettings['storage_provider'],
  library_discovery_enabled: values.library_discovery_enabled,
  library_discovery_interval_minutes: Number(values.library_discovery_interval_minutes),
  library_discovery_appdetails_enabled: values.library_discovery_appdetails_enabled,
  image_update_policy: values.image_update_policy as InstanceSettings['image_update_policy'],
});

/** Fields of the settings form. If an environment variable of the server overrides a field, the field shows this. */
export function UpkeepFields<Values extends UpkeepValues>({ form }: { form: UseFormReturnType<Values> }) {
  const { data: library } = useQuery({
    queryKey: adminKeys.libraryStatus,
    queryFn: ({ signal }) => call('library.status', { signal }),
  });
  return (
    <>
      <fieldset className={styles.fieldset}>
        <legend>{t('Homes of apps')}</legend>
        <NativeSelect
          label={t('Where new homes are stored')}
          description={t(
            'A home keeps what an app saves for one person. Homes that exist stay where they are.',
          )}
          data={STORAGE.map(({ value, label }) => ({ value, label: t(label) }))}
          key={form.key('storage_provider')}
          {...form.getInputProps('storage_provider')}
        />
        <Switch
          label={t('Show the games that people installed in their homes as apps')}
          description={t(
            'Hosts look into the homes of launchers such as Steam. Each person sees the games of their own home.',
          )}
          key={form.key('library_discovery_enabled')}
          {...form.getInputProps('library_discovery_enabled', { type: 'checkbox' })}
        />
        {library?.enabled && library.inert_reason !== '' && (
          <p className={styles.note}>
            {t('No home is searched: {reason}', { reason: library.inert_reason })}
          </p>
        )}
        <NumberInput
          label={t('Time between two searches of a home')}
          suffix=" min"
          min={15}
          allowDecimal={false}
          key={form.key('library_discovery_interval_minutes')}
          {...form.getInputProps('library_discovery_interval_minutes')}
        />
        {library?.interval_overridden_by_env && (
          <Replaced variable="SERVICE_LIBRARY_SCAN_INTERVAL">
            {everyLabel(library.scan_interval_secs)}
          </Replaced>
        )}
        <Switch
          label={t('Look up found games in the store')}
          description={t(
            'Then only games become apps, and get a description. The ids of the games are sent to the store.',
          )}
          key={form.key('library_discovery_appdetails_enabled')}
          {...form.getInputProps('library_discovery_appdetails_enabled', { type: 'checkbox' })}
        />
        {library?.appdetails_overridden_by_env && (
          <Replaced variable="SERVICE_STEAM_APPDETAILS_LOOKUP">
            {library.appdetails_lookup ? t('the store is asked') : t('the store is not asked')}
          </Replaced>
        )}
      </fieldset>
      <fieldset className={styles.fieldset}>
        <legend>{t('Images of apps')}</legend>
        <NativeSelect
          label={t('When a newer image is published')}
          data={UPDATES.map(({ value, label }) => ({ value, label: t(label) }))}
          key={form.key('image_update_policy')}
          {...form.getInputProps('image_update_policy')}
        />
      </fieldset>
    </>
  );
}

function Replaced({ variable, children }: { variable: string; children: string }) {
  return (
    <p className={styles.note}>
      {t(
        "{variable} of the server's environment replaces this: {value}. The value that is stored here applies after this variable is removed.",
        { variable, value: children },
      )}
    </p>
  );
}
