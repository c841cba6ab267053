import type { AdminApp, SentBody } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { readUser } from '../../api/auth-store.ts';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { msg, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { useEffectOf } from '../frame/deletion/deletion-effects.tsx';
import { Section } from '../frame/page-head.tsx';
import { type Access, accessLabel, accessOf, lossLabel } from './launcher-access-labels.ts';

type Mode = SentBody<'libraryProviders.setEntitlementMode'>['mode'];

/** The question before each choice, and the message after the change. */
const CHOICES: Readonly<Record<Mode, (app: string) => { title: string; action: string; done: string }>> = {
  all: (app) => ({
    title: t('Give {app} to everybody?', { app }),
    action: t('Give {app} to everybody', { app }),
    done: t('Everybody may use {app} now', { app }),
  }),
  user: (app) => ({
    title: t('Give {app} to you alone?', { app }),
    action: t('Give {app} to you alone', { app }),
    done: t('You alone may use {app} now', { app }),
  }),
  none: (app) => ({
    title: t('Take {app} from everybody?', { app }),
    action: t('Take {app} from everybody', { app }),
    done: t('Nobody may use {app} now', { app }),
  }),
};
const BUTTONS: readonly { mode: Mode; label: string }[] = [
  { mode: 'all', label: msg('Give to everybody') },
  { mode: 'user', label: msg('Give to me alone') },
  { mode: 'none', label: msg('Take from everybody') },
];

/** Shows who may use a launcher. Each of three buttons replaces all of its grants. */
export function LauncherAccess({ app }: { app: AdminApp }) {
  const [choosing, setChoosing] = useState<Mode | null>(null);
  const queryClient = useQueryClient();
  const query = useQuery({
    queryKey: adminKeys.entitlements(app.id),
    queryFn: ({ signal }) => call('entitlements.list', { params: { id: app.id }, signal }),
  });
  const set = useMutation({
    mutationFn: (mode: Mode) =>
      call('libraryProviders.setEntitlementMode', {
        params: { provider: app.library_provider },
        body: { mode },
      }),
    onMutate: () => notifications.clean(),
    onSuccess: ({ entitlement_mode }) => {
      setChoosing(null);
      const { app_id, mode, items } = entitlement_mode;
      notifications.show({ message: CHOICES[mode](app.name).done, autoClose: 6000 });
      queryClient.setQueryData(adminKeys.entitlements(app_id), { items });
    },
  });
  const grants = query.data?.items;
  const access = grants && accessOf(grants, readUser()?.id);
  const question = choosing === null ? null : CHOICES[choosing](app.name);
  return (
    <Section title={t('Who may use {app}', { app: app.name })} busy={query.isPending}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {access === undefined ? (
        !query.isError && <Skeleton height={96} radius={14} />
      ) : (
        <div className={styles.sheet}>
          <p>
            {accessLabel(access)}{' '}
            {rich(
              'Individual people get it on {page}. Each game of it belongs to the people who have installed it.',
              {
                page: (
                  <Link key="page" to="/admin/apps/$id" params={{ id: app.id }}>
                    {t('its page')}
                  </Link>
                ),
              },
            )}
          </p>
          <div className={styles.filters} style={{ marginTop: 12 }}>
            {BUTTONS.map(({ mode, label }) => (
              <Button
                key={mode}
                size="sm"
                disabled={access.mode === mode}
                {...(mode === 'none' && { color: 'danger' })}
                onClick={() => setChoosing(mode)}
              >
                {t(label)}
              </Button>
            ))}
          </div>
        </div>
      )}
      <ConfirmDialog
        opened={question !== null}
        title={question?.title ?? ''}
        action={question?.action ?? ''}
        harmless={choosing === 'all'}
        pending={set.isPending}
        error={set.error}
        onConfirm={() => choosing !== null && set.mutate(choosing)}
        onClose={() => {
          setChoosing(null);
          set.reset();
        }}
      >
        {choosing === 'all' && <p>{t('It is in every library then, also in those of later accounts.')}</p>}
        {choosing !== null && choosing !== 'all' && access !== undefined && (
          <Loss access={access} keepsOwn={choosing === 'user'} />
        )}
      </ConfirmDialog>
    </Section>
  );
}

/** The number of people who lose the launcher. @param keepsOwn the signed-in person does not lose it */
function Loss({ access, keepsOwn }: { access: Access; keepsOwn: boolean }) {
  return access.everybodyId === null ? (
    <p>{lossLabel(access, 0, keepsOwn)}</p>
  ) : (
    <LossOfAll access={access} keepsOwn={keepsOwn} everybodyId={access.everybodyId} />
  );
}

/** The number of people who have the launcher only by the grant for everybody, counted by the server. */
function LossOfAll(props: { access: Access; keepsOwn: boolean; everybodyId: string }) {
  const effect = useEffectOf(props.everybodyId);
  if (effect.isError) return <p>{t('The number of people who lose it could not be counted.')}</p>;
  if (effect.data === undefined) return <Skeleton height={24} radius={8} />;
  return <p>{lossLabel(props.access, effect.data.people, props.keepsOwn)}</p>;
}
