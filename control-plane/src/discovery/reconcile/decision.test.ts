import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideReconcile,
  type GrantRecord,
  type ObservedTitle,
  type ReconcileFacts,
  type TileRecord,
  tilesAllowed,
} from './decision.ts';

const INSTALLED = 4;
const entry = (external_id: string, name = `Title ${external_id}`, state_flags = INSTALLED) => ({
  external_id,
  name,
  state_flags,
});
const tile = (id: string, more: Partial<TileRecord> = {}): TileRecord => ({
  id: `tile-${id}`,
  enabled: true,
  origin: 'discovered',
  description: '',
  ...more,
});
const facts = (more: Partial<ReconcileFacts>): ReconcileFacts => ({
  entries: [],
  complete: true,
  rules: new Map(),
  tiles: new Map(),
  grants: new Map(),
  observed: new Map(),
  newTiles: 10_000,
  elsewhere: new Set(),
  store: null,
  ...more,
});

describe('a report', () => {
  test('publishes a new title and grants it', () => {
    expect(decideReconcile(facts({ entries: [entry('440', ' Sample Quest ')] }))).toMatchObject({
      create: [{ externalId: '440', name: 'Sample Quest', description: '' }],
      grant: ['440'],
      observations: [{ externalId: '440', name: 'Sample Quest', suppressedBy: '' }],
      observedCount: 1,
    });
  });

  test('names a tile by its id where the manifest has no name', () => {
    expect(decideReconcile(facts({ entries: [entry('440', '  ')] })).create[0]?.name).toBe('440');
  });

  test('keeps the stored name of a title whose manifest cannot be read', () => {
    const observed = new Map([['440', { name: 'Sample Quest', suppressedBy: '' }]]);
    expect(decideReconcile(facts({ entries: [entry('440', '', 0)], observed })).observations).toEqual([
      { externalId: '440', name: 'Sample Quest', suppressedBy: '' },
    ]);
  });

  test('adds no tile for a title that is still downloading, and keeps an existing tile', () => {
    const downloading = entry('440', 'Sample Quest', 1026);
    expect(decideReconcile(facts({ entries: [downloading] }))).toMatchObject({ create: [], grant: [] });
    const held = facts({
      entries: [downloading],
      tiles: new Map([['440', tile('440')]]),
      grants: new Map([['tile-440', { id: 'g', grantedBy: 'provider' }]]),
    });
    expect(decideReconcile(held)).toMatchObject({ revoke: [], disable: [], suppressedTiles: [] });
  });

  test('never enables a tile again, but grants it', () => {
    const tiles = new Map([['440', tile('440', { enabled: false })]]);
    expect(decideReconcile(facts({ entries: [entry('440')], tiles }))).toMatchObject({
      create: [],
      disable: [],
      grant: ['440'],
    });
  });

  test.each(['admin', 'migration', 'provider'] as const)('adds nothing to a row of %s', (grantedBy) => {
    const tiles = new Map([['440', tile('440')]]);
    const grants = new Map([['tile-440', { id: 'g', grantedBy }]]);
    expect(decideReconcile(facts({ entries: [entry('440')], tiles, grants })).grant).toEqual([]);
  });

  test('disables suppressed tiles, except those of an administrator', () => {
    const rules = new Map([
      ['1', 'ignore'],
      ['2', 'ignore'],
      ['3', 'ignore'],
    ] as const);
    const tiles = new Map([
      ['1', tile('1')],
      ['2', tile('2', { enabled: false })],
      ['3', tile('3', { origin: 'manual' })],
    ]);
    const entries = ['1', '2', '3'].map((id) => entry(id));
    expect(decideReconcile(facts({ entries, tiles, rules }))).toMatchObject({
      disable: ['tile-1'],
      suppressedTiles: ['tile-1', 'tile-2', 'tile-3'],
      suppressedCount: 3,
      grant: [],
    });
  });

  test('revokes only entitlements of the provider, and only for titles that are in no home any more', () => {
    const ids = ['1', '2', '3', '4'];
    const grants = new Map<string, GrantRecord>([
      ['tile-1', { id: 'gone', grantedBy: 'provider' }],
      ['tile-2', { id: 'admins', grantedBy: 'admin' }],
      ['tile-3', { id: 'elsewhere', grantedBy: 'provider' }],
      ['tile-4', { id: 'seen', grantedBy: 'provider' }],
    ]);
    const report = facts({
      entries: [entry('4')],
      tiles: new Map(ids.map((id) => [id, tile(id)])),
      observed: new Map(ids.map((id) => [id, { name: id, suppressedBy: '' }])),
      elsewhere: new Set(['3']),
      grants,
    });
    expect(decideReconcile(report)).toMatchObject({ unseen: ['1', '2', '3'], revoke: ['gone'] });
    expect(decideReconcile({ ...report, complete: false })).toMatchObject({ unseen: [], revoke: [] });
  });

  test('keeps no more titles of a home than a report has, however many incomplete reports bring', () => {
    const seen = Array.from({ length: 9_999 }, (_, at): [string, ObservedTitle] => [
      `${at + 1}`,
      { name: 'Old', suppressedBy: '' },
    ]);
    const report = facts({
      entries: ['1', '20001', '20002', '20003'].map((id) => entry(id)),
      observed: new Map(seen),
      complete: false,
    });
    const keptOf = ({ observations }: ReturnType<typeof decideReconcile>) =>
      observations.map(({ externalId }) => externalId);
    const changes = decideReconcile(report);
    expect(keptOf(changes)).toEqual(['1', '20001']);
    expect(changes.create).toHaveLength(2);
    expect(keptOf(decideReconcile({ ...report, complete: true }))).toHaveLength(4);
  });

  test('rejects invalid ids and takes a repeated one once, installed when one of them is', () => {
    const ids = ['0', '044', '-1', 'x', '12345678901', '440', '440'];
    const entries = ids.map((id, at) => entry(id, `Title ${at}`, at === 6 ? INSTALLED : 0));
    expect(decideReconcile(facts({ entries }))).toMatchObject({
      rejectedCount: 5,
      observedCount: 1,
      create: [{ externalId: '440', name: 'Title 5' }],
    });
  });

  test('reads the bit of flags beyond 32 bits', () => {
    const entries = [entry('1', 'a', 2 ** 40 + INSTALLED), entry('2', 'b', 2 ** 40)];
    expect(decideReconcile(facts({ entries })).create.map(({ externalId }) => externalId)).toEqual(['1']);
  });

  test('fills blank descriptions of discovered tiles, and no others', () => {
    const store = new Map(
      ['1', '2', '3', '4'].map((id) => [id, { type: 'game', description: `About ${id}` }]),
    );
    const tiles = new Map([
      ['1', tile('1')],
      ['2', tile('2', { description: 'An own text' })],
      ['3', tile('3', { origin: 'manual' })],
    ]);
    const entries = ['1', '2', '3', '4'].map((id) => entry(id));
    expect(decideReconcile(facts({ entries, tiles, store }))).toMatchObject({
      describe: [{ tileId: 'tile-1', description: 'About 1' }],
      create: [{ externalId: '4', description: 'About 4' }],
    });
  });

  test('remembers that the store called a title no game, while the lookup is on', () => {
    const observed = new Map([['440', { name: 'A tool', suppressedBy: 'appdetails' }]]);
    const report = facts({ entries: [entry('440')], observed, store: new Map() });
    expect(decideReconcile(report)).toMatchObject({ suppressedCount: 1, create: [] });
    expect(decideReconcile({ ...report, store: null })).toMatchObject({ suppressedCount: 0 });
    const game = new Map([['440', { type: 'game', description: '' }]]);
    expect(decideReconcile({ ...report, store: game })).toMatchObject({ suppressedCount: 0 });
  });
});

