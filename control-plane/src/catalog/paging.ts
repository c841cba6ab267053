import { invalid } from '../platform/errors.ts';
import type { Page } from './store.ts';

/** Maximum offset: larger than any catalog, and a valid offset for both databases. */
const MAX_OFFSET = 1_000_000_000;

/** @throws ApiError 400 for a cursor that the API did not return */
export function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const offset = /^\d{1,10}$/.test(cursor) ? Number(cursor) : MAX_OFFSET + 1;
  if (offset > MAX_OFFSET) throw invalid('cursor: not one of this list');
  return offset;
}

/** @param found number of rows that a query with limit + 1 returned */
export const nextCursor = (page: Page, found: number): string | null =>
  found > page.limit ? String(page.offset + page.limit) : null;
