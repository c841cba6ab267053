import { randomUUID } from 'node:crypto';
import { DAY_MS, systemRandom } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addHost, createTestApp, describeDatabases, type Person, type TestApp } from '../testing/index.ts';
import { createStorage, type Storage } from './collection.ts';
import { claimHome } from './service.ts';

type Step =
  | { kind: 'launch' | 'tombstone'; person: number }
  | { kind: 'pass' | 'list' | 'crash' }
  /** The host moves a listed home aside, asks for the decision, or carries out the answer. */
  | { kind: 'set aside' | 'ask' | 'obey'; pick: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('launch' as const, 'tombstone' as const), person: fc.nat(1) }),
  fc.record({ kind: fc.constantFrom('pass' as const, 'list' as const, 'crash' as const) }),
  fc.record({
    kind: fc.constantFrom('set aside' as const, 'ask' as const, 'obey' as const),
    pick: fc.nat(3),
  }),
);

/** The files of a host, and an agent that behaves as docs/homes.md, "Deletion", describes. */
class ModelHost {
  /** Path of the files → id of their record. */
  readonly placed = new Map<string, string>();
  /** Files that were moved aside: id of the record → original path. */
  readonly aside = new Map<string, string>();
  listed: { id: string; ref: string }[] = [];
  answers = new Map<string, 'deleted' | 'kept'>();

  /**
   * A launch must wait while the path is locked, that is, while its files are moved aside and their deletion is not
   * confirmed.
   */
  isLocked(ref: string): boolean {
    return [...this.aside].some(([id, place]) => place === ref && this.answers.get(id) !== 'deleted');
  }

  setAside(pick: number): void {
    const home = this.listed[pick % Math.max(1, this.listed.length)];
    if (home === undefined || this.isLocked(home.ref) || this.aside.has(home.id)) return;
    if (this.placed.get(home.ref) !== undefined) {
      this.aside.set(home.id, home.ref);
      this.placed.delete(home.ref);
    }
  }

  obey(pick: number): void {
    const [id, answer] = [...this.answers][pick % Math.max(1, this.answers.size)] ?? [];
    if (id === undefined) return;
    const ref = this.aside.get(id);
    if (ref !== undefined && answer === 'kept') this.placed.set(ref, id);
    this.aside.delete(id);
    this.answers.delete(id);
  }

  /** The files and the list of moved homes survive a crash; lists and answers of the service do not. */
  crash(): void {
    this.listed = [];
    this.answers = new Map();
  }
}

