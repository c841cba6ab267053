import { MAX_SCAN_ENTRIES } from '@footlight/protocol/agent';
import type { Selectable } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type { LibraryAppidRulesTable } from '../../platform/database/tables/library.ts';

export type RuleRow = Selectable<LibraryAppidRulesTable>;

/** Rules of the app by external id. */
export async function loadRules(
  db: Executor,
  appId: string,
  source: string,
): Promise<Map<string, RuleRow['rule']>> {
  const rows = await db
    .selectFrom('library_appid_rules')
    .select(['external_id', 'rule'])
    .where('parent_app_id', '=', appId)
    .where('external_source', '=', source)
    .execute();
  return new Map(rows.map(({ external_id, rule }) => [external_id, rule]));
}

/** Rules of the app, newest first. */
export function listRules(db: Executor, appId: string): Promise<RuleRow[]> {
  return db
    .selectFrom('library_appid_rules')
    .selectAll()
    .where('parent_app_id', '=', appId)
    .orderBy('created_at', 'desc')
    .orderBy('external_id')
    .execute();
}

/** Stores a rule and replaces a former rule of the same title. */
export async function putRule(tx: Tx, rule: RuleRow): Promise<void> {
  const { rule: decision, note, created_by, created_at } = rule;
  await tx
    .insertInto('library_appid_rules')
    .values(rule)
    .onConflict((conflict) =>
      conflict
        .columns(['parent_app_id', 'external_source', 'external_id'])
        .doUpdateSet({ rule: decision, note, created_by, created_at }),
    )
    .execute();
}

/** @returns false: the rule does not exist */
export async function deleteRule(
  db: Executor,
  key: Pick<RuleRow, 'parent_app_id' | 'external_source' | 'external_id'>,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('library_appid_rules')
    .where('parent_app_id', '=', key.parent_app_id)
    .where('external_source', '=', key.external_source)
    .where('external_id', '=', key.external_id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** A title that homes of the app have, and that has no enabled tile. */
export interface UnpublishedRow {
  external_source: string;
  external_id: string;
  /** Name of the title. If homes report different names, this is the last one in sort order. */
  name: string;
  users: number;
  last_seen_at: number;
  rule: RuleRow['rule'] | null;
  /** Number of homes whose last report did not publish the title because of the store's answer. */
  kept_by_store: number;
  has_tile: boolean;
}

/** Maximum listed titles, because the list has no pages; equal to the maximum titles of one report. */
const MAX_UNPUBLISHED = MAX_SCAN_ENTRIES;

/** Titles without an enabled tile, the most recently seen first. */
export async function listUnpublished(db: Executor, appId: string): Promise<UnpublishedRow[]> {
  const rows = await db
    .selectFrom('library_observations as seen')
    .leftJoin('apps as tile', (join) =>
      join
        .onRef('tile.parent_app_id', '=', 'seen.parent_app_id')
        .onRef('tile.external_source', '=', 'seen.external_source' as never)
        .onRef('tile.external_id', '=', 'seen.external_id'),
    )
    .leftJoin('library_appid_rules as rule', (join) =>
      join
        .onRef('rule.parent_app_id', '=', 'seen.parent_app_id')
        .onRef('rule.external_source', '=', 'seen.external_source')
        .onRef('rule.external_id', '=', 'seen.external_id'),
    )
    .where('seen.parent_app_id', '=', appId)
    .where((eb) => eb.or([eb('tile.id', 'is', null), eb('tile.enabled', '=', 0)]))
    .groupBy(['seen.external_source', 'seen.external_id', 'tile.id', 'rule.rule'])
    .select((eb) => [
      'seen.external_source',
      'seen.external_id',
      'tile.id as tile_id',
      'rule.rule',
      eb.fn.max<string>('seen.name').as('name'),
      eb.fn.max<number>('seen.last_seen_at').as('last_seen_at'),
      eb.fn.count<number>('seen.user_id').distinct().as('users'),
      eb.fn
        .count<number>('seen.user_id')
        .filterWhere('seen.suppressed_by', '=', 'appdetails')
        .as('kept_by_store'),
    ])
    .orderBy('last_seen_at', 'desc')
    .orderBy('seen.external_id')
    .limit(MAX_UNPUBLISHED)
    .execute();
  return rows.map(({ tile_id, ...row }) => ({ ...row, has_tile: tile_id !== null }));
}
