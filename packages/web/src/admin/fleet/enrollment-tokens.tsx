import type { EnrollmentToken, Host } from '@footlight/protocol/rest';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconKey } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { textRule } from '../frame/bound-rules.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { Section } from '../frame/page-head.tsx';
import { useHosts } from './use-fleet.ts';

const columns = (
  hosts: readonly Host[],
  onDelete: (token: EnrollmentToken) => void,
): readonly Column<EnrollmentToken>[] => [
  {
    head: msg('Note'),
    kind: 'name',
    sort: 'note',
    by: (token) => token.note,
    cell: (token) => token.note || <span className={styles.dim}>{t('no note')}</span>,
  },
  { head: msg('State'), cell: (token) => <TokenChip token={token} /> },
  {
    head: msg('For host'),
    cell: (token) =>
      token.host_id === null ? (
        (token.node_name ?? <span className={styles.dim}>{t('any new one')}</span>)
      ) : (
        <Link to="/admin/hosts/$id" params={{ id: token.host_id }}>
          {hosts.find(({ id }) => id === token.host_id)?.node_name ?? token.node_name ?? t('Open host')}
        </Link>
      ),
  },
  {
    head: msg('Made'),
    sort: 'made',
    by: (token) => token.created_at,
    cell: (token) => <RelativeTime at={token.created_at} />,
  },
  {
    head: msg('Ends'),
    sort: 'ends',
    by: (token) => token.expires_at,
    cell: (token) => <RelativeTime at={token.expires_at} />,
  },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (token) => (
      <EndButton
        label={t('Delete token {name}', { name: token.note || token.id })}
        onClick={() => onDelete(token)}
      >
        {t('Delete')}
      </EndButton>
    ),
  },
];
const LIFETIMES = [
  { value: '3600', label: msg('1 hour') },
  { value: '86400', label: msg('1 day') },
  { value: '604800', label: msg('7 days') },
];
const bounds = bodyBounds['enrollmentTokens.create'];

export const tokenRules = {
  note: textRule(bounds.note, {}),
  nodeName: textRule(bounds.node_name, {
    pattern: msg('Small letters, digits, dots, dashes and underscores, starting with a letter or digit'),
  }),
};

/** Enrollment tokens, each for one machine. */
export function EnrollmentTokens() {
  const hosts = useHosts().data?.items ?? [];
  const [deleting, setDeleting] = useState<EnrollmentToken | null>(null);
  const queryClient = useQueryClient();
  const [search, setSearch] = useListSearch(['tokens']);
  const tokens = useQuery({
    queryKey: adminKeys.enrollmentTokens,
    queryFn: ({ signal }) => call('enrollmentTokens.list', { signal }),
    refetchInterval: 10_000,
  });
  const remove = useMutation({
    mutationFn: (token: EnrollmentToken) => call('enrollmentTokens.delete', { params: { id: token.id } }),
    onSuccess: () => {
      setDeleting(null);
      return queryClient.invalidateQueries({ queryKey: adminKeys.enrollmentTokens });
    },
  });
  return (
    <Section title={t('Enrollment tokens')} busy={tokens.isPending}>
      {tokens.isError && <Problem error={tokens.error} retry={() => void tokens.refetch()} />}
      {tokens.data?.items.length === 0 ? (
        <EmptyState icon={IconKey} title={t('No tokens')}>
          {t('Each host that you add gets one: it lets the agent of one new machine connect.')}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Enrollment tokens')}
          columns={columns(hosts, setDeleting)}
          rows={tokens.data?.items}
          rowKey={(token) => token.id}
          order={{ sort: search.tokens, onSort: (sort) => setSearch({ tokens: sort ?? '' }) }}
          loadingRows={2}
        />
      )}
      <ConfirmDialog
        opened={deleting !== null}
        title={
          deleting?.note ? t('Delete the token “{name}”?', { name: deleting.note }) : t('Delete this token?')
        }
        action={t('Delete 1 token')}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => deleting !== null && remove.mutate(deleting)}
        onClose={() => setDeleting(null)}
      >
        <p>{t('No machine can enroll with it any more. Hosts that are already enrolled stay.')}</p>
      </ConfirmDialog>
    </Section>
  );
}

function TokenChip({ token }: { token: EnrollmentToken }) {
  if (token.used_at !== null) return <StateChip tone="success">{t('Used')}</StateChip>;
  if (Date.parse(token.expires_at) <= clock.nowMs())
    return <StateChip tone="neutral">{t('Expired')}</StateChip>;
  return <StateChip tone="info">{t('Waiting')}</StateChip>;
}

/** Creates a token and shows the install command once. */
export function AddHost({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const queryClient = useQueryClient();
  const make = useMutation({
    mutationFn: (values: { note: string; nodeName: string; ttl: string }) =>
      call('enrollmentTokens.create', {
        body: {
          note: values.note.trim(),
          ttl_seconds: Number(values.ttl),
          ...(values.nodeName.trim() === '' ? {} : { node_name: values.nodeName.trim() }),
        },
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: adminKeys.enrollmentTokens }),
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { note: '', nodeName: '', ttl: '3600' },
    validate: tokenRules,
  });
  const refusal = useRefusal(form, make.error, { node_name: 'nodeName', ttl_seconds: 'ttl' });
  const close = () => {
    onClose();
    make.reset();
    form.reset();
  };
  const made = make.data;
  return (
    <Dialog
      opened={opened}
      onClose={close}
      title={made === undefined ? t('Add a host') : t('Run this on the new machine')}
    >
      {made === undefined ? (
        <form
          className={styles.form}
          onSubmit={form.onSubmit((values) => make.mutate(values), focusFirstError)}
          noValidate
        >
          <p>{t('You get a command that installs the agent on another machine and connects it.')}</p>
          <TextInput
            label={t('Note')}
            description={t('To recognise its token in the list. You may leave it empty.')}
            data-autofocus
            key={form.key('note')}
            {...form.getInputProps('note')}
          />
          <TextInput
            label={t('Only for the host named')}
            description={t('Leave empty for any new name. Needed to enroll a known host again.')}
            key={form.key('nodeName')}
            {...form.getInputProps('nodeName')}
          />
          <NativeSelect
            label={t('Good for')}
            data={LIFETIMES.map(({ value, label }) => ({ value, label: t(label) }))}
            key={form.key('ttl')}
            {...form.getInputProps('ttl')}
          />
          {refusal !== null && <Problem error={refusal} />}
          <Button type="submit" variant="filled" loading={make.isPending}>
            {t('Show the command')}
          </Button>
        </form>
      ) : (
        <div className={styles.stack}>
          <CopyLine value={made.command} label={t('line that adds the host')} />
          <p>
            {t(
              'Paste it into a shell of a Debian 12 machine. It installs the agent, connects it, and reports what the machine still lacks. The host then appears here.',
            )}
          </p>
          <p className={styles.dim}>
            {rich('It is shown only now, works for one machine, and expires {time}.', {
              time: <RelativeTime key="time" at={made.expires_at} />,
            })}
          </p>
          <Disclosure label={t('The token alone')}>
            <p className={styles.dim}>
              {t('For an agent that you start from a checkout: the value of SERVICE_ENROLLMENT_TOKEN.')}
            </p>
            <CopyLine value={made.token} label={t('enrollment token')} />
          </Disclosure>
          <Button variant="filled" onClick={close}>
            {t('I have it')}
          </Button>
        </div>
      )}
    </Dialog>
  );
}
