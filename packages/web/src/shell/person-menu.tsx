import { IconCheck, IconDeviceDesktop, IconLogout, IconMoon, IconSun, IconUser } from '@tabler/icons-react';
import { type FocusEvent, type KeyboardEvent, useRef, useState } from 'react';
import { signOut } from '../account/sign-out.ts';
import { useUser } from '../api/auth-store.ts';
import { chooseScheme, useSchemeChoice } from '../theme/scheme.ts';
import styles from './shell.module.css';

const SCHEMES = [
  { value: 'auto', label: 'As the system', icon: IconDeviceDesktop },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'light', label: 'Light', icon: IconSun },
] as const;

/** The signed-in person's menu: account, appearance, sign-out. A disclosure, so the focus walks through it. */
export function PersonMenu({ up = false }: { up?: boolean }) {
  const user = useUser();
  const choice = useSchemeChoice();
  const [open, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const name = user?.username ?? 'Account';
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
        aria-label={`${name}: account and appearance`}
        onClick={() => setOpen(!open)}
      >
        <span className={styles.avatar} aria-hidden="true">
          {[...name][0]?.toLocaleUpperCase()}
        </span>
        <span className={styles.personName}>{name}</span>
      </button>
      {open && (
        <div className={styles.menu} tabIndex={-1}>
          <a href="/app/account" className={styles.menuItem}>
            <IconUser size={18} aria-hidden="true" /> Account
          </a>
          <p className={styles.menuLabel}>Appearance</p>
          {SCHEMES.map(({ value, label, icon: Icon }) => (
            <button
              key={value}
              type="button"
              className={styles.menuItem}
              aria-pressed={choice === value}
              onClick={() => chooseScheme(value)}
            >
              <Icon size={18} aria-hidden="true" /> {label}
              {choice === value && <IconCheck size={16} className={styles.menuMark} aria-hidden="true" />}
            </button>
          ))}
          <hr className={styles.menuLine} />
          <button type="button" className={styles.menuItem} onClick={() => void signOut()}>
            <IconLogout size={18} aria-hidden="true" /> Log out
          </button>
        </div>
      )}
    </div>
  );
}
