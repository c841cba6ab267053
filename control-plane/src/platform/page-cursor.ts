/** Pages of lists sorted by creation, newest first. Cursors are opaque to clients. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { invalid } from './errors.ts';

/** The last row of a page. */
export interface PageKey {
  created_at: number;
  id: string;
}

const CURSOR = /^(\d{1,15}) ([0-9a-f-]{36})$/;

/** @param key the last row of a page; for a list in another order, put that order's time into `created_at` */
export function writeCursor({ created_at, id }: PageKey): string {
  return Buffer.from(`${created_at} ${id}`, 'latin1').toString('base64url');
}

/**
 * @returns null for the first page
 * @throws ApiError 400 for an unreadable cursor
 */
export function readCursor(cursor: string | undefined): PageKey | null {
  if (cursor === undefined) return null;
  const key = parseCursor(cursor);
  if (key === null) throw invalid('cursor: not one that this server gave out');
  return key;
}

/** Like readCursor, for lists that return the first page for an unreadable cursor. */
export const readCursorOrStart = (cursor: string | undefined): PageKey | null =>
  cursor === undefined ? null : parseCursor(cursor);

function parseCursor(cursor: string): PageKey | null {
  const match = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  return match === null ? null : { created_at: Number(match[1]), id: match[2] as string };
}

/** Maximum bytes of long texts in one page. A page of 73 MB took a second of the event loop (SQLite, Node 20). */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/**
 * Number of rows that a page may contain, so that long texts from other people cannot make an answer too long. The
 * cursor gives access to the remaining rows.
 * @param asked number of rows that the client requested
 * @param rows the bytes of the long texts of these rows, in the order of the page
 * @returns at least one
 */
export function fittingRows(asked: number, rows: readonly { bytes: number }[]): number {
  let total = 0;
  const tooMany = rows.findIndex(({ bytes }) => {
    total += bytes;
    return total > MAX_PAGE_BYTES;
  });
  return tooMany === -1 ? asked : Math.max(1, tooMany);
}

/** Removes the extra row of a page. @param rows up to limit + 1 */
export function pageOf<Row extends PageKey>(
  rows: readonly Row[],
  limit: number,
): { rows: Row[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next_cursor: rows.length > limit && last !== undefined ? writeCursor(last) : null };
}

/** Whether a row comes after `key`; both databases compare the pair column by column. */
export function isAfter(
  table: 'hosts' | 'job_runs' | 'sessions' | 'storage_homes' | 'users',
  key: PageKey,
): RawBuilder<SqlBool> {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql<SqlBool>`(${column('created_at')}, ${column('id')}) < (${key.created_at}, ${key.id})`;
}
