import type { ReactNode } from 'react';
import { useSettled } from '../../components/skeleton.tsx';
import styles from './admin-pages.module.css';

/** Shows all children at once, after the last of them is loaded. */
export function Whole({ children }: { children: ReactNode }) {
  const isWhole = useSettled();
  return (
    <div className={styles.whole} data-whole={isWhole} aria-busy={!isWhole}>
      {children}
    </div>
  );
}
