import { createLogger } from '@footlight/platform';
import type { ColumnMetadata } from 'kysely';
import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openDatabase } from './index.ts';
import { STEP_NAMES } from './migrate.ts';

type Column = Pick<ColumnMetadata, 'dataType' | 'isNullable' | 'hasDefaultValue'>;
/** Tables with their columns. */
type Shape = Record<string, Record<string, Column>>;

const OPTIONAL: Column = { dataType: 'integer', isNullable: true, hasDefaultValue: false };
const REQUIRED: Column = { ...OPTIONAL, isNullable: false };

/**
 * Schema changes that break the previous release, whose replicas keep running while others are upgraded
 * (docs/backup.md). A step may remove something only one release after its last use.
 */
function breaks(before: Shape, after: Shape): string[] {
  const found: string[] = [];
  for (const [table, columns] of Object.entries(before)) {
    const now = after[table];
    if (now === undefined) {
      found.push(`${table} is gone`);
      continue;
    }
    for (const [name, column] of Object.entries(columns)) {
      const kept = now[name];
      if (kept === undefined) found.push(`${table}.${name} is gone`);
      else if (kept.dataType !== column.dataType)
        found.push(`${table}.${name} was ${column.dataType} and is ${kept.dataType}`);
      else if (column.isNullable && !kept.isNullable) found.push(`${table}.${name} must have a value now`);
    }
    for (const [name, { isNullable, hasDefaultValue }] of Object.entries(now))
      if (!(name in columns) && !isNullable && !hasDefaultValue)
        found.push(`${table}.${name} is new and has no default`);
  }
  return found;
}

test('a release before can do with a wider schema all that it did, and not with a narrower one', () => {
  const before: Shape = { hosts: { id: REQUIRED, note: OPTIONAL } };
  const wider: Shape = {
    hosts: { ...before.hosts, load: OPTIONAL, rank: { ...REQUIRED, hasDefaultValue: true } },
    rooms: { id: REQUIRED },
  };
  expect(breaks(before, wider)).toEqual([]);
  expect(breaks(before, {})).toEqual(['hosts is gone']);
  const narrower: Shape = { hosts: { id: { ...REQUIRED, dataType: 'text' }, load: REQUIRED } };
  expect(breaks(before, narrower)).toEqual([
    'hosts.id was integer and is text',
    'hosts.note is gone',
    'hosts.load is new and has no default',
  ]);
  expect(breaks(before, { hosts: { id: REQUIRED, note: REQUIRED } })).toEqual([
    'hosts.note must have a value now',
  ]);
});

describeDatabases('the schema of the next release serves the replicas of the one before', ({ empty }) => {
  test('step by step', async () => {
    const target = await empty();
    const logger = createLogger('silent');
    const shapeAfter = async (lastStep: string): Promise<Shape> => {
      const database = await openDatabase(target, { logger, lastStep });
      const tables = await database.db.introspection.getTables();
      await database.close();
      return Object.fromEntries(
        tables.map(({ name, columns }) => [
          name,
          Object.fromEntries(columns.map((column) => [column.name, column])),
        ]),
      );
    };
    let before: Shape | null = null;
    for (const step of STEP_NAMES) {
      const after = await shapeAfter(step);
      if (before !== null) expect(breaks(before, after), step).toEqual([]);
      before = after;
    }
  });
});
