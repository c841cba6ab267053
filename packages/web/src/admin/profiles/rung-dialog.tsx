import type { ChainWarning, StreamProfile } from '@footlight/protocol/rest';
import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { Dialog } from '../../components/dialog.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { ChainWarnings } from './chain-warnings.tsx';
import { isFault, VISIBILITIES, VISIBILITY_NOTE } from './profile-labels.ts';
import { DISCLOSED_FIELDS, NEW_RUNG, type RungForm, rungOf, rungRules } from './rung-model.ts';

const CODECS = [
  { value: 'h264', label: 'H.264' },
  { value: 'hevc', label: 'HEVC' },
  { value: 'av1', label: 'AV1' },
];
const H264_PROFILES = [
  { value: 'constrained-baseline', label: 'Constrained baseline' },
  { value: 'main', label: 'Main' },
  { value: 'high', label: 'High' },
];
const DISPLAYS = [
  { value: 'none', label: msg('Any display') },
  { value: 'recommended', label: msg('A fast display is better') },
  { value: 'required', label: msg('Needs a fast display') },
];
const BROWSERS = [
  { value: 'recommended', label: msg('Recommended') },
  { value: 'supported', label: msg('Supported') },
  { value: 'risky', label: msg('Risky') },
];

/**
 * Creates or changes a rung.
 * @param props.rung null: creates a rung
 */
export function RungDialog(props: { opened: boolean; rung: StreamProfile | null; onClose: () => void }) {
  return (
    <Dialog
      opened={props.opened}
      title={props.rung === null ? t('Add a rung') : props.rung.display_name}
      onClose={props.onClose}
    >
      <RungFields rung={props.rung} onDone={props.onClose} />
    </Dialog>
  );
}

function RungFields({ rung, onDone }: { rung: StreamProfile | null; onDone: () => void }) {
  const queryClient = useQueryClient();
  const { id: idRule, ...otherRules } = rungRules;
  const form = useForm<RungForm>({
    mode: 'uncontrolled',
    initialValues: rung ?? NEW_RUNG,
    validate: rung === null ? { ...otherRules, id: idRule } : otherRules,
  });
  const save = useMutation({
    mutationFn: async (
      values: RungForm,
    ): Promise<StreamProfile & { warnings?: ChainWarning[] | undefined }> => {
      const wanted = rungOf(values);
      if (rung === null) return call('streamProfiles.create', { body: wanted });
      const { id: _kept, ...fields } = wanted;
      return call('streamProfiles.update', { params: { id: rung.id }, body: changesOf(rung, fields) });
    },
    onSuccess: (answer) => {
      const name = answer.display_name;
      const message = rung === null ? t('{name} was added', { name }) : t('{name} was saved', { name });
      notifications.show({ message, autoClose: 4000 });
      if (!answer.warnings?.some(isFault)) onDone();
      return Promise.all([
        queryClient.invalidateQueries({ queryKey: adminKeys.rungs }),
        queryClient.invalidateQueries({ queryKey: adminKeys.launchProfiles }),
      ]);
    },
  });
  const refusal = useRefusal(form, save.error);
  if (save.data?.warnings?.some(isFault)) {
    return (
      <div className={styles.stack}>
        <p>{t('The rung was saved. With its new codec, these chains have warnings:')}</p>
        <ChainWarnings warnings={save.data.warnings} />
        <Button variant="filled" onClick={onDone}>
          {t('I have seen it')}
        </Button>
      </div>
    );
  }
  const field = (name: keyof RungForm) => ({ key: form.key(name), ...form.getInputProps(name) });
  return (
    <form
      className={styles.form}
      onSubmit={form.onSubmit((values) => save.mutate(values), focusFirstError)}
      noValidate
    >
      {rung === null && (
        <TextInput
          label={t('Id')}
          description={t('Its name in chains. You cannot change it later.')}
          placeholder="1080p60-h264"
          classNames={{ input: styles.mono ?? '' }}
          data-autofocus
          {...field('id')}
        />
      )}
      <TextInput
        label={t('Name')}
        {...(rung !== null && { 'data-autofocus': true })}
        {...field('display_name')}
      />
      <div className={styles.pair}>
        <NativeSelect label={t('Codec')} data={CODECS} {...field('codec')} />
        <NumberInput label={t('Frames per second')} {...field('fps')} />
        <NumberInput label={t('Width')} suffix=" px" {...field('width')} />
        <NumberInput label={t('Height')} suffix=" px" {...field('height')} />
      </div>
      <NumberInput label={t('Bitrate')} suffix=" kbit/s" {...field('nominal_bitrate_kbps')} />
      <Disclosure label={t('More')} wrong={DISCLOSED_FIELDS.some((name) => form.errors[name] !== undefined)}>
        <div className={styles.pair}>
          <NumberInput
            label={t('Not offered below')}
            description={t('Measured bandwidth; 0: always offered.')}
            suffix=" kbit/s"
            {...field('min_offer_bandwidth_kbps')}
          />
          <NumberInput
            label={t('Risky below')}
            description={t('Measured bandwidth; 0: never risky.')}
            suffix=" kbit/s"
            {...field('recommended_offer_bandwidth_kbps')}
          />
          <NumberInput
            label={t('Adaptation floor')}
            description={t('0: the agent’s default.')}
            suffix=" kbit/s"
            {...field('abr_floor_kbps')}
          />
          <NumberInput
            label={t('Headroom')}
            description={t('Times the bitrate.')}
            allowDecimal
            {...field('headroom_factor')}
          />
          <NumberInput
            label={t('Longest round trip')}
            description={t('0: no limit.')}
            suffix=" ms"
            {...field('max_startup_rtt_ms')}
          />
          <NumberInput
            label={t('Playout delay')}
            description={t('At the start of a session.')}
            suffix=" ms"
            {...field('playout0_ms')}
          />
          <NumberInput
            label={t('Lines to decode')}
            description={t('The device must decode at least this number; 0: any.')}
            {...field('min_decode_height')}
          />
          <NativeSelect
            label={t('H.264 profile')}
            description={t('Only for that codec.')}
            data={H264_PROFILES}
            {...field('h264_profile')}
          />
          <NativeSelect
            label={t('Display')}
            data={DISPLAYS.map((option) => ({ ...option, label: t(option.label) }))}
            {...field('high_refresh_display')}
          />
          <NativeSelect
            label={t('Browsers')}
            data={BROWSERS.map((option) => ({ ...option, label: t(option.label) }))}
            {...field('browser_client')}
          />
        </div>
        <NativeSelect
          label={t('Who it is for')}
          description={`${t('Launch profiles may list any rung.')} ${t(VISIBILITY_NOTE)}`}
          data={VISIBILITIES.map((option) => ({ ...option, label: t(option.label) }))}
          {...field('visibility')}
        />
        <Checkbox
          label={t('Only on hosts with a hardware encoder')}
          key={form.key('hardware_encoder_required')}
          {...form.getInputProps('hardware_encoder_required', { type: 'checkbox' })}
        />
      </Disclosure>
      {refusal !== null && <Problem error={refusal} />}
      <Button type="submit" variant="filled" loading={save.isPending}>
        {rung === null ? t('Add rung') : t('Save changes')}
      </Button>
    </form>
  );
}