describeDatabases('histories of homes', ({ dialect, fresh }) => {
  let app: TestApp;
  let storage: Storage;
  let hostId: string;
  let appId: string;
  /** A separate clock, so that the service's own jobs are not affected by the days that pass. */
  const clock = new ManualClock();
  beforeAll(async () => {
    app = await createTestApp(await fresh());
    const { platform } = app.plane;
    // Ignore handle(), because the service has already registered the job's work.
    storage = createStorage(
      { ...platform, clock, jobs: { ...platform.jobs, handle: () => undefined } },
      { collected: async () => undefined },
    );
    hostId = await addHost(app, 'hosta');
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', {
      body: { name: 'Game', managed_home: true },
    });
    appId = made.body.app.id;
  });
  afterAll(() => app.close());

  const { db } = { db: () => app.plane.platform.database };

  const claim = ({ id, username }: Person) =>
    db().transaction((tx) =>
      claimHome(
        tx,
        systemRandom,
        {
          owner: { userId: id, username, appId, appName: 'Game' },
          hostId,
          homeRoot: '/homes',
          provider: 'local',
        },
        clock.nowMs(),
      ),
    );
  const recordOf = ({ id }: Person) =>
    db().db.selectFrom('storage_homes').selectAll().where('user_id', '=', id).executeTakeFirst();

  async function run(steps: readonly Step[]): Promise<void> {
    await db().db.deleteFrom('storage_homes').execute();
    const host = new ModelHost();
    const people = [app.people.alice, app.people.bob];
    const everMade = new Set<string>();

    const ask = async (id: string) => {
      const { deleted_ids, kept_ids } = await storage.confirm(hostId, [id]);
      host.answers.set(id, kept_ids.includes(id) ? 'kept' : 'deleted');
      expect([...deleted_ids, ...kept_ids]).toEqual([id]);
    };

    for (const step of steps) {
      switch (step.kind) {
        case 'launch': {
          const person = people[step.person] as Person;
          const before = await recordOf(person);
          const taken = await claim(person);
          const record = await recordOf(person);
          if (record === undefined || taken === null) throw new Error('a launch without a record');
          expect([record.gc_after, record.ref]).toEqual([null, taken.ref]);
          if (before) expect(record.id).toBe(before.id);
          everMade.add(record.id);
          // The session waits for the lock until the host has handled the answer.
          if (host.isLocked(record.ref)) {
            const [id] = [...host.aside].find(([, ref]) => ref === record.ref) as [string, string];
            if (!host.answers.has(id)) await ask(id);
            host.obey([...host.answers.keys()].indexOf(id));
          }
          const found = host.placed.get(record.ref);
          // A kept home has its files; a new home is empty.
          expect([undefined, record.id]).toContain(found);
          if (before && found === undefined) throw new Error('a kept home lost its files');
          host.placed.set(record.ref, record.id);
          break;
        }
        case 'tombstone': {
          const record = await recordOf(people[step.person] as Person);
          if (record) await storage.tombstone(record.id, app.people.admin.id);
          break;
        }
        case 'pass':
          clock.advance(DAY_MS);
          break;
        case 'list':
          host.listed = (await storage.pending(hostId)).homes;
          break;
        case 'crash':
          host.crash();
          // The next agent process asks about all homes that are moved aside.
          for (const id of host.aside.keys()) await ask(id);
          while (host.answers.size > 0) host.obey(0);
          break;
        case 'set aside':
          host.setAside(step.pick);
          break;
        case 'ask': {
          const [id] = [...host.aside.keys()].slice(step.pick);
          if (id !== undefined && !host.answers.has(id)) await ask(id);
          break;
        }
        case 'obey':
          host.obey(step.pick);
      }
      const records = new Map(
        (await db().db.selectFrom('storage_homes').selectAll().execute()).map((row) => [row.id, row]),
      );
      for (const id of everMade) {
        const record = records.get(id);
        const places = [
          ...[...host.placed].filter(([, owner]) => owner === id).map(() => 'placed'),
          ...(host.aside.has(id) ? ['aside'] : []),
        ];
        // A home with a record has its files exactly once; without a record there are no files at the path.
        if (record) expect(places).toHaveLength(1);
        else expect(places).not.toContain('placed');
      }
    }
    // The host finishes: confirmed homes are deleted, and all others are moved back.
    for (const id of [...host.aside.keys()]) if (!host.answers.has(id)) await ask(id);
    while (host.answers.size > 0) host.obey(0);
    const left = await db().db.selectFrom('storage_homes').selectAll().execute();
    expect([...host.placed.values()].sort()).toEqual(left.map(({ id }) => id).sort());
  }

  test('a live home is never deleted, and a confirmed one is gone', { timeout: 200_000 }, async () => {
    await fc.assert(fc.asyncProperty(fc.array(anyStep, { maxLength: 40, size: 'max' }), run), {
      numRuns: dialect === 'sqlite' ? 150 : 50,
    });
  });

  test('a launch and a confirmation at the same moment: the files stay, or the record is a new one', async () => {
    const { alice } = app.people;
    for (let round = 0; round < 30; round++) {
      await db().db.deleteFrom('storage_homes').execute();
      await claim(alice);
      const before = await recordOf(alice);
      if (before === undefined) throw new Error('no home');
      await db().db.updateTable('storage_homes').set({ gc_after: 0 }).execute();
      const [answer, taken] = await Promise.all([storage.confirm(hostId, [before.id]), claim(alice)]);
      const after = await recordOf(alice);
      expect(after, randomUUID()).toMatchObject({ ref: taken?.ref, gc_after: null });
      expect(after?.id === before.id).toBe(answer.kept_ids.includes(before.id));
    }
  });
});
