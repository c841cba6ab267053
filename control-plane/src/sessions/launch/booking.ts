/**
 * The transaction of a batch of launches. Each launch takes a GPU's encode slots, its home and its row in arrival
 * order, as if it were alone; reads and writes are batched. admission.ts and placement.ts make the decisions.
 */

import type { Random } from '@footlight/platform';
import type { Placement as Explanation } from '@footlight/protocol/rest';
import type { Database, Tx } from '../../platform/database/index.ts';
import { holdRungs } from '../../profiles/index.ts';
import type { MintedToken, SignalingTokens } from '../../signaling/index.ts';
import { lockHomes } from '../../storage/index.ts';
import type { Assignment } from '../app-spec.ts';
import { explainPlaced } from '../placement/explanation.ts';
import { Fleet } from '../placement/fleet.ts';
import {
  type GpuFacts,
  type Placement as Judged,
  type PlacementSettings,
  refusalOf,
  vramVeto,
} from '../placement/placement.ts';
import {
  countInFlight,
  giveBack,
  loadServings,
  type Serving,
  takeSlots,
  type Want,
} from '../placement/placement-store.ts';
import type { SessionRow } from '../record.ts';
import { insertSessions } from '../store.ts';
import { type Admitted, admitHeld, homeAppOf, rungsInReach, type Served, serve } from './admission.ts';
import { refuseHome, takeHome } from './home-claim.ts';
import { type Held, holdFacts, type Launcher, lockGpus } from './launch-store.ts';
import type { Refusal } from './refusal.ts';
import { assignmentOf, sessionRow } from './session-row.ts';

/** Attempts at placing before the fleet counts as exhausted. */
export const MAX_ATTEMPTS = 50;

export interface BookingDeps {
  database: Database;
  random: Random;
  tokens: SignalingTokens;
  placement: PlacementSettings;
}

/** A launch that passed all checks without locks. */
export interface Wanted {
  launcher: Launcher;
  admitted: Admitted;
}

export interface Launched {
  row: SessionRow;
  /** null: a local session. */
  token: MintedToken | null;
  assignment: Assignment;
}

/** Result of a launch. */
export type Outcome =
  | { kind: 'launched'; launched: Launched }
  /** judged: present for a placement refusal. */
  | { kind: 'refused'; refusal: Refusal; judged?: Judged }
  /**
   * Another transaction holds a row that this launch needs, or an earlier launch of the same user in this batch may
   * take it. Only a pass that waits for the locks can decide.
   */
  | { kind: 'contended' }
  /** The rung was deleted after it was read. */
  | { kind: 'stale' };

/** A launch with its chosen GPU. */
interface Chosen {
  want: Wanted;
  gpu: GpuFacts;
  /** Recorded at the choice of the GPU; the codec decision is added later. */
  explanation: Explanation;
}

/** A launch whose slots are booked. */
interface Placed extends Chosen {
  serving: Serving;
}

/** A booked launch with its stream. */
interface Seated extends Placed {
  served: Served;
}

/**
 * @param wait false: skip rows that others have locked; true: wait for them, and a refusal is final
 * @returns one outcome each, in order; the transaction does all of it or nothing
 */
export async function bookLaunches(
  deps: BookingDeps,
  tx: Tx,
  wanted: readonly Wanted[],
  wait: boolean,
  nowMs: number,
): Promise<Outcome[]> {
  const booking = new Booking(deps, tx, nowMs, wanted.length);
  const outcomes = await booking.run(wanted, wait);
  return wanted.map((want) => outcomes.get(want) ?? { kind: 'contended' });
}

class Booking {
  readonly #deps: BookingDeps;
  readonly #tx: Tx;
  readonly #nowMs: number;
  readonly #fleet: Fleet;
  readonly #outcomes = new Map<Wanted, Outcome>();
  readonly #held = new Map<Wanted, Held>();
  readonly #heldRungs = new Set<string>();
  #gaveBack = false;

  constructor(deps: BookingDeps, tx: Tx, nowMs: number, launches: number) {
    this.#deps = deps;
    this.#tx = tx;
    this.#nowMs = nowMs;
    this.#fleet = new Fleet(tx, deps.placement, nowMs, launches);
  }

