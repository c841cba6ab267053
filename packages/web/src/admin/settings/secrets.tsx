import type { SecretStatus } from '@footlight/protocol/rest';
import { Button, PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { Section } from '../frame/page-head.tsx';
import { MasterKey } from './master-key.tsx';
import { secretText } from './secret-texts.ts';

/** Keys of other services; they can be written but not read. */
export function Secrets() {
  const [setting, setSetting] = useState<SecretStatus | null>(null);
  const [clearing, setClearing] = useState<SecretStatus | null>(null);
  const queryClient = useQueryClient();
  const list = useQuery({
    queryKey: adminKeys.secrets,
    queryFn: ({ signal }) => call('secrets.list', { signal }),
  });
  const clear = useMutation({
    mutationFn: (secret: SecretStatus) => call('secrets.clear', { params: { name: secret.name } }),
    onSuccess: (_answer, secret) => {
      setClearing(null);
      notifications.show({
        message: t('{name} was removed', { name: secretText(secret.label) }),
        autoClose: 4000,
      });
      return queryClient.invalidateQueries({ queryKey: adminKeys.secrets });
    },
  });
  const keyless = list.data?.master_key_configured === false;
  return (
    <Section title={t('Secrets')} busy={list.isPending}>
      <div className={styles.form}>
        {list.isError && <Problem error={list.error} retry={() => void list.refetch()} />}
        {keyless && <MasterKey />}
        {list.data === undefined && !list.isError && <Skeleton height={96} radius={14} />}
        {list.data?.secrets.map((secret) => (
          <div key={secret.name} className={styles.sheet}>
            <div className={styles.sectionHead}>
              <div className={styles.pickName}>
                <strong>{secretText(secret.label)}</strong>
                <span className={styles.dim}>
                  {secretText(secret.description)}{' '}
                  <a href={secret.docs_url} target="_blank" rel="noreferrer">
                    {t('Where to get it')}
                  </a>
                </span>
              </div>
              <SecretChip secret={secret} />
            </div>
            <div className={styles.filters} style={{ marginTop: 12 }}>
              <Button size="sm" disabled={keyless} onClick={() => setSetting(secret)}>
                {secret.configured ? t('Replace') : t('Set')}
              </Button>
              {secret.configured && (
                <Button size="sm" color="danger" variant="subtle" onClick={() => setClearing(secret)}>
                  {t('Remove')}
                </Button>
              )}
              <span className={styles.dim}>
                {secret.configured && secret.hint !== '' && `${t('Ends in {hint}.', { hint: secret.hint })} `}
                {secret.updated_at !== null &&
                  rich('Stored {time}.', { time: <RelativeTime key="time" at={secret.updated_at} /> })}
                {secret.origin === 'environment' &&
                  t("Taken from {variable} of the server's environment.", { variable: secret.env_var })}
              </span>
            </div>
            {secret.problem !== undefined && <p className={styles.dim}>{secretText(secret.problem)}</p>}
          </div>
        ))}
      </div>
      <SetSecret secret={setting} onClose={() => setSetting(null)} />
      <ConfirmDialog
        opened={clearing !== null}
        title={t('Remove the {name}?', {
          name: clearing === null ? t('secret') : secretText(clearing.label),
        })}
        action={t('Remove 1 secret')}
        pending={clear.isPending}
        error={clear.error}
        onConfirm={() => clearing !== null && clear.mutate(clearing)}
        onClose={() => setClearing(null)}
      >
        <p>
          {clearing?.env_set
            ? t(
                "The features that use it stop working, or continue with {variable} of the server's environment.",
                { variable: clearing.env_var },
              )
            : t('The features that use it stop working.')}
        </p>
      </ConfirmDialog>
    </Section>
  );
}

function SecretChip({ secret }: { secret: SecretStatus }) {
  if (secret.configured && !secret.readable)
    return <StateChip tone="danger">{t('Cannot be read')}</StateChip>;
  if (secret.origin === 'none') return <StateChip tone="neutral">{t('Not set')}</StateChip>;
  return <StateChip tone="success">{t('Is set')}</StateChip>;
}

function SetSecret({ secret, onClose }: { secret: SecretStatus | null; onClose: () => void }) {
  const queryClient = useQueryClient();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { value: '' },
    validate: { value: (value) => (value.trim() === '' ? t('Enter the value') : null) },
  });
  const close = () => {
    onClose();
    form.reset();
    save.reset();
  };
  const save = useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) =>
      call('secrets.set', { params: { name }, body: { value } }),
    onSuccess: async () => {
      notifications.show({
        message:
          secret === null ? t('It was stored') : t('{name} was stored', { name: secretText(secret.label) }),
        autoClose: 4000,
      });
      close();
      await queryClient.invalidateQueries({ queryKey: adminKeys.secrets });
    },
  });
  const refusal = useRefusal(form, save.error);
  return (
    <Dialog opened={secret !== null} title={secret === null ? '' : secretText(secret.label)} onClose={close}>
      <form
        className={styles.form}
        onSubmit={form.onSubmit(({ value }) => {
          if (secret !== null) save.mutate({ name: secret.name, value });
        }, focusFirstError)}
        noValidate
      >
        <PasswordInput
          label={t('Value')}
          description={t('Stored encrypted. You can replace it, but nobody can read it again.')}
          autoComplete="off"
          data-autofocus
          key={form.key('value')}
          {...form.getInputProps('value')}
        />
        {refusal !== null && <Problem error={refusal} />}
        <Button type="submit" variant="filled" loading={save.isPending}>
          {t('Store it')}
        </Button>
      </form>
    </Dialog>
  );
}
