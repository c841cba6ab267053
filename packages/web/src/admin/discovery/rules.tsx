import type { AdminApp, LibraryRule } from '@footlight/protocol/rest';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { IconListDetails } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { Section } from '../frame/page-head.tsx';
import { tileOf } from './discovery-labels.ts';

const columns = (on: {
  nameOf: (rule: LibraryRule) => string;
  edit: (rule: LibraryRule) => void;
  remove: (rule: LibraryRule) => void;
}): readonly Column<LibraryRule>[] => [
  {
    head: msg('Title'),
    kind: 'name',
    title: (rule) => `${on.nameOf(rule)} ${rule.external_id}`.trim(),
    cell: (rule) => {
      const name = on.nameOf(rule);
      return (
        <span className="tabular">
          {name} <span className={name === '' ? undefined : styles.dim}>{rule.external_id}</span>
        </span>
      );
    },
  },
  {
    head: msg('Decision'),
    cell: ({ rule }) =>
      rule === 'allow' ? (
        <StateChip tone="success">{t('Publish')}</StateChip>
      ) : (
        <StateChip tone="neutral">{t('Keep out')}</StateChip>
      ),
  },
  { head: msg('Note'), kind: 'wrap', cell: (rule) => rule.note },
  { head: msg('Since'), cell: (rule) => <RelativeTime at={rule.created_at} /> },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (rule) => (
      <>
        <Button
          size="compact-sm"
          variant="subtle"
          aria-label={t('Change the decision about {title}', { title: rule.external_id })}
          onClick={() => on.edit(rule)}
        >
          {t('Change')}
        </Button>
        <EndButton
          label={t('Remove the decision about {title}', { title: rule.external_id })}
          onClick={() => on.remove(rule)}
        >
          {t('Remove')}
        </EndButton>
      </>
    ),
  },
];
const DECISIONS = [
  { value: 'ignore', label: msg('Keep out: never a tile') },
  { value: 'allow', label: msg('Publish: always a tile') },
];
/** Steam’s app numbers have 32 bits. */
const END = 2 ** 32;

/** Describes the error of a title's number; null: no error. */
export function titleProblem(number: string): string | null {
  const text = number.trim();
  return /^[1-9][0-9]{0,9}$/.test(text) && Number(text) < END ? null : t('A number such as 228980');
}

/**
 * Rules about titles of a launcher. They override the service's own decisions.
 * @param props.apps all apps, to find the name of a title
 */
export function Rules({ app, apps }: { app: AdminApp; apps: readonly AdminApp[] }) {
  const [editing, setEditing] = useState<LibraryRule | 'new' | null>(null);
  const [removing, setRemoving] = useState<LibraryRule | null>(null);
  const queryClient = useQueryClient();
  const query = useQuery({
    queryKey: adminKeys.libraryRules(app.id),
    queryFn: ({ signal }) => call('libraryRules.list', { params: { id: app.id }, signal }),
  });
  const unpublished = useQuery({
    queryKey: adminKeys.libraryUnpublished(app.id),
    queryFn: ({ signal }) => call('libraryUnpublished.list', { params: { id: app.id }, signal }),
  });
  const nameOf = (rule: LibraryRule): string =>
    tileOf(apps, app.id, rule)?.name ??
    unpublished.data?.items.find(
      (title) => title.external_source === rule.external_source && title.external_id === rule.external_id,
    )?.name ??
    '';
  const refresh = () =>
    Promise.all(
      [adminKeys.libraryRules(app.id), adminKeys.libraryUnpublished(app.id), adminKeys.adminApps].map(
        (queryKey) => queryClient.invalidateQueries({ queryKey }),
      ),
    );
  const remove = useMutation({
    mutationFn: (rule: LibraryRule) =>
      call('libraryRules.delete', { params: { id: app.id, external_id: rule.external_id } }),
    onMutate: () => notifications.clean(),
    onSuccess: () => {
      setRemoving(null);
      return refresh();
    },
  });
  const rules = query.data?.items;
  const add = (
    <Button size="sm" onClick={() => setEditing('new')}>
      {t('Add a decision')}
    </Button>
  );
  return (
    <Section
      title={t('Your decisions about titles of {app}', { app: app.name })}
      busy={query.isPending}
      actions={rules?.length === 0 ? undefined : add}
    >
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {rules?.length === 0 ? (
        <EmptyState icon={IconListDetails} title={t('No decisions')} action={add}>
          {t('The service publishes what looks like a game. Your decision about a title overrides it.')}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Decisions')}
          columns={columns({ nameOf, edit: setEditing, remove: setRemoving })}
          rows={rules}
          rowKey={(rule) => `${rule.external_source} ${rule.external_id}`}
          loadingRows={2}
        />
      )}
      <RuleDialog
        key={editing === null ? 'none' : editing === 'new' ? 'new' : editing.external_id}
        app={app}
        rule={editing}
        onSaved={refresh}
        onClose={() => setEditing(null)}
      />
      <ConfirmDialog
        opened={removing !== null}
        title={t('Remove the decision about {title}?', { title: removing?.external_id ?? '' })}
        action={t('Remove 1 decision')}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => removing !== null && remove.mutate(removing)}
        onClose={() => {
          setRemoving(null);
          remove.reset();
        }}
      >
        <p>
          {t(
            'Nothing changes at once. At the next search of a home the service decides whether people see the title.',
          )}
        </p>
      </ConfirmDialog>
    </Section>
  );
}

