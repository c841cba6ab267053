import type { ReactNode } from 'react';
import { Brand } from '../components/brand.tsx';
import { LanguageLinks } from '../components/language-links.tsx';
import styles from './account.module.css';

/** Frame of the pages before sign-in. */
export function AuthCard(props: { title: string; lead: ReactNode; children: ReactNode; foot?: ReactNode }) {
  return (
    <div className={styles.stage}>
      <header className={styles.brand}>
        <Brand href="/" />
      </header>
      <main className={styles.card}>
        <h1>{props.title}</h1>
        <p className={styles.lead}>{props.lead}</p>
        {props.children}
        {props.foot && <p className={styles.foot}>{props.foot}</p>}
      </main>
      <footer className={styles.language}>
        <LanguageLinks />
      </footer>
    </div>
  );
}
