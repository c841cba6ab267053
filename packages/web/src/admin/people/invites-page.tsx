import type { Invite, MintedInvite } from '@footlight/protocol/rest';
import { Button, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconMailPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
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
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule, textRule } from '../frame/bound-rules.ts';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { ClosedRegistration } from './closed-registration.tsx';
import { LinkAddress, linkBase } from './link-address.tsx';

const columns = (onRevoke: (invite: Invite) => void): readonly Column<Invite>[] => [
  {
    head: msg('Note'),
    kind: 'name',
    sort: 'note',
    by: (invite) => invite.note,
    cell: (invite) => (
      <>
        {invite.note ?? <span className={styles.dim}>{t('no note')}</span>}{' '}
        <span className={`${styles.dim} ${styles.mono}`}>{invite.code_prefix}</span>
      </>
    ),
  },
  { head: msg('State'), cell: (invite) => <InviteChip invite={invite} /> },
  {
    head: msg('Role'),
    sort: 'role',
    by: (invite) => invite.role,
    cell: (invite) => (invite.role === 'admin' ? t('Administrator') : t('User')),
  },
  {
    head: msg('Used'),
    kind: 'number',
    sort: 'used',
    by: (invite) => invite.used_count,
    cell: (invite) => t('{n} of {total}', { n: invite.used_count, total: invite.max_uses }),
  },
  {
    head: msg('Ends'),
    sort: 'ends',
    by: (invite) => invite.expires_at,
    cell: (invite) => <RelativeTime at={invite.expires_at} />,
  },
  {
    head: msg('Made by'),
    sort: 'by',
    by: (invite) => invite.created_by_username ?? null,
    cell: (invite) => invite.created_by_username ?? <span className={styles.dim}>{t('unknown')}</span>,
  },
  {
    head: msg('Made'),
    sort: 'made',
    by: (invite) => invite.created_at,
    cell: (invite) => <RelativeTime at={invite.created_at} />,
  },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (invite) =>
      isOpen(invite) && (
        <EndButton
          label={t('Withdraw invite {invite}', { invite: invite.note ?? invite.code_prefix })}
          onClick={() => onRevoke(invite)}
        >
          {t('Withdraw')}
        </EndButton>
      ),
  },
];
const OPEN = msg('Still valid');
const STATES = [
  { value: 'pending', label: OPEN },
  { value: 'all', label: msg('All') },
] as const;
type State = (typeof STATES)[number]['value'];
const bounds = bodyBounds['invites.create'];
export const inviteRules = { note: textRule(bounds.note, {}), max_uses: numberRule(bounds.max_uses) };
const DAY_MS = 24 * 60 * 60 * 1000;
const LIFETIMES = [
  { value: '1', label: msg('1 day') },
  { value: '7', label: msg('7 days') },
  { value: '30', label: msg('30 days') },
  { value: '', label: msg('No end') },
];

/** Invites: list, create, revoke. */
export function InvitesPage() {
  usePageTitle(t('Invites'));
  const [search, setSearch] = useListSearch(['state', 'sort']);
  const state: State = search.state === 'all' ? 'all' : 'pending';
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Invite | null>(null);
  const queryClient = useQueryClient();
  const list = useQuery({
    queryKey: adminKeys.inviteList(state),
    queryFn: ({ signal }) => call('invites.list', { query: { state }, signal }),
  });
  const revoke = useMutation({
    mutationFn: (invite: Invite) => call('invites.revoke', { params: { id: invite.id } }),
    onSuccess: () => {
      setRevoking(null);
      return queryClient.invalidateQueries({ queryKey: adminKeys.invites });
    },
  });
  const invites = list.data?.invites;
  // Without a valid invite, the page says whether invites were made at all.
  const isEmpty = invites?.length === 0;
  const all = useQuery({
    queryKey: adminKeys.inviteList('all'),
    queryFn: ({ signal }) => call('invites.list', { query: { state: 'all' }, signal }),
    enabled: isEmpty && state === 'pending',
  });
  const hadInvites = state === 'pending' && all.data?.invites.length !== 0;
  const make = (
    <Button variant="filled" leftSection={<IconMailPlus size={18} />} onClick={() => setMaking(true)}>
      {t('Make an invite')}
    </Button>
  );
  return (
    <>
      <PageHead title={t('Invites')} back={{ to: '/admin/users', label: t('Users') }} actions={make} />
      <ClosedRegistration />
      <div className={styles.filters}>
        <SegmentedChoice
          label={t('State')}
          value={state}
          options={STATES.map((option) => ({ ...option, label: t(option.label) }))}
          onChange={(next) => setSearch({ ...search, state: next })}
        />
      </div>
      {list.isError && <Problem error={list.error} retry={() => void list.refetch()} />}
      {isEmpty ? (
        <EmptyState
          icon={IconMailPlus}
          title={hadInvites ? t('No invite is still valid') : t('No invites yet')}
        >
          {t(
            'An invite lets a number of people register, with the role that you choose. Its code is shown once.',
          )}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Invites')}
          columns={columns(setRevoking)}
          rows={invites}
          rowKey={(invite) => invite.id}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
        />
      )}
      <MakeInvite opened={making} onClose={() => setMaking(false)} />
      <ConfirmDialog
        opened={revoking !== null}
        title={t('Withdraw the invite {invite}?', { invite: revoking?.note ?? revoking?.code_prefix ?? '' })}
        action={t('Withdraw 1 invite')}
        pending={revoke.isPending}
        error={revoke.error}
        onConfirm={() => revoking !== null && revoke.mutate(revoking)}
        onClose={() => setRevoking(null)}
      >
        <p>
          {t('It can no longer be used to register.')}{' '}
          {revoking !== null && revoking.used_count > 0
            ? plural(revoking.used_count, '{n} account made with it stay.', '{n} accounts made with it stay.')
            : t('Nobody has used it.')}
        </p>
      </ConfirmDialog>
    </>
  );
}