function RuleDialog(props: {
  app: AdminApp;
  rule: LibraryRule | 'new' | null;
  onSaved: () => Promise<unknown>;
  onClose: () => void;
}) {
  const { app, rule, onSaved, onClose } = props;
  const stored = rule === 'new' ? null : rule;
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: {
      external_id: stored?.external_id ?? '',
      rule: (stored?.rule ?? 'ignore') as string,
      note: stored?.note ?? '',
    },
    validate: { external_id: titleProblem },
  });
  const save = useMutation({
    mutationFn: (values: { external_id: string; rule: string; note: string }) =>
      call('libraryRules.set', {
        params: { id: app.id, external_id: values.external_id.trim() },
        body: { rule: values.rule as LibraryRule['rule'], note: values.note.trim() },
      }),
    onMutate: () => notifications.clean(),
    onSuccess: ({ rule: saved, disabled, revoked }) => {
      const effect = [
        disabled ? t('its tile was switched off') : '',
        revoked > 0 ? plural(revoked, '{n} person has lost it', '{n} people have lost it') : '',
      ].filter(Boolean);
      notifications.show({
        message:
          effect.length === 0
            ? t('The decision about {title} was saved', { title: saved.external_id })
            : t('The decision about {title} was saved: {effects}', {
                title: saved.external_id,
                effects: effect.join(', '),
              }),
        autoClose: 6000,
      });
      onClose();
      return onSaved();
    },
  });
  const refusal = useRefusal(form, save.error);
  return (
    <Dialog
      opened={rule !== null}
      title={
        stored === null
          ? t('A title of {app}', { app: app.name })
          : t('Title {number}', { number: stored.external_id })
      }
      onClose={onClose}
    >
      <form
        className={styles.form}
        onSubmit={form.onSubmit((values) => save.mutate(values), focusFirstError)}
        noValidate
      >
        <TextInput
          label={t('Number of the title')}
          description={t('The number in the address of the title’s page in the store.')}
          inputMode="numeric"
          disabled={stored !== null}
          {...(stored === null ? { 'data-autofocus': true } : {})}
          key={form.key('external_id')}
          {...form.getInputProps('external_id')}
        />
        <NativeSelect
          label={t('Decision')}
          description={t(
            'Keeping a title out switches its tile off at once, for everybody who got it by discovery.',
          )}
          data={DECISIONS.map((option) => ({ ...option, label: t(option.label) }))}
          key={form.key('rule')}
          {...form.getInputProps('rule')}
        />
        <TextInput
          label={t('Note')}
          description={t('Why, for other administrators.')}
          maxLength={512}
          key={form.key('note')}
          {...form.getInputProps('note')}
        />
        {refusal !== null && <Problem error={refusal} />}
        <Button type="submit" variant="filled" loading={save.isPending}>
          {t('Save the decision')}
        </Button>
      </form>
    </Dialog>
  );
}
