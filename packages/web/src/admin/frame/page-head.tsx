import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { Link, type LinkProps } from '@tanstack/react-router';
import { type ReactNode, useState, useSyncExternalStore } from 'react';
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

/**
 * A titled part of a page.
 * @param props.folds on a narrow screen the part is collapsed, and its title expands it
 */
export function Section(props: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
  busy?: boolean;
  folds?: boolean;
}) {
  const { title } = props;
  const isNarrow = useSyncExternalStore(onWidthChange, () => narrowScreen().matches);
  const [expanded, setExpanded] = useState(false);
  const folds = isNarrow && (props.folds ?? false);
  const isOpen = !folds || expanded;
  return (
    <section className={styles.section} aria-label={title} aria-busy={props.busy ?? false}>
      <div className={styles.sectionHead}>
        <h2>
          {folds ? (
            <button
              type="button"
              className={styles.fold}
              aria-expanded={expanded}
              onClick={() => setExpanded(!expanded)}
            >
              <IconChevronRight size={20} aria-hidden="true" />
              {title}
            </button>
          ) : (
            title
          )}
        </h2>
        {isOpen && props.actions}
      </div>
      {isOpen && props.children}
    </section>
  );
}

/** Same width as in admin-pages.module.css. */
const narrowScreen = () => window.matchMedia('(max-width: 640px)');

function onWidthChange(listener: () => void): () => void {
  const screen = narrowScreen();
  screen.addEventListener('change', listener);
  return () => screen.removeEventListener('change', listener);
}
