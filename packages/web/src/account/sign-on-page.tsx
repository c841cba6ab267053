import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { errorText, type SignOnCode, type Texts } from '../api/error-text.ts';
import { loginPath } from '../api/next-path.ts';
import { keys } from '../api/query-keys.ts';
import { TechnicalDetails } from '../components/technical-details.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { msg, t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { AuthCard } from './auth-card.tsx';
import { rememberedTarget } from './sign-on-target.ts';

const TEXTS: Readonly<Record<SignOnCode, Texts>> = {
  sign_in_expired: [
    msg('This login has expired'),
    msg('It took too long, or was started in another browser or at another address. Log in again.'),
  ],
  sign_in_not_confirmed: [
    msg('The login was not confirmed'),
    msg('Log in again. If it fails again, tell an administrator.'),
  ],
  account_disabled: [msg('Your account is disabled'), msg('Ask an administrator to enable it again.')],
  account_not_linked: [
    msg('Another account has your email address'),
    msg('If it is yours, log in with its password, or ask an administrator for help.'),
  ],
};

/** Title and advice for a failed login, and the code to quote. */
function failureText(error: unknown) {
  const usual = errorText(error);
  const own =
    error instanceof ApiFailure ? (TEXTS as Record<string, Texts | undefined>)[error.code] : undefined;
  return own === undefined ? usual : { ...usual, title: t(own[0]), advice: t(own[1]) };
}

/** The page to which the identity provider sends the browser back. It finishes the login. */
export function SignOnPage() {
  usePageTitle(t('Log in'));
  const [answer] = useState(() => window.location.search.slice(1));
  // The code in the address is useless after this login. It is removed, so that a reload does not send it again.
  useEffect(() => window.history.replaceState(window.history.state, '', '/login/callback'), []);
  // A query and not a mutation, because each answer must be sent only once, even if the page is rendered twice.
  const login = useQuery({
    queryKey: keys.signOn,
    queryFn: () => call('auth.oidcFinish', { body: { answer, device_key: deviceKey() } }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  useEffect(() => {
    if (login.data === undefined) return;
    saveLogin(login.data);
    const target = rememberedTarget();
    const isForAdmin = /^\/admin(\/|\?|$)/.test(target);
    // The login page explains that a page is only for administrators.
    const mayOpen = !isForAdmin || login.data.user.role === 'admin';
    window.location.replace(mayOpen ? target : loginPath(target));
  }, [login.data]);
  if (!login.isError)
    return (
      <AuthCard title={t('Log in')} lead={t('One moment, you are being logged in.')}>
        {null}
      </AuthCard>
    );
  const { title, advice, code } = failureText(login.error);
  return (
    <AuthCard title={title} lead={advice}>
      <div className={styles.form}>
        <Button variant="filled" size="md" component="a" href={loginPath(rememberedTarget())}>
          {t('Go to the login')}
        </Button>
        <TechnicalDetails code={code} />
      </div>
    </AuthCard>
  );
}
