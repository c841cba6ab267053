import { Button } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconSelector } from '@tabler/icons-react';
import { Fragment, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { Skeleton } from '../../../components/skeleton.tsx';
import { t } from '../../../i18n/translate.ts';
import styles from '../admin-pages.module.css';
import { cardsOf } from './cards-of.ts';
import { nextSort, readSort, type SortValue, sortedBy } from './table-sort.ts';

/** A column of a table. */
export interface Column<Row> {
  /** English head, marked with `msg`, or a unit. The table translates it. */
  head: string;
  /** The head is computed, and in the person's language already. */
  translated?: true;
  /**
   * name: the row's main link. number: right-aligned. code: in a fixed-width font. short: shortened if it is too long.
   * wrap: a long text. action: buttons; the head is visible for screen readers only.
   */
  kind?: 'name' | 'number' | 'code' | 'short' | 'wrap' | 'action';
  cell: (row: Row) => ReactNode;
  /** Tooltip of the cell. */
  title?: (row: Row) => string | undefined;
  /** Screen readers announce changes of the cell. */
  live?: true;
  /** Key of the order in the page's address; missing: people cannot sort by this column. */
  sort?: string;
  /** Value that the page sorts by; missing, although `sort` is set: the server sorts. */
  by?: (row: Row) => SortValue;
}

/** The sort order of a table, as stored in the page's address. */
export interface TableOrder {
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}

const CLASS_OF_KIND = {
  name: styles.nameCell,
  number: styles.number,
  code: styles.mono,
  short: styles.shortCell,
  wrap: styles.wrapCell,
  action: styles.rowActions,
} as const;

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
 * the column's head before each value.
 * @param props.label names the table for screen readers
 * @param props.rows undefined: they are loading, and placeholders are shown
 * @param props.order missing: the rows keep their order
 * @param props.detail a part below a row, over all columns; null: the row has none
 */
export function ListTable<Row>(props: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string | number;
  order?: TableOrder;
  loadingRows?: number;
  detail?: (row: Row) => ReactNode;
}) {
  const { columns, order, detail } = props;
  const frame = useRef<HTMLElement>(null);
  const cards = useCards(frame, columns.length);
  const sortable = order !== undefined && columns.some((column) => column.sort !== undefined);
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
        <thead data-sortable={sortable} data-label={t('Sort by')}>
          <tr>
            {columns.map((column) => (
              <HeadCell key={column.head} column={column} order={order} />
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows === undefined && (
            <SkeletonRows rows={props.loadingRows ?? 3} columns={columns.length} />
          )}
          {sorted(props.rows ?? [], order?.sort, columns).map((row) => (
            <Fragment key={props.rowKey(row)}>
              <tr>
                {columns.map((column) => (
                  <td
                    key={column.head}
                    className={column.kind && CLASS_OF_KIND[column.kind]}
                    title={column.title?.(row)}
                    aria-live={column.live && 'polite'}
                    data-label={column.kind === 'action' ? undefined : headText(column)}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
              {detail !== undefined && <Detail columns={columns.length}>{detail(row)}</Detail>}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The rows in the order of a sortable column, unless the server sorts them. */
export function sorted<Row>(
  rows: readonly Row[],
  sort: string | undefined,
  columns: readonly Column<Row>[],
): readonly Row[] {
  const by = columns.find((column) => column.sort === readSort(sort).key)?.by;
  return by === undefined ? rows : sortedBy(rows, by, readSort(sort).reverse);
}

function Detail({ columns, children }: { columns: number; children: ReactNode }) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <tr>
      <td colSpan={columns} className={styles.wrapCell}>
        {children}
      </td>
    </tr>
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

const headText = <Row,>({ head, translated }: Column<Row>): string => (translated ? head : t(head));

function HeadCell<Row>({ column, order }: { column: Column<Row>; order: TableOrder | undefined }) {
  const className = column.kind === 'number' ? styles.number : undefined;
  const { sort: key } = column;
  const head = headText(column);
  if (order === undefined || key === undefined) {
    return (
      <th scope="col" className={className}>
        {column.kind === 'action' ? <span className="visually-hidden">{head}</span> : head}
      </th>
    );
  }
  const now = readSort(order.sort);
  const direction = now.key !== key ? 'none' : now.reverse ? 'descending' : 'ascending';
  const Icon = { none: IconSelector, ascending: IconArrowUp, descending: IconArrowDown }[direction];
  return (
    <th scope="col" className={className} aria-sort={direction} data-sorts="true">
      <button type="button" className={styles.sort} onClick={() => order.onSort(nextSort(order.sort, key))}>
        {head}
        <Icon size={14} aria-hidden="true" />
      </button>
    </th>
  );
}

function SkeletonRows({ rows, columns }: { rows: number; columns: number }) {
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
