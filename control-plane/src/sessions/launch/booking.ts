/**
 * Turns admitted launches into booked ones, for a batch in one transaction. In arrival order, each launch gets a GPU's
 * encode slots, its home and its row, as if it were the only one; reads and writes are batched. admission.ts and
 * placement.ts make the decisions. A preview makes the same decisions without locks and writes.
 */

import type { Random } from '@footlight/platform';
import type { Placement } from '@footlight/protocol/rest';
import type { Database, Executor, Tx } from '../../platform/database/index.ts';
import type { Webhook } from '../../platform/webhook.ts';
import { lockRungsShared } from '../../profiles/index.ts';
import type { SignalingTokens } from '../../signaling/index.ts';
import { lockHomes } from '../../storage/index.ts';
import { explain, explainRefusal } from '../placement/explanation.ts';
import { GpuSnapshot, WHOLE_FLEET } from '../placement/gpu-snapshot.ts';
import {
  type GpuFacts,
  type PlacementSettings,
  refusalOf,
  refuseBareHost,
  vramVeto,
} from '../placement/placement.ts';
import { loadBareHosts, loadServingFacts, type ServingFacts } from '../placement/placement-store.ts';
import {
  bookSlots,
  countInFlight,
  lockGpus,
  type SlotBooking,
  unbookSlots,
} from '../placement/slots-store.ts';
import { createdEvent } from '../session-events.ts';
import { rungsInReach, serve } from '../stream/serve.ts';
import { admitLocked, homeAppOf, type LockedFacts } from './admission.ts';
import { insertSessions } from './booking-store.ts';
import { refuseHome, takeHome } from './home-claim.ts';
import { loadLockedFacts, lockFacts } from './launch-store.ts';
import type { Refusal } from './refusal.ts';
import { assignmentOf, sessionRow } from './session-row.ts';
import type { AdmittedLaunch, BookedLaunch, ChosenGpu, PlacedLaunch } from './stages.ts';

/** Maximum attempts to place a launch; then the fleet counts as full. */
export const MAX_ATTEMPTS = 50;

/**
 * GPUs that a batch reads first, in addition to one per launch. Each concurrent transaction may have locked one GPU,
 * and there are fewer than 32 such transactions.
 */
const FIRST_READ = 32;

export interface BookingDeps {
  database: Database;
  random: Random;
  tokens: SignalingTokens;
  placement: PlacementSettings;
  webhook: Webhook | null;
}

/** Result of a booking for one launch. */
export type BookingOutcome =
  | { kind: 'booked'; booked: BookedLaunch }
  /** No GPU can serve the launch. */
  | { kind: 'unplaced'; refusal: Refusal; explanation: Placement }
  /** explanation null: the launch was refused before the choice of a GPU. */
  | { kind: 'refused'; refusal: Refusal; explanation: Placement | null }
  /**
   * Another transaction has locked a row that this launch needs, or an earlier launch of the same user in this batch
   * may use the resource. Only a pass that waits for the locks can decide.
   */
  | { kind: 'contended' }
  /** The rung was deleted after it was read. */
  | { kind: 'stale' };

/**
 * @param wait false: skip rows that others have locked; true: wait for them, and a refusal is final
 * @returns one outcome per launch, in the same order; the transaction stores all of them or none
 */
export async function bookLaunches(
  deps: BookingDeps,
  tx: Tx,
  launches: readonly AdmittedLaunch[],
  wait: boolean,
  nowMs: number,
): Promise<BookingOutcome[]> {
  // Read enough GPUs that, even if each launch fills one of the best GPUs, the next best is still known.
  const booking = new Booking(deps, tx, tx, nowMs, FIRST_READ + launches.length);
  const placed = await booking.decide(launches, wait);
  await booking.write(tx, placed);
  return launches.map((launch) => booking.outcomes.get(launch) ?? { kind: 'contended' });
}

/** Computes the result of a booking without making it. It judges the whole fleet, including hosts without a GPU. */
export async function previewBooking(
  deps: BookingDeps,
  launch: AdmittedLaunch,
  nowMs: number,
): Promise<Placement> {
  const { db } = deps.database;
  const booking = new Booking(deps, db, null, nowMs, WHOLE_FLEET);
  const [placed] = await booking.decide([launch], false);
  const outcome = booking.outcomes.get(launch);
  const answer =
    outcome?.kind === 'unplaced' || outcome?.kind === 'refused'
      ? explainRefusal(outcome.refusal.code, outcome.explanation)
      : (placed as PlacedLaunch).explanation;
  if (outcome?.kind === 'refused' && outcome.explanation === null) return answer;
  const bareHosts = await loadBareHosts(db);
  return { ...answer, refusals: [...answer.refusals, ...bareHosts.map(refuseBareHost)] };
}

class Booking {
  readonly outcomes = new Map<AdmittedLaunch, BookingOutcome>();
  readonly #deps: BookingDeps;
  readonly #db: Executor;
  readonly #tx: Tx | null;
  readonly #nowMs: number;
  readonly #gpus: GpuSnapshot;
  readonly #facts = new Map<AdmittedLaunch, LockedFacts>();
  readonly #servings = new Map<GpuFacts, ServingFacts>();
  readonly #lockedRungs = new Set<string>();
  #hasRejected = false;

