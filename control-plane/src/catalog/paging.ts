import { invalid } from '../platform/errors.ts';
import type { Page } from './store.ts';

/** Larger than any catalog, and within the offsets of both databases. */
const MAX_OFFSET = 1_000_000_000;

/** @throws ApiError 400 for a foreign cursor */
export function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const offset = /^\d{1,10}$/.test(cursor) ? Number(cursor) : MAX_OFFSET + 1;
  if (offset > MAX_OFFSET) throw invalid('cursor: not one of this list');
  return offset;
}

/** @param found rows read, of limit + 1 */
export const nextCursor = (page: Page, found: number): string | null =>
  found > page.limit ? String(page.offset + page.limit) : null;
