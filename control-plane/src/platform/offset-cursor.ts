/** Pages of lists whose order may change between two requests. The cursor is the number of rows before the page. */
import { invalid } from './errors.ts';

export interface OffsetPage {
  offset: number;
  limit: number;
}

/** Maximum offset: larger than any list, and a valid offset for both databases. */
const MAX_OFFSET = 1_000_000_000;

/** @throws ApiError 400 for a cursor that the API did not return */
export function readOffset(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const offset = /^\d{1,10}$/.test(cursor) ? Number(cursor) : MAX_OFFSET + 1;
  if (offset > MAX_OFFSET) throw invalid('cursor: not one of this list');
  return offset;
}

/** @param found number of rows that a query with limit + 1 returned */
export const nextOffset = (page: OffsetPage, found: number): string | null =>
  found > page.limit ? String(page.offset + page.limit) : null;
