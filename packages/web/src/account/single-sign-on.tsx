import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { Problem } from '../components/problem.tsx';
import { t } from '../i18n/translate.ts';
import { providerName } from './provider-name.ts';
import { rememberTarget } from './sign-on-target.ts';

/** The button that logs in with the identity provider; nothing if there is none. @param target page after the login */
export function SingleSignOn({ target }: { target: string }) {
  const start = useMutation({
    mutationFn: () => call('auth.oidcStart', {}),
    onSuccess: ({ url }) => {
      rememberTarget(target);
      window.location.assign(url);
    },
  });
  const name = providerName();
  if (name === null) return null;
  return (
    <>
      {start.isError && <Problem error={start.error} />}
      <Button size="md" loading={start.isPending} onClick={() => start.mutate()}>
        {t('Log in with {name}', { name })}
      </Button>
    </>
  );
}