  async run(wanted: readonly Wanted[], wait: boolean): Promise<ReadonlyMap<Wanted, Outcome>> {
    const { database } = this.#deps;
    const [admitted] = await Promise.all([
      this.#hold(wanted),
      wait ? null : this.#fleet.look(wanted.map((want) => want.admitted.demand)),
    ]);
    if (wait) await lockGpus(database, this.#tx, null);
    const { placed, unplaced } = await this.#place(admitted);
    await this.#write(await this.#seat(placed));
    // SQLite's transaction holds the only write lock, so no other transaction can hold what this one lacks. Slots
    // that a launch of this batch gave back may be enough for another.
    const isFinal = (wait || database.dialect === 'sqlite') && !this.#gaveBack;
    for (const [want, judged] of unplaced)
      this.#outcomes.set(
        want,
        isFinal ? { kind: 'refused', refusal: refusalOf(judged), judged } : { kind: 'contended' },
      );
    return this.#outcomes;
  }

  /** Locks and reads the facts of `admitHeld`. @returns the launches that pass */
  async #hold(wanted: readonly Wanted[]): Promise<Wanted[]> {
    const asked = wanted.map(({ launcher, admitted }) => ({
      launcher,
      appId: admitted.app.id,
      homeAppId: homeAppOf(admitted),
    }));
    const facts = await holdFacts(this.#tx, asked);
    const passed = new PassedOfUsers();
    return wanted.filter((want, n) => {
      const held = facts[n] as Held;
      this.#held.set(want, held);
      const refusal = admitHeld(want.admitted, held);
      if (refusal !== null) {
        this.#outcomes.set(want, { kind: 'refused', refusal });
        return false;
      }
      return passed.leaveRoom(want, held);
    });
  }

