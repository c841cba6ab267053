/** Orders of the administrators' list of sessions, and the cursors of its pages. */
import type { SessionOrder } from '@footlight/protocol/rest';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { nameOrder } from '../platform/database/query/name-order.ts';
import { invalid } from '../platform/errors.ts';
import type { PageKey } from '../platform/page-cursor.ts';

/** The value of a session in an order; null: the session has none, and is last in both directions. */
type SortValue = string | number | null;

export interface ListOrder {
  by: SessionOrder;
  reverse: boolean;
}

/** The order of the list without `sort`. */
const NEWEST_FIRST: ListOrder = { by: 'created', reverse: true };

/** The last session of a page. */
export interface SortedKey extends PageKey {
  /** Always null in the order by creation, which `created_at` decides. */
  value: SortValue;
}

const VALUES: Readonly<Record<SessionOrder, { type: 'string' | 'number'; value: RawBuilder<SortValue> }>> = {
  app: { type: 'string', value: nameOrder('apps.name') },
  state: { type: 'string', value: sql.ref('sessions.state') },
  user: { type: 'string', value: nameOrder('users.username') },
  host: { type: 'string', value: nameOrder('hosts.node_name') },
  created: { type: 'string', value: sql`null` },
  picture: { type: 'number', value: sql`sessions.stream_width * sessions.stream_height` },
};

/** The value of each session in this order. */
export const sortValue = (by: SessionOrder): RawBuilder<SortValue> => VALUES[by].value;

/** @param sort name of an order, with `-` in front if it is reversed; undefined: newest first */
export function readOrder(sort: SessionOrder | `-${SessionOrder}` | undefined): ListOrder {
  if (sort === undefined) return NEWEST_FIRST;
  const reverse = sort.startsWith('-');
  return { by: (reverse ? sort.slice(1) : sort) as SessionOrder, reverse };
}

/**
 * Whether a session comes after `key`. Sessions with the same value are sorted newest first.
 * The values of the last session are in the cursor, so a session that starts or ends between two requests moves no
 * other session to another page.
 */
export function comesAfter({ by, reverse }: ListOrder, key: SortedKey): RawBuilder<SqlBool> {
  const place = sql`(sessions.created_at, sessions.id)`;
  const last = sql`(${key.created_at}, ${key.id})`;
  if (by === 'created') return reverse ? sql`${place} < ${last}` : sql`${place} > ${last}`;
  const { value } = VALUES[by];
  if (key.value === null) return sql`(${value} is null and ${place} < ${last})`;
  const further = reverse ? sql`${value} < ${key.value}` : sql`${value} > ${key.value}`;
  return sql`(${further} or (${value} = ${key.value} and ${place} < ${last}) or ${value} is null)`;
}

const ID = /^[0-9a-f-]{36}$/;
const MAX_NUMBER = 2 ** 31 - 1;

export function writeSortedCursor({ by }: ListOrder, { value, created_at, id }: SortedKey): string {
  return Buffer.from(JSON.stringify([by, value, created_at, id])).toString('base64url');
}

/**
 * @returns null for the first page
 * @throws ApiError 400 for a cursor that is unreadable, or belongs to a list in another order
 */
export function readSortedCursor({ by }: ListOrder, cursor: string | undefined): SortedKey | null {
  if (cursor === undefined) return null;
  const [order, value, createdAt, id, ...more] = parse(cursor);
  const isKey =
    order === by &&
    (value === null || isValue(by, value)) &&
    Number.isSafeInteger(createdAt) &&
    typeof id === 'string' &&
    ID.test(id) &&
    more.length === 0;
  if (!isKey) throw invalid('cursor: not one of this list in this order');
  return { value: value as SortValue, created_at: createdAt as number, id: id as string };
}

/** Postgres fails if a parameter has another type than the value that it is compared with. */
function isValue(by: SessionOrder, value: unknown): boolean {
  if (VALUES[by].type === 'string') return typeof value === 'string' && !value.includes('\0');
  return Number.isInteger(value) && Math.abs(value as number) <= MAX_NUMBER;
}

function parse(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}
