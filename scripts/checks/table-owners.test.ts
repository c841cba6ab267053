import { describe, expect, test } from 'vitest';
import { type Module, moduleOf, modulesBelow, read } from './modules.ts';

const ROOT = 'control-plane/src';
const WRITE = /(?:insertInto|updateTable|deleteFrom|insertStatement)\(\s*'([a-z_]+)/g;
const READ = /(?:selectFrom|[jJ]oin|using)\(\s*\[?\s*'([a-z_]+)(?: as \w+)?'/g;
const SQL = /\bsql(?:<[^>`]*>)?`[^`]*`/g;
const READ_IN_SQL = /\b(?:from|join) ([a-z_]+)\b/g;

/** One row of "Owners" in docs/database.md. */
interface Owner {
  feature: string;
  tables: string[];
  /** Files of other features that may read the owner's tables, or write the listed columns of them. */
  others: string[];
}

function ownersIn(page: string): Owner[] {
  const section = page.split('\n## ').find((each) => each.startsWith('Owners')) ?? '';
  return [...section.matchAll(/^\| `([a-z]+)` +\|([^|]+)\|([^|]+)\|/gm)].map(
    ([, feature = '', tables = '', others = '']) => ({
      feature,
      tables: namesIn(tables),
      others: namesIn(others),
    }),
  );
}

const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** Uses of tables that the list of owners does not allow, one line each. */
function foreignUses(modules: readonly Module[], owners: readonly Owner[]): string[] {
  const ownerOf = new Map(owners.flatMap((owner) => owner.tables.map((table) => [table, owner])));
  return modules.flatMap(({ path, text }) => {
    const file = path.slice(ROOT.length + 1);
    const [feature] = file.split('/');
    const texts = (text.match(SQL) ?? []).join('\n');
    const used = (...matches: Iterable<RegExpMatchArray>[]) =>
      new Set(
        matches
          .flatMap((each) => [...each])
          .map(([, table = '']) => table)
          .filter((table) => ownerOf.has(table) && ownerOf.get(table)?.feature !== feature),
      );
    const isListed = (table: string) => ownerOf.get(table)?.others.includes(file) === true;
    return [
      ...[...used(text.matchAll(WRITE))]
        // The feature `sessions` may write slots, because slots are booked together with the session's state.
        // docs/database.md lists these columns.
        .filter((table) => !(table === 'gpus' && feature === 'sessions' && setsOnlySlots(text)))
        .map((table) => `${file} writes ${table} of ${ownerOf.get(table)?.feature}`),
      ...[...used(text.matchAll(READ), texts.matchAll(READ_IN_SQL))]
        .filter((table) => !isListed(table))
        .map((table) => `${file} reads ${table} of ${ownerOf.get(table)?.feature} and is not listed`),
    ];
  });
}

/** Columns of a GPU that are used to book sessions. */
const SLOT_COLUMNS = ['slots_used', 'slots_guard', 'sessions_active'];

function setsOnlySlots(text: string): boolean {
  const statements = text.split("updateTable('gpus')").slice(1);
  return statements.every((rest) => {
    const set = rest.slice(0, rest.indexOf('.where('));
    const columns = [...set.matchAll(/^\s*([a-z_]+):/gm)].map(([, column = '']) => column);
    return columns.length > 0 && columns.every((column) => SLOT_COLUMNS.includes(column));
  });
}

describe('only its owner writes a table, and others read it in the listed files', () => {
  const owners = ownersIn(read('docs/database.md'));
  const modules = modulesBelow(ROOT).filter(({ path }) => !/\/(testing|migrations)\//.test(path));

  test('every use of a table', () => {
    expect(foreignUses(modules, owners)).toEqual([]);
  });

  test('every table has an owner', () => {
    const tables = modulesBelow(`${ROOT}/platform/database/tables`).flatMap(({ text }) =>
      [...(/Tables \{([^}]*)\}/.exec(text)?.[1] ?? '').matchAll(/^ {2}([a-z_]+):/gm)].map(([, name]) => name),
    );
    expect(tables.length).toBeGreaterThan(20);
    expect(owners.flatMap((owner) => owner.tables).sort()).toEqual(tables.sort());
  });

  test('every listed file reads a table of that owner', () => {
    const byPath = new Map(modules.map((module) => [module.path.slice(ROOT.length + 1), module]));
    const idle = owners.flatMap((owner) =>
      owner.others.filter((file) => {
        const module = byPath.get(file);
        return module === undefined || foreignUses([module], [{ ...owner, others: [] }]).length === 0;
      }),
    );
    expect(idle).toEqual([]);
  });
});

describe('a use of a foreign table is found', () => {
  const owners = ownersIn(
    '## Locks\n\n## Owners\n\n| Owner | Tables | Others |\n| --- | --- | --- |\n| `fleet` | `hosts`, `gpus` | `sessions/list-store.ts` |\n',
  );
  const uses = (file: string, text: string) => foreignUses([moduleOf(`${ROOT}/${file}`, text)], owners);

  test.each([
    ["tx.insertInto('hosts')", 'writes hosts of fleet'],
    ["tx\n  .updateTable('hosts')", 'writes hosts of fleet'],
    ["tx.deleteFrom('hosts')", 'writes hosts of fleet'],
    ["insertStatement('hosts')", 'writes hosts of fleet'],
    ["tx.updateTable('gpus').set({\n vram_mb_free: 0,\n }).where('id', '=', id)", 'writes gpus of fleet'],
    ["db.selectFrom('hosts')", 'reads hosts of fleet and is not listed'],
    ["query.leftJoin('hosts as h', 'h.id', 'host_id')", 'reads hosts of fleet and is not listed'],
    ['sql`(select count(*) from hosts)`', 'reads hosts of fleet and is not listed'],
  ])('%s', (text, use) => {
    expect(uses('sessions/other-store.ts', text)).toEqual([`sessions/other-store.ts ${use}`]);
  });

  test.each([
    ['the owner', 'fleet/hosts/store.ts', "tx.updateTable('hosts')"],
    ['a listed reader', 'sessions/list-store.ts', "db.selectFrom('hosts')"],
    [
      'the booking of slots',
      'sessions/store.ts',
      "tx.updateTable('gpus').set({\n slots_used: 1,\n }).where('id', '=', id)",
    ],
  ])('%s may', (_, file, text) => {
    expect(uses(file, text)).toEqual([]);
  });
});