  /** Books slots of the best unlocked GPU that still passes, for each launch. */
  async #place(
    wanted: readonly Wanted[],
  ): Promise<{ placed: Placed[]; unplaced: ReadonlyMap<Wanted, Judged> }> {
    const { placement } = this.#deps;
    const placed: Placed[] = [];
    const unplaced = new Map<Wanted, Judged>();
    let seeking = wanted;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && seeking.length > 0; attempt++) {
      const chosen: Chosen[] = [];
      for (const want of seeking) {
        const { gpu, judged } = await this.#fleet.choose(want.admitted.demand);
        if (gpu === null) {
          unplaced.set(want, judged);
          continue;
        }
        chosen.push({ want, gpu, explanation: explainPlaced(judged, placement, this.#nowMs) });
        this.#fleet.book(gpu, want.admitted.demand);
      }
      const { taken, missed } = await this.#take(chosen);
      placed.push(...taken);
      seeking = missed;
    }
    return { placed, unplaced };
  }

  /** @returns missed: launches that did not get their chosen GPU */
  async #take(chosen: readonly Chosen[]): Promise<{ taken: Placed[]; missed: Wanted[] }> {
    const { database, placement } = this.#deps;
    const [rows, servingOf, rungs] = await Promise.all([
      takeSlots(this.#tx, sumUp(chosen)),
      loadServings(
        this.#tx,
        chosen.map(({ gpu }) => gpu),
      ),
      // A deletion of a rung counts its sessions first; with the rung locked it waits for these.
      holdRungs(this.#tx, [...new Set(chosen.flatMap(({ want }) => rungsInReach(want.admitted)))]),
    ]);
    for (const id of rungs) this.#heldRungs.add(id);
    // On SQLite no session can have started since the GPUs were read.
    const inFlight =
      database.dialect === 'sqlite'
        ? null
        : await countInFlight(this.#tx, rows.values(), placement, this.#nowMs);
    const taken: Placed[] = [];
    const missed: Wanted[] = [];
    for (const one of chosen) {
      const { gpu_id } = one.gpu;
      const { demand } = one.want.admitted;
      const row = rows.get(gpu_id);
      if (row === undefined) {
        this.#fleet.unbook(one.gpu, demand);
      } else {
        const in_flight = inFlight?.get(gpu_id) ?? 0;
        const vetoed =
          inFlight !== null &&
          !demand.skip_vram_veto &&
          vramVeto({ ...row, in_flight }, placement, this.#nowMs) !== null;
        if (!vetoed) {
          inFlight?.set(gpu_id, in_flight + 1);
          taken.push({ ...one, serving: servingOf(one.gpu) });
          continue;
        }
        await this.#giveBack(one);
      }
      this.#fleet.passOver(one.gpu);
      missed.push(one.want);
    }
    return { taken, missed };
  }

  /** Resolves stream and home. @returns the launches that pass; the others have given back their slots */
  async #seat(placed: readonly Placed[]): Promise<Seated[]> {
    const seated: Seated[] = [];
    for (const one of placed) {
      const { admitted } = one.want;
      const outcome = serve(admitted, one.serving, this.#nowMs);
      if ('refusal' in outcome) {
        await this.#undo(one, { kind: 'refused', refusal: outcome.refusal });
        continue;
      }
      const { served } = outcome;
      if (served.rung !== null && !this.#heldRungs.has(served.rung.rung.id)) {
        await this.#undo(one, { kind: 'stale' });
        continue;
      }
      const refusal = await refuseHome(this.#tx, this.#ownerOf(one), admitted, one.gpu);
      if (refusal === null) seated.push({ ...one, served });
      else await this.#undo(one, { kind: 'refused', refusal });
    }
    return seated;
  }

  async #write(seated: readonly Seated[]): Promise<void> {
    const { random, tokens } = this.#deps;
    const homes = seated.flatMap(({ want }) => {
      const appId = homeAppOf(want.admitted);
      return appId === null ? [] : [{ userId: want.launcher.userId, appId }];
    });
    if (homes.length > 1) await lockHomes(this.#deps.database, this.#tx, homes);
    const sessions = [];
    for (const one of seated) {
      const { want, gpu, serving, served, explanation } = one;
      const { launcher, admitted } = want;
      const home = await takeHome(this.#tx, random, this.#ownerOf(one), admitted, gpu, this.#nowMs);
      const row = sessionRow(random.uuid(), launcher, admitted, gpu, serving, served, this.#nowMs);
      sessions.push({
        want,
        row,
        explanation: { ...explanation, codec_decision: served.rung?.decision ?? null },
        assignment: assignmentOf(row, admitted, serving, home),
      });
    }
    const streamed = sessions.filter(({ want }) => want.admitted.topology !== 'local_only');
    const [, minted] = await Promise.all([
      insertSessions(this.#tx, sessions),
      tokens.mintAll(
        this.#tx,
        streamed.map(({ row }) => row.id),
      ),
    ]);
    for (const { want, row, assignment } of sessions) {
      const launched = { row, token: minted.get(row.id) ?? null, assignment };
      this.#outcomes.set(want, { kind: 'launched', launched });
    }
  }

  #ownerOf({ want }: Chosen): { userId: string; username: string } {
    return { userId: want.launcher.userId, username: this.#held.get(want)?.username ?? '' };
  }

  async #undo(one: Chosen, outcome: Outcome): Promise<void> {
    await this.#giveBack(one);
    this.#outcomes.set(one.want, outcome);
  }

  async #giveBack(one: Chosen): Promise<void> {
    await giveBack(this.#tx, wantOf(one));
    this.#fleet.unbook(one.gpu, one.want.admitted.demand);
    this.#gaveBack = true;
  }
}

/** Launches of each user that passed in this transaction: the next one must leave them their quota and homes. */
class PassedOfUsers {
  readonly #byUser = new Map<string, { sessions: number; homeAppIds: Set<string> }>();

  /** @returns whether this launch also passes; it is then counted */
  leaveRoom({ launcher, admitted }: Wanted, held: Held): boolean {
    const before = this.#byUser.get(launcher.userId) ?? { sessions: 0, homeAppIds: new Set() };
    const homeAppId = homeAppOf(admitted);
    if (homeAppId !== null && before.homeAppIds.has(homeAppId)) return false;
    if (admitHeld(admitted, { ...held, sessions: held.sessions + before.sessions }) !== null) return false;
    before.sessions += 1;
    if (homeAppId !== null) before.homeAppIds.add(homeAppId);
    this.#byUser.set(launcher.userId, before);
    return true;
  }
}

const wantOf = ({ gpu, want }: Pick<Chosen, 'gpu' | 'want'>): Want => ({
  gpu_id: gpu.gpu_id,
  slots: want.admitted.demand.encode_slots,
  sessions: 1,
});

/** Sums up the demands on each GPU. */
function sumUp(chosen: readonly Chosen[]): Want[] {
  const wants = new Map<string, Want>();
  for (const one of chosen) {
    const { gpu_id, slots, sessions } = wantOf(one);
    const so_far = wants.get(gpu_id);
    wants.set(gpu_id, {
      gpu_id,
      slots: slots + (so_far?.slots ?? 0),
      sessions: sessions + (so_far?.sessions ?? 0),
    });
  }
  return [...wants.values()];
}
