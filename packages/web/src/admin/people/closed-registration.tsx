import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';

/**
 * Explains that nobody can use invites while registration is closed. Its button opens registration for invited people.
 */
export function ClosedRegistration() {
  const queryClient = useQueryClient();
  const settings = useQuery({
    queryKey: adminKeys.settings,
    queryFn: ({ signal }) => call('settings.read', { signal }),
  });
  const open = useMutation({
    mutationFn: () => call('settings.update', { body: { registration_mode: 'invite_only' } }),
    onSuccess: (answer) => {
      queryClient.setQueryData(adminKeys.settings, answer);
      notifications.show({ message: t('People with an invite may register now'), autoClose: 4000 });
    },
  });
  const mode = settings.data?.settings.registration_mode;
  if (mode === undefined || mode === 'invite_only') return null;
  return (
    <div className={styles.note}>
      <p>
        {mode === 'closed'
          ? t('Registration is closed, so no invite works yet.')
          : t('Registration is open: nobody needs an invite, and an invite gives no role.')}{' '}
        {rich('Change this here or in the {settings}.', {
          settings: (
            <Link key="settings" to="/admin/settings">
              {t('settings')}
            </Link>
          ),
        })}
      </p>
      {open.isError && <Problem error={open.error} />}
      <Button size="xs" loading={open.isPending} onClick={() => open.mutate()}>
        {mode === 'closed' ? t('Allow registration with an invite') : t('Require an invite for registration')}
      </Button>
    </div>
  );
}
