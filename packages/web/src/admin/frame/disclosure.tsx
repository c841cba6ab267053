import { type ReactNode, useEffect, useRef } from 'react';
import styles from './admin-pages.module.css';

/**
 * A collapsed part with rarely used fields.
 * @param props.wrong whether one of its fields has an error, which expands the part
 */
export function Disclosure(props: { label: string; wrong?: boolean; children: ReactNode }) {
  const details = useRef<HTMLDetailsElement>(null);
  const open = () => {
    if (props.wrong && details.current !== null) details.current.open = true;
  };
  useEffect(open);
  return (
    <details ref={details} className={styles.folded} onToggle={open}>
      <summary>{props.label}</summary>
      <div className={styles.foldedBody}>{props.children}</div>
    </details>
  );
}
