/** Reads lists page by page, and finds things by their names. */
import { type Operation, type OperationId, operations } from '@footlight/protocol/rest';
import type { Client } from './client.ts';
import { NAMED } from './commands.ts';
import { CliFailure, EXIT } from './failure.ts';
import { flagsOf, type OperationFlag } from './flags.ts';
import { type FlagValues, requestOf } from './request.ts';

/** Most rows that one command reads. A longer list should be filtered. */
export const MAX_ROWS = 100_000;
const PAGE_ROWS = 500;

/** Whether the operation lists pages: it takes a cursor. */
export const isPaged = (operation: Operation): boolean =>
  operation.method === 'GET' && flagsOf(operation).some(({ field }) => field === 'cursor');

export interface List {
  readonly rows: readonly unknown[];
  /** More rows exist than were asked for. */
  readonly isCut: boolean;
}

/** Reads pages until the end, or until there are `limit` rows. @throws CliFailure for a list without an end */
export async function listAll(
  client: Client,
  operation: Operation,
  values: FlagValues,
  limit: number,
): Promise<List> {
  const flags = flagsOf(operation);
  const of = (field: string) => flags.find((flag) => flag.field === field);
  const [cursorFlag, limitFlag] = [of('cursor'), of('limit')];
  const rows: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: Map<OperationFlag, unknown> = new Map(values);
    if (cursorFlag !== undefined && cursor !== null) page.set(cursorFlag, cursor);
    if (limitFlag !== undefined) page.set(limitFlag, Math.min(PAGE_ROWS, limit - rows.length));
    const { body } = await client.call(requestOf(operation, page));
    const { items, next_cursor } = body as { items: unknown[]; next_cursor: string | number | null };
    rows.push(...items);
    cursor = next_cursor === null || next_cursor === undefined ? null : String(next_cursor);
    // A page may be empty although others follow, so only a repeated cursor shows a list without an end.
    if (cursor !== null && (seen.has(cursor) || seen.size > MAX_ROWS / 100))
      throw new CliFailure(EXIT.failed, 'endless_list', 'The list of the control plane does not end.');
    if (cursor !== null) seen.add(cursor);
  } while (cursor !== null && rows.length < limit);
  return { rows: rows.slice(0, limit), isCut: cursor !== null || rows.length > limit };
}

/** All rows of a list. @param query filters by the contract's names */
export function listOf(client: Client, id: OperationId, query: Record<string, string> = {}): Promise<List> {
  const operation: Operation = operations[id];
  const flags = flagsOf(operation).filter(({ field }) => query[field] !== undefined);
  return listAll(client, operation, new Map(flags.map((flag) => [flag, query[flag.field]])), MAX_ROWS);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of a thing that is named by its id or its name. @throws CliFailure if it is unknown or ambiguous */
export async function idOf(client: Client, kind: keyof typeof NAMED, text: string): Promise<string> {
  if (UUID.test(text)) return text;
  const { list, fields } = NAMED[kind];
  const { rows } = await listOf(client, list, { q: text });
  const found = (rows as Record<string, unknown>[]).filter((row) =>
    fields.some((field) => row[field] === text),
  );
  const [only] = found;
  if (found.length === 1 && only !== undefined) return String(only.id);
  if (found.length === 0)
    throw new CliFailure(
      EXIT.failed,
      'not_found',
      `There is no ${kind} with the name ${text}.`,
      `List them: footlight ${kind}s list`,
    );
  const ids = found.map(({ id }) => String(id)).join(', ');
  throw new CliFailure(
    EXIT.usage,
    'ambiguous',
    `Several ${kind}s have the name ${text}.`,
    `Use an id: ${ids}`,
  );
}