  /** @param tx null: a preview, which locks and writes nothing */
  constructor(deps: BookingDeps, db: Executor, tx: Tx | null, nowMs: number, firstRead: number) {
    this.#deps = deps;
    this.#db = db;
    this.#tx = tx;
    this.#nowMs = nowMs;
    this.#gpus = new GpuSnapshot(db, deps.placement, nowMs, firstRead);
  }

  /** Chooses a GPU, a stream and a home for each launch, and books the slots. @returns the launches that pass */
  async decide(launches: readonly AdmittedLaunch[], wait: boolean): Promise<PlacedLaunch[]> {
    const { database } = this.#deps;
    const [admitted] = await Promise.all([
      this.#admit(launches),
      wait ? null : this.#gpus.prefetch(launches.map(({ demand }) => demand)),
    ]);
    if (wait && this.#tx !== null) await lockGpus(this.#tx);
    const { chosen, unplaced } = await this.#choose(admitted);
    const passed: PlacedLaunch[] = [];
    for (const choice of chosen) {
      const placed = await this.#serve(choice);
      if (placed !== null) passed.push(placed);
    }
    // SQLite's transaction has the only write lock, so no other transaction can block a launch there. But if a launch
    // of this batch was rejected, its freed slots may be enough for another launch.
    const isFinal = this.#tx === null || ((wait || database.dialect === 'sqlite') && !this.#hasRejected);
    for (const [launch, outcome] of unplaced)
      this.outcomes.set(launch, isFinal ? outcome : { kind: 'contended' });
    return passed;
  }

  async write(tx: Tx, placed: readonly PlacedLaunch[]): Promise<void> {
    const { random, tokens } = this.#deps;
    const homes = placed.flatMap(({ launch }) => {
      const appId = homeAppOf(launch);
      return appId === null ? [] : [{ userId: launch.user.userId, appId }];
    });
    if (homes.length > 1) await lockHomes(tx, homes);
    const sessions = [];
    for (const launched of placed) {
      const { launch, gpu, explanation } = launched;
      const home = await takeHome(tx, random, this.#username(launch), launch, gpu, this.#nowMs);
      const row = sessionRow(random.uuid(), launched, this.#nowMs);
      sessions.push({ launch, row, explanation, assignment: assignmentOf(row, launched, home) });
    }
    const streamed = sessions.filter(({ launch }) => launch.terms.topology !== 'local_only');
    const [, minted] = await Promise.all([
      insertSessions(tx, sessions),
      tokens.mintAll(
        tx,
        streamed.map(({ row }) => row.id),
      ),
    ]);
    if (sessions.length > 0)
      await this.#deps.webhook?.add(
        tx,
        sessions.map(({ row }) => createdEvent(row)),
      );
    for (const { launch, row, assignment } of sessions) {
      const booked = { row, token: minted.get(row.id) ?? null, assignment };
      this.outcomes.set(launch, { kind: 'booked', booked });
    }
  }

  /** Locks and reads the facts of `admitLocked`. @returns the launches that pass */
  async #admit(launches: readonly AdmittedLaunch[]): Promise<AdmittedLaunch[]> {
    const facts = await (this.#tx === null
      ? loadLockedFacts(this.#db, launches)
      : lockFacts(this.#tx, launches));
    const passed = new PassedOfUsers();
    return launches.filter((launch, n) => {
      const locked = facts[n] as LockedFacts;
      this.#facts.set(launch, locked);
      const refusal = admitLocked(launch, locked);
      if (refusal !== null) {
        this.outcomes.set(launch, { kind: 'refused', refusal, explanation: null });
        return false;
      }
      return passed.leaveRoom(launch, locked);
    });
  }

  /** Books slots of the best unlocked GPU that still passes, for each launch. */
  async #choose(launches: readonly AdmittedLaunch[]): Promise<{
    chosen: ChosenGpu[];
    unplaced: ReadonlyMap<AdmittedLaunch, BookingOutcome>;
  }> {
    const chosen: ChosenGpu[] = [];
    const unplaced = new Map<AdmittedLaunch, BookingOutcome>();
    let open = launches;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && open.length > 0; attempt++) {
      const wanted: ChosenGpu[] = [];
      for (const launch of open) {
        const { gpu, decision } = await this.#gpus.choose(launch.demand);
        const explanation = explain(decision, this.#deps.placement, this.#nowMs, this.#tx === null);
        if (gpu === null) {
          unplaced.set(launch, { kind: 'unplaced', refusal: refusalOf(decision), explanation });
        } else {
          wanted.push({ launch, gpu, explanation });
          this.#gpus.assume(gpu, launch.demand);
        }
      }
      const { taken, missed } = await this.#book(wanted);
      chosen.push(...taken);
      open = missed;
    }
    return { chosen, unplaced };
  }

  /** @returns missed: launches whose chosen GPU could not be booked */
  async #book(chosen: ChosenGpu[]): Promise<{ taken: ChosenGpu[]; missed: AdmittedLaunch[] }> {
    const { database, placement } = this.#deps;
    const rungIds = [...new Set(chosen.flatMap(({ launch }) => rungsInReach(launch)))];
    const [rows, servingOf, rungs] = await Promise.all([
      this.#tx && bookSlots(this.#tx, sumUp(chosen)),
      loadServingFacts(
        this.#db,
        chosen.map(({ gpu }) => gpu),
      ),
      // Lock the rungs: a deletion of a rung counts its sessions, and now waits until these sessions are stored.
      this.#tx === null ? rungIds : lockRungsShared(this.#tx, rungIds),
    ]);
    for (const id of rungs) this.#lockedRungs.add(id);
    for (const { gpu } of chosen) this.#servings.set(gpu, servingOf(gpu));
    if (rows === null || this.#tx === null) return { taken: chosen, missed: [] };
    // On SQLite no session can have started since the GPUs were read.
    const inFlight =
      database.dialect === 'sqlite'
        ? null
        : await countInFlight(this.#tx, rows.values(), placement, this.#nowMs);
    const taken: ChosenGpu[] = [];
    const missed: AdmittedLaunch[] = [];
    for (const choice of chosen) {
      const { gpu_id } = choice.gpu;
      const { demand } = choice.launch;
      const row = rows.get(gpu_id);
      if (row === undefined) {
        this.#gpus.forget(choice.gpu, demand);
      } else {
        const in_flight = inFlight?.get(gpu_id) ?? 0;
        const vetoed =
          inFlight !== null &&
          !demand.skip_vram_veto &&
          vramVeto({ ...row, in_flight }, placement, this.#nowMs) !== null;
        if (!vetoed) {
          inFlight?.set(gpu_id, in_flight + 1);
          taken.push(choice);
          continue;
        }
        await this.#unbook(choice);
      }
      this.#gpus.skip(choice.gpu);
      missed.push(choice.launch);
    }
    return { taken, missed };
  }

  /** Chooses the stream and claims the home. @returns null: the launch is refused, and its slots are freed */
  async #serve(choice: ChosenGpu): Promise<PlacedLaunch | null> {
    const { launch, gpu } = choice;
    const serving = this.#servings.get(gpu) as ServingFacts;
    const served = serve(launch, serving, this.#nowMs);
    if ('refusal' in served)
      return this.#reject(choice, {
        kind: 'refused',
        refusal: served.refusal,
        explanation: choice.explanation,
      });
    if (served.rung !== null && !this.#lockedRungs.has(served.rung.rung.id))
      return this.#reject(choice, { kind: 'stale' });
    const explanation = { ...choice.explanation, codec_decision: served.rung?.decision ?? null };
    const refusal = await refuseHome(this.#db, this.#username(launch), launch, gpu);
    if (refusal !== null) return this.#reject(choice, { kind: 'refused', refusal, explanation });
    return { launch, gpu, explanation, serving, served };
  }

  #username(launch: AdmittedLaunch): string {
    return this.#facts.get(launch)?.username ?? '';
  }

  async #reject(choice: ChosenGpu, outcome: BookingOutcome): Promise<null> {
    this.outcomes.set(choice.launch, outcome);
    await this.#unbook(choice);
    return null;
  }

  async #unbook(choice: ChosenGpu): Promise<void> {
    if (this.#tx !== null) await unbookSlots(this.#tx, slotsOf(choice));
    this.#gpus.forget(choice.gpu, choice.launch.demand);
    this.#hasRejected = true;
  }
}

/**
 * Launches of each user that passed in this transaction. For a later launch of the same user they count towards the
 * quota, and their homes are in use.
 */
class PassedOfUsers {
  readonly #byUser = new Map<string, { sessions: number; homeAppIds: Set<string> }>();

  /** @returns whether this launch also passes; if so, it is counted */
  leaveRoom(launch: AdmittedLaunch, facts: LockedFacts): boolean {
    const { userId } = launch.user;
    const before = this.#byUser.get(userId) ?? { sessions: 0, homeAppIds: new Set() };
    const homeAppId = homeAppOf(launch);
    if (homeAppId !== null && before.homeAppIds.has(homeAppId)) return false;
    if (admitLocked(launch, { ...facts, sessions: facts.sessions + before.sessions }) !== null) return false;
    before.sessions += 1;
    if (homeAppId !== null) before.homeAppIds.add(homeAppId);
    this.#byUser.set(userId, before);
    return true;
  }
}

const slotsOf = ({ gpu, launch }: ChosenGpu): SlotBooking => ({
  gpu_id: gpu.gpu_id,
  slots: launch.demand.encode_slots,
  sessions: 1,
});

/** Sums up the demands on each GPU. */
function sumUp(chosen: readonly ChosenGpu[]): SlotBooking[] {
  const sums = new Map<string, SlotBooking>();
  for (const choice of chosen) {
    const { gpu_id, slots, sessions } = slotsOf(choice);
    const before = sums.get(gpu_id);
    sums.set(gpu_id, {
      gpu_id,
      slots: slots + (before?.slots ?? 0),
      sessions: sessions + (before?.sessions ?? 0),
    });
  }
  return [...sums.values()];
}
