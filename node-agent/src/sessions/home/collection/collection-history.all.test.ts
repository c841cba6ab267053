import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger, systemClock, systemRandom } from '@footlight/platform';
import type { DueHome } from '@footlight/protocol/agent';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { closeHome, openHome } from '../home.ts';
import { HomeLocks } from '../home-locks.ts';
import { HomeCollection } from './home-collection.ts';
import { ControlModel } from './testing/control-model.ts';

const USER = process.getuid?.() === 0 ? { uid: 71_340, gid: 71_340, groups: [] } : null;
const PLACES = ['alice-1/game-2', 'alice-1/other-3', 'bob-4/game-2'];

/** Events while the collection queries the control plane. */
type Disturbance =
  | 'none'
  | 'launch'
  | 'launch and crash'
  | 'crash before the answer'
  | 'crash after the answer';

type Step =
  | { kind: 'launch' | 'mark'; place: number }
  | { kind: 'collect'; disturbance: Disturbance; question: number }
  | { kind: 'restart' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('launch' as const, 'mark' as const), place: fc.nat(2) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('collect' as const),
      disturbance: fc.constantFrom<Disturbance[]>(
        'none',
        'launch',
        'launch and crash',
        'crash before the answer',
        'crash after the answer',
      ),
      question: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

/** A model of a host with three home paths, of its control plane, and of its agent, which may crash. */
class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'footlight-history-'));
  readonly root = join(this.directory, 'homes');
  readonly control = new ControlModel();
  /** The newest record of each path; everMade also contains earlier records. */
  readonly records = new Map<number, DueHome>();
  readonly everMade: DueHome[] = [];
  locks = new HomeLocks(systemClock);
  collection = this.#start();

  constructor() {
    mkdirSync(join(this.directory, 'state'));
  }

  #start(): HomeCollection {
    return new HomeCollection(
      {
        stateDir: join(this.directory, 'state'),
        root: () => ({ path: this.root, isOwn: true }),
        isSessionsGroup: () => true,
      },
      {
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger(),
        locks: this.locks,
        control: this.control,
        volumes: { ready: () => Promise.reject(new Error('no engine')), remove: async () => 'absent' },
        changed: () => undefined,
      },
    );
  }

  async restart(): Promise<void> {
    this.collection.close();
    this.locks = new HomeLocks(systemClock);
    this.collection = this.#start();
    await this.collection.open();
    await this.collection.resume();
  }

  /** Returns the record for a launch: the existing record, which is kept from now on, or a new one. */
  claim(place: number): DueHome {
    const known = this.records.get(place);
    if (known && this.control.stateOf(known.id) !== 'deleted') {
      this.control.set(known.id, 'kept');
      return known;
    }
    const made: DueHome = {
      id: randomUUID(),
      provider: 'local',
      ref: join(this.root, PLACES[place] as string),
    };
    this.records.set(place, made);
    this.everMade.push(made);
    this.control.add(made, 'kept');
    return made;
  }

  /**
   * Runs a session with this home, from the lock to its end. The session must find the files of earlier sessions with
   * the same record.
   */
  async session(home: DueHome, isNew: boolean): Promise<void> {
    const release = await this.locks.take(home.ref, 20_000, new AbortController().signal);
    if (release === null) throw new Error('the home was not released');
    await openHome(this.root, home.ref, USER);
    expect(readdirSync(home.ref)).toEqual(isNew ? [] : [home.id]);
    writeFileSync(join(home.ref, home.id), '');
    await closeHome(home.ref, USER);
    release();
  }

  async launch(place: number): Promise<void> {
    const before = this.records.get(place)?.id;
    const home = this.claim(place);
    await this.session(home, home.id !== before);
  }

  mark(place: number): void {
    const known = this.records.get(place);
    if (known) this.control.set(known.id, 'due');
  }

  async collect({ disturbance, question }: Extract<Step, { kind: 'collect' }>): Promise<void> {
    let questions = 0;
    let session: Promise<void> | null = null;
    const isDisturbed = () => questions++ === question && disturbance !== 'none';
    const confirm = this.control.confirm.bind(this.control);
    this.control.confirm = async (ids) => {
      if (!isDisturbed()) return confirm(ids);
      if (disturbance === 'launch') {
        const place = [...this.records].find(([, { id }]) => ids.includes(id))?.[0];
        if (place !== undefined) session = this.session(this.claim(place), false);
        return confirm(ids);
      }
      if (disturbance === 'launch and crash') {
        // The session starts only after the agent's next start.
        const place = [...this.records].find(([, { id }]) => ids.includes(id))?.[0];
        if (place !== undefined) this.claim(place);
      }
      if (disturbance === 'crash after the answer') await confirm(ids);
      this.collection.close();
      throw new Error('crashed');
    };
    await this.collection.run();
    this.control.confirm = confirm;
    await session;
    if (questions > question && disturbance.includes('crash')) await this.restart();
  }

  /** Checks that a live home is never deleted, and that a home with a confirmed deletion does not exist any more. */
  check(): void {
    for (const { id, ref } of this.everMade) {
      const state = this.control.stateOf(id);
      const places = [ref, join(dirname(ref), `.trash-${id}`)].filter((path) => existsSync(join(path, id)));
      expect(places).toEqual(state === 'deleted' ? [] : [ref]);
    }
    expect([this.collection.problems, this.locks.taken]).toEqual([[], []]);
  }

  end(): void {
    this.collection.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

test('a live home is never deleted, and a confirmed one is gone, in every history', {
  timeout: 200_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 14, size: 'max' }), async (steps) => {
      const world = new World();
      try {
        for (const step of steps) {
          if (step.kind === 'launch') await world.launch(step.place);
          else if (step.kind === 'mark') world.mark(step.place);
          else if (step.kind === 'collect') await world.collect(step);
          else await world.restart();
          world.check();
        }
      } finally {
        world.end();
      }
    }),
    { numRuns: 400 },
  );
});
