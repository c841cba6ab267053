import type { ChainWarning, StreamProfile } from '@footlight/protocol/rest';
import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { Dialog } from '../../components/dialog.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { ChainWarnings } from './chain-warnings.tsx';
import { VISIBILITIES } from './profile-labels.ts';
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
  { value: 'none', label: 'Any display' },
  { value: 'recommended', label: 'A fast display is better' },
  { value: 'required', label: 'Needs a fast display' },
];
const BROWSERS = [
  { value: 'recommended', label: 'Recommended' },
  { value: 'supported', label: 'Supported' },
  { value: 'risky', label: 'Risky' },
];

/**
 * Creates or changes a rung.
 * @param props.rung null: creates a rung
 */
export function RungDialog(props: { opened: boolean; rung: StreamProfile | null; onClose: () => void }) {
  return (
    <Dialog
      opened={props.opened}
      title={props.rung === null ? 'Add a rung' : props.rung.display_name}
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
      const done = rung === null ? 'added' : 'saved';
      notifications.show({ message: `${answer.display_name} was ${done}`, autoClose: 4000 });
      if (answer.warnings === undefined) onDone();
      return Promise.all([
        queryClient.invalidateQueries({ queryKey: adminKeys.rungs }),
        queryClient.invalidateQueries({ queryKey: adminKeys.launchProfiles }),
      ]);
    },
  });
  const refusal = useRefusal(form, save.error);
  if (save.data?.warnings !== undefined) {
    return (
      <div className={styles.stack}>
        <p>The rung was saved. With its new codec, these chains have warnings:</p>
        <ChainWarnings warnings={save.data.warnings} />
        <Button variant="filled" onClick={onDone}>
          I have seen it
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
          label="Id"
          description="Its name in chains. You cannot change it later."
          placeholder="1080p60-h264"
          classNames={{ input: styles.mono ?? '' }}
          data-autofocus
          {...field('id')}
        />
      )}
      <TextInput label="Name" {...(rung !== null && { 'data-autofocus': true })} {...field('display_name')} />
      <div className={styles.pair}>
        <NativeSelect label="Codec" data={CODECS} {...field('codec')} />
        <NumberInput label="Frames per second" {...field('fps')} />
        <NumberInput label="Width" suffix=" px" {...field('width')} />
        <NumberInput label="Height" suffix=" px" {...field('height')} />
      </div>
      <NumberInput label="Bitrate" suffix=" kbit/s" {...field('nominal_bitrate_kbps')} />
      <Disclosure label="More" wrong={DISCLOSED_FIELDS.some((name) => form.errors[name] !== undefined)}>
        <div className={styles.pair}>
          <NumberInput
            label="Not offered below"
            description="Measured bandwidth; 0: always offered."
            suffix=" kbit/s"
            {...field('min_offer_bandwidth_kbps')}
          />
          <NumberInput
            label="Risky below"
            description="Measured bandwidth; 0: never risky."
            suffix=" kbit/s"
            {...field('recommended_offer_bandwidth_kbps')}
          />
          <NumberInput
            label="Adaptation floor"
            description="0: the agent’s default."
            suffix=" kbit/s"
            {...field('abr_floor_kbps')}
          />
          <NumberInput
            label="Headroom"
            description="Times the bitrate."
            allowDecimal
            {...field('headroom_factor')}
          />
          <NumberInput
            label="Longest round trip"
            description="0: no limit."
            suffix=" ms"
            {...field('max_startup_rtt_ms')}
          />
          <NumberInput
            label="Playout delay"
            description="At the start of a session."
            suffix=" ms"
            {...field('playout0_ms')}
          />
          <NumberInput
            label="Lines to decode"
            description="The device must decode at least this number; 0: any."
            {...field('min_decode_height')}
          />
          <NativeSelect
            label="H.264 profile"
            description="Only for that codec."
            data={H264_PROFILES}
            {...field('h264_profile')}
          />
          <NativeSelect label="Display" data={DISPLAYS} {...field('high_refresh_display')} />
          <NativeSelect label="Browsers" data={BROWSERS} {...field('browser_client')} />
        </div>
        <NativeSelect
          label="Who it is for"
          description="Launch profiles may list any rung."
          data={VISIBILITIES}
          {...field('visibility')}
        />
        <Checkbox
          label="Only on hosts with a hardware encoder"
          key={form.key('hardware_encoder_required')}
          {...form.getInputProps('hardware_encoder_required', { type: 'checkbox' })}
        />
      </Disclosure>
      {refusal !== null && <Problem error={refusal} />}
      <Button type="submit" variant="filled" loading={save.isPending}>
        {rung === null ? 'Add rung' : 'Save changes'}
      </Button>
    </form>
  );
}
