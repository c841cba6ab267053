import { Button } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconSelector } from '@tabler/icons-react';
import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { Skeleton } from '../../../components/skeleton.tsx';
import { t } from '../../../i18n/translate.ts';
import styles from '../admin-pages.module.css';
import { cardsOf } from './cards-of.ts';
import { nextSort, readSort } from './table-sort.ts';

/** A table's column; numbers are right-aligned, the action column has no visible head. */
export interface Column {
  label: string;
  kind?: 'text' | 'number' | 'action';
  /** Sort key of the column's head; missing: the table cannot be sorted by it. */
  sort?: string;
}

/** The sort order of a table, as stored in the URL. */
export interface TableOrder {
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}

/**
 * The button of a row for an action that ends, deletes or removes the row's object.
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

/**
 * A compact table in a frame with horizontal scrolling. If its columns do not fit, each row is shown as a card, with
 * the column's label before each value.
 */
export function DataTable(props: {
  label: string;
  columns: readonly Column[];
  order?: TableOrder;
  children: ReactNode;
}) {
  const frame = useRef<HTMLElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const cards = useCards(frame, props.columns.length);
  // The labels are attributes of the cells, because many different components make rows. Only the style sheet of cards
  // shows the labels.
  useLayoutEffect(() => {
    for (const row of body.current?.rows ?? []) {
      if (row.cells.length !== props.columns.length) continue;
      for (const [at, cell] of [...row.cells].entries()) {
        const column = props.columns[at];
        if (column !== undefined && column.kind !== 'action') cell.dataset.label = column.label;
      }
    }
  });
  const sortable = props.order !== undefined && props.columns.some((column) => column.sort !== undefined);
  return (
    <section
      ref={frame}
      className={styles.tableFrame}
      data-cards={cards ?? undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, which a keyboard must be able to do
      tabIndex={0}
      aria-label={t('{name}, table', { name: props.label })}
    >
      <table className={styles.table}>
        <thead data-sortable={sortable}>
          <tr>
            {props.columns.map((column) => (
              <HeadCell key={column.label} column={column} order={props.order} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>{props.children}</tbody>
      </table>
    </section>
  );
}

/** Observes the widths of a table's frame and content. Measures before the first paint, so that nothing moves. */
function useCards(frame: RefObject<HTMLElement | null>, columns: number): 'one' | 'two' | null {
  const [cards, setCards] = useState<'one' | 'two' | null>(null);
  const content = useRef(0);
  const measure = () => {
    const node = frame.current;
    if (node === null) return;
    // Cards do not have the width of the columns, so this width is stored while the table has columns.
    if (cards === null && node.scrollWidth > node.clientWidth)
      content.current = Math.max(content.current, node.scrollWidth);
    setCards(cardsOf(node.clientWidth, columns, content.current));
  };
  const latest = useRef(measure);
  useLayoutEffect(() => {
    latest.current = measure;
    measure();
  });
  useLayoutEffect(() => {
    if (frame.current === null) return;
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, [frame]);
  return cards;
}

function HeadCell({ column, order }: { column: Column; order: TableOrder | undefined }) {
  const className = column.kind === 'number' ? styles.number : undefined;
  const { sort: key } = column;
  if (order === undefined || key === undefined) {
    return (
      <th scope="col" className={className}>
        {column.kind === 'action' ? <span className="visually-hidden">{column.label}</span> : column.label}
      </th>
    );
  }
  const now = readSort(order.sort);
  const sorted = now.key !== key ? 'none' : now.reverse ? 'descending' : 'ascending';
  const Icon = { none: IconSelector, ascending: IconArrowUp, descending: IconArrowDown }[sorted];
  return (
    <th scope="col" className={className} aria-sort={sorted} data-sorts="true">
      <button type="button" className={styles.sort} onClick={() => order.onSort(nextSort(order.sort, key))}>
        {column.label}
        <Icon size={14} aria-hidden="true" />
      </button>
    </th>
  );
}

/** Placeholder rows while loading. */
export function SkeletonRows({ rows, columns }: { rows: number; columns: number }) {
  return Array.from({ length: rows }, (_none, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
    <tr key={row} data-placeholder="true">
      {Array.from({ length: columns }, (_nothing, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
        <td key={column}>
          <Skeleton width={column === 0 ? 160 : 72} height={12} />
        </td>
      ))}
    </tr>
  ));
}
