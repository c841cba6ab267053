import { IconChevronLeft } from '@tabler/icons-react';
import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import styles from './admin-pages.module.css';

/** A page's head: location, title, actions. */
export function PageHead(props: {
  title: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  back?: { to: NonNullable<LinkProps['to']>; label: string };
}) {
  return (
    <div className={styles.head}>
      <div className={styles.headText}>
        {props.back && (
          <Link to={props.back.to} className={styles.back}>
            <IconChevronLeft size={16} aria-hidden="true" />
            {props.back.label}
          </Link>
        )}
        <h1>{props.title}</h1>
        {props.lead !== undefined && <p>{props.lead}</p>}
      </div>
      {props.actions !== undefined && <div className={styles.actions}>{props.actions}</div>}
    </div>
  );
}

/** A titled part of a page. */
export function Section(props: { title: string; actions?: ReactNode; children: ReactNode; busy?: boolean }) {
  return (
    <section className={styles.section} aria-label={props.title} aria-busy={props.busy ?? false}>
      <div className={styles.sectionHead}>
        <h2>{props.title}</h2>
        {props.actions}
      </div>
      {props.children}
    </section>
  );
}
