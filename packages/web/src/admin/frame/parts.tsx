import { Button } from '@mantine/core';
import { IconChevronLeft } from '@tabler/icons-react';
import { Link, type LinkProps } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { Skeleton } from '../../components/skeleton.tsx';
import styles from './admin-parts.module.css';

/** A page's head: location, title, actions. */
export function PageHead(props: {
  title: ReactNode;
  lead?: ReactNode;
  acts?: ReactNode;
  back?: { to: NonNullable<LinkProps['to']>; words: string };
}) {
  return (
    <div className={styles.head}>
      <div className={styles.headText}>
        {props.back && (
          <Link to={props.back.to} className={styles.back}>
            <IconChevronLeft size={16} aria-hidden="true" />
            {props.back.words}
          </Link>
        )}
        <h1>{props.title}</h1>
        {props.lead !== undefined && <p>{props.lead}</p>}
      </div>
      {props.acts !== undefined && <div className={styles.acts}>{props.acts}</div>}
    </div>
  );
}

/** A titled part of a page. */
export function Section(props: { title: string; acts?: ReactNode; children: ReactNode; busy?: boolean }) {
  return (
    <section className={styles.section} aria-label={props.title} aria-busy={props.busy ?? false}>
      <div className={styles.sectionHead}>
        <h2>{props.title}</h2>
        {props.acts}
      </div>
      {props.children}
    </section>
  );
}

/** A table's column; numbers are right-aligned, the action column has no visible head. */
export interface Column {
  words: string;
  kind?: 'text' | 'number' | 'act';
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
                {column.kind === 'act' ? (
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

/**
 * A collapsed part with rarely used fields.
 * @param props.wrong a field in it has an error: expands it
 */
export function Folded(props: { words: string; wrong?: boolean; children: ReactNode }) {
  const details = useRef<HTMLDetailsElement>(null);
  const open = () => {
    if (props.wrong && details.current !== null) details.current.open = true;
  };
  useEffect(open);
  return (
    <details ref={details} className={styles.folded} onToggle={open}>
      <summary>{props.words}</summary>
      <div className={styles.foldedBody}>{props.children}</div>
    </details>
  );
}

/** A choice of few options in a row. */
export function Segments<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; words: string }[];
  onChange: (value: Value) => void;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as part of a form
    <div className={styles.segments} role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          className={styles.segment}
          aria-pressed={props.value === option.value}
          onClick={() => props.onChange(option.value)}
        >
          {option.words}
        </button>
      ))}
    </div>
  );
}

/** A readable number of megabytes. @param mb megabytes; null is unknown */
export function megabytesWords(mb: number | null): string {
  if (mb === null) return 'unknown';
  return mb < 1024 ? `${mb} MB` : `${(mb / 1024).toFixed(mb < 10_240 ? 1 : 0)} GB`;
}

/** "1 session", "3 sessions". */
export function countWords(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
