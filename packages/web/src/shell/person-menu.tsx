import { isTerminal } from '@footlight/protocol/session-states';
import { IconCheck, IconDeviceDesktop, IconLogout, IconMoon, IconSun, IconUser } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useRouterState } from '@tanstack/react-router';
import { type FocusEvent, type KeyboardEvent, useRef, useState } from 'react';
import { signOut } from '../account/sign-out.ts';
import { useUser } from '../api/auth-store.ts';
import { LanguageLinks } from '../components/language-links.tsx';
import { msg, plural, t } from '../i18n/translate.ts';
import { ownSessionsQuery } from '../launch/own-sessions.ts';
import { chooseScheme, useSchemeChoice } from '../theme/scheme.ts';
import styles from './shell.module.css';

const SCHEMES = [
  { value: 'auto', label: msg('Same as the system'), icon: IconDeviceDesktop },
  { value: 'dark', label: msg('Dark'), icon: IconMoon },
  { value: 'light', label: msg('Light'), icon: IconSun },
] as const;

/** The signed-in person's menu: account, appearance, sign-out. It is a disclosure, so Tab moves through its links. */
export function PersonMenu({ up = false }: { up?: boolean }) {
  const user = useUser();
  const choice = useSchemeChoice();
  const isUserArea = useRouterState({ select: ({ location }) => location.pathname.startsWith('/app') });
  const [open, setOpen] = useState(false);
  const sessions = useQuery({ ...ownSessionsQuery, enabled: open });
  const live =
    sessions.data?.items.filter(({ state }) => !isTerminal(state) && state !== 'stopping').length ?? 0;
  const opener = useRef<HTMLButtonElement>(null);
  const name = user?.username ?? t('Account');
  const left = (event: FocusEvent<HTMLDivElement>) => {
    if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !open) return;
    setOpen(false);
    opener.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only watches what its controls do
    <div className={`${styles.personPlace} ${up ? styles.menuUp : ''}`} onBlur={left} onKeyDown={keyed}>
      <button
        ref={opener}
        type="button"
        className={styles.person}
        aria-expanded={open}
        data-person-menu=""
        aria-label={t('{name}: account and appearance', { name })}
        onClick={() => setOpen(!open)}
      >
        <span className={styles.avatar} aria-hidden="true">
          {[...name][0]?.toLocaleUpperCase()}
        </span>
        <span className={styles.personName}>{name}</span>
      </button>
      {open && (
        <div className={styles.menu} tabIndex={-1}>
          {/* The administrators' pages are another document. */}
          <Link
            to="/app/account"
            reloadDocument={!isUserArea}
            className={styles.menuItem}
            onClick={() => setOpen(false)}
          >
            <IconUser size={18} aria-hidden="true" /> {t('Account')}
          </Link>
          <p className={styles.menuLabel}>{t('Appearance')}</p>
          {SCHEMES.map(({ value, label, icon: Icon }) => (
            <button
              key={value}
              type="button"
              className={styles.menuItem}
              aria-pressed={choice === value}
              onClick={() => chooseScheme(value)}
            >
              <Icon size={18} aria-hidden="true" /> {t(label)}
              {choice === value && <IconCheck size={16} className={styles.menuMark} aria-hidden="true" />}
            </button>
          ))}
          {/* The administrators' pages are in English only. */}
          {isUserArea && (
            <>
              <p className={styles.menuLabel}>{t('Language')}</p>
              <LanguageLinks />
            </>
          )}
          <hr className={styles.menuLine} />
          {live > 0 && (
            <p className={styles.menuLabel}>
              {plural(
                live,
                '{n} app goes on running after you log out, until you end it or its time limit does.',
                '{n} apps go on running after you log out, until you end them or their time limit does.',
              )}
            </p>
          )}
          <button type="button" className={styles.menuItem} onClick={() => void signOut()}>
            <IconLogout size={18} aria-hidden="true" /> {t('Log out')}
          </button>
        </div>
      )}
    </div>
  );
}