describe('whatever was found and stored', () => {
  const id = fc.constantFrom('1', '2', '3', '4', '5', '228980', '0', 'x');
  const some = <T>(values: fc.Arbitrary<T>) => fc.dictionary(id, values, { maxKeys: 6 });
  const arbitraryFacts = fc
    .record({
      entries: fc.array(
        fc.record({
          external_id: id,
          name: fc.constantFrom('', 'Quest', 'Proton 9'),
          state_flags: fc.constantFrom(0, 4, 1026, 2 ** 40 + 4),
        }),
        { maxLength: 10 },
      ),
      complete: fc.boolean(),
      rules: some(fc.constantFrom('ignore' as const, 'allow' as const)),
      tiles: some(
        fc.record({
          enabled: fc.boolean(),
          origin: fc.constantFrom('manual' as const, 'discovered' as const),
          description: fc.constantFrom('', 'A text'),
        }),
      ),
      grants: some(fc.constantFrom('admin' as const, 'provider' as const, 'migration' as const)),
      observed: some(fc.constantFrom('', 'appdetails')),
      elsewhere: fc.uniqueArray(id, { maxLength: 4 }),
      store: fc.option(some(fc.constantFrom('game', 'tool'))),
    })
    .map(
      (given): ReconcileFacts => ({
        entries: given.entries,
        complete: given.complete,
        rules: new Map(Object.entries(given.rules)),
        tiles: new Map(Object.entries(given.tiles).map(([key, one]) => [key, { ...one, id: `tile-${key}` }])),
        grants: new Map(
          Object.entries(given.grants).map(([key, grantedBy]) => [
            `tile-${key}`,
            { id: `grant-${key}`, grantedBy },
          ]),
        ),
        observed: new Map(
          Object.entries(given.observed).map(([key, suppressedBy]) => [
            key,
            { name: 'Stored', suppressedBy },
          ]),
        ),
        elsewhere: new Set(given.elsewhere),
        newTiles: 10_000,
        store:
          given.store &&
          new Map(Object.entries(given.store).map(([key, type]) => [key, { type, description: 'Text' }])),
      }),
    );

  test('no tile without an installed manifest, no grant without a tile, no change of an administrator’s row', () => {
    fc.assert(
      fc.property(arbitraryFacts, (given) => {
        const changes = decideReconcile(given);
        const tileOf = new Map([...given.tiles.values()].map((one) => [one.id, one]));
        const grantOf = new Map([...given.grants.values()].map((one) => [one.id, one]));
        const created = new Set(changes.create.map(({ externalId }) => externalId));
        for (const { externalId } of changes.create) {
          expect(given.tiles.has(externalId)).toBe(false);
          const own = given.entries.filter(({ external_id }) => external_id === externalId);
          expect(own.some(({ state_flags }) => Math.floor(state_flags / 4) % 2 === 1)).toBe(true);
        }
        for (const externalId of changes.grant) {
          const existing = given.tiles.get(externalId);
          expect(existing !== undefined || created.has(externalId)).toBe(true);
          expect(existing !== undefined && given.grants.has(existing.id)).toBe(false);
        }
        for (const tileId of changes.disable)
          expect(tileOf.get(tileId)).toMatchObject({ enabled: true, origin: 'discovered' });
        for (const { tileId } of changes.describe)
          expect(tileOf.get(tileId)).toMatchObject({ description: '', origin: 'discovered' });
        for (const grantId of changes.revoke) expect(grantOf.get(grantId)?.grantedBy).toBe('provider');
        if (!given.complete) expect([...changes.unseen, ...changes.revoke]).toEqual([]);
        const granted = new Set(changes.grant);
        for (const { externalId, suppressedBy } of changes.observations)
          if (suppressedBy !== '') expect(granted.has(externalId)).toBe(false);
      }),
    );
  });
});

test.each([
  ['nothing yet', { created: 0, ofLauncher: 0 }, 10_000],
  ['a month of one person', { created: 9_998, ofLauncher: 9_998 }, 2],
  ['more than a month allows', { created: 10_001, ofLauncher: 0 }, 0],
  ['the homes of many people on one host', { created: 0, ofLauncher: 19_999 }, 1],
  ['a launcher that is full', { created: 0, ofLauncher: 25_000 }, 0],
])('tiles that a report may add, after %s', (_name, had, allowed) => {
  expect(tilesAllowed(had)).toBe(allowed);
});