function isOpen(invite: Invite): boolean {
  const expired = invite.expires_at !== null && Date.parse(invite.expires_at) <= clock.nowMs();
  return invite.revoked_at === null && !expired && invite.used_count < invite.max_uses;
}

function InviteChip({ invite }: { invite: Invite }) {
  if (invite.revoked_at !== null) return <StateChip tone="neutral">{t('Withdrawn')}</StateChip>;
  if (invite.used_count >= invite.max_uses) return <StateChip tone="success">{t('Used')}</StateChip>;
  if (!isOpen(invite)) return <StateChip tone="neutral">{t('Expired')}</StateChip>;
  return <StateChip tone="info">{t(OPEN)}</StateChip>;
}

function MakeInvite({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const queryClient = useQueryClient();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { note: '', role: 'user', max_uses: 1 as number | string, days: '7' },
    validate: inviteRules,
  });
  const make = useMutation({
    mutationFn: (values: { note: string; role: string; max_uses: number | string; days: string }) =>
      call('invites.create', {
        body: {
          role: values.role as Invite['role'],
          max_uses: Number(values.max_uses),
          note: values.note.trim() === '' ? null : values.note.trim(),
          expires_at:
            values.days === '' ? null : new Date(clock.nowMs() + Number(values.days) * DAY_MS).toISOString(),
        },
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: adminKeys.invites }),
  });
  const refusal = useRefusal(form, make.error, { expires_at: 'days' });
  const close = () => {
    onClose();
    make.reset();
    form.reset();
  };
  return (
    <Dialog
      opened={opened}
      onClose={close}
      title={make.data === undefined ? t('Make an invite') : t('Your invite')}
    >
      {make.data === undefined ? (
        <form
          className={styles.form}
          onSubmit={form.onSubmit((values) => make.mutate(values), focusFirstError)}
          noValidate
        >
          <TextInput
            label={t('Note')}
            description={t('To recognise it in the list. Only administrators see it.')}
            data-autofocus
            key={form.key('note')}
            {...form.getInputProps('note')}
          />
          <div className={styles.pair}>
            <NumberInput
              label={t('Good for')}
              description={t('How many accounts.')}
              min={1}
              allowDecimal={false}
              key={form.key('max_uses')}
              {...form.getInputProps('max_uses')}
            />
            <NativeSelect
              label={t('Valid for')}
              description={t('Counted from now.')}
              data={LIFETIMES.map((option) => ({ ...option, label: t(option.label) }))}
              key={form.key('days')}
              {...form.getInputProps('days')}
            />
          </div>
          <NativeSelect
            label={t('Role of the new accounts')}
            data={[
              { value: 'user', label: t('User') },
              { value: 'admin', label: t('Administrator: may do everything here') },
            ]}
            key={form.key('role')}
            {...form.getInputProps('role')}
          />
          {refusal !== null && <Problem error={refusal} />}
          <Button type="submit" variant="filled" loading={make.isPending}>
            {t('Make invite')}
          </Button>
        </form>
      ) : (
        <Minted invite={make.data.invite} onDone={close} />
      )}
    </Dialog>
  );
}

/** The new code, shown once as a registration link. */
function Minted({ invite, onDone }: { invite: MintedInvite; onDone: () => void }) {
  const access = useQuery({
    queryKey: adminKeys.accessCheck,
    queryFn: ({ signal }) => call('access.check', { signal }),
    enabled: invite.invite_url === undefined,
  });
  const base = linkBase(window.location.origin, access.data);
  const link = invite.invite_url ?? `${base.address}/register?invite=${invite.code}`;
  return (
    <div className={styles.stack}>
      <ClosedRegistration />
      <p>
        {invite.max_uses === 1
          ? t('Send this link to the person.')
          : plural(
              invite.max_uses,
              'Send this link to up to {n} person.',
              'Send this link to up to {n} people.',
            )}{' '}
        {invite.expires_at === null
          ? t('It is shown only now.')
          : rich('It is shown only now, and ends {time}.', {
              time: <RelativeTime key="time" at={invite.expires_at} />,
            })}
      </p>
      <CopyLine value={link} label={t('invite link')} />
      <LinkAddress source={invite.invite_url === undefined ? base.source : 'configured'} url={link} />
      <p>{t('Or give them the code alone:')}</p>
      <CopyLine value={invite.code} label={t('invite code')} />
      <Button variant="filled" onClick={onDone}>
        {t('I have it')}
      </Button>
    </div>
  );
}
