import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Skeleton } from '../../components/skeleton.tsx';
import styles from './admin-pages.module.css';

/** A table's column; numbers are right-aligned, the action column has no visible head. */
export interface Column {
  words: string;
  kind?: 'text' | 'number' | 'action';
}

/**
 * A row's action that ends, deletes or removes.
 * @param props.label names the row for screen readers
 */
export function EndButton(props: {
  label: string;
  disabled?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      color="danger"
      disabled={props.disabled ?? false}
      aria-label={props.label}
      onClick={props.onClick}
    >
      {props.children}
    </Button>
  );
}

/** A compact table in a frame with horizontal scrolling. */
export function DataTable(props: { label: string; columns: readonly Column[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, which a keyboard must be able to do
    <section className={styles.tableFrame} tabIndex={0} aria-label={`${props.label}, table`}>
      <table className={styles.table}>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th
                key={column.words}
                scope="col"
                className={column.kind === 'number' ? styles.number : undefined}
              >
                {column.kind === 'action' ? (
                  <span className="visually-hidden">{column.words}</span>
                ) : (
                  column.words
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </section>
  );
}

/** Placeholder rows while loading. */
export function SkeletonRows({ rows, columns }: { rows: number; columns: number }) {
  return Array.from({ length: rows }, (_none, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
    <tr key={row}>
      {Array.from({ length: columns }, (_nothing, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
        <td key={column}>
          <Skeleton width={column === 0 ? 160 : 72} height={12} />
        </td>
      ))}
    </tr>
  ));
}
