/**
 * POST /v1/sessions: reads the facts, then books a GPU's encode slots, the home and the row in one transaction.
 * Concurrent launches share reads and transaction. admission.ts and placement.ts make the decisions; the commands to
 * the host follow after the answer.
 */
import type { Body, Placement } from '@footlight/protocol/rest';
import { encoderBudgetReader } from '../../fleet/index.ts';
import { isDown, transactionLookedUp } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Settings } from '../../settings/index.ts';
import type { SignalingTokens } from '../../signaling/index.ts';
import { explain } from '../placement/explanation.ts';
import { WHOLE_FLEET } from '../placement/fleet.ts';
import {
  decidePlacement,
  type Placement as Judged,
  refusalOf,
  refuseBareHost,
} from '../placement/placement.ts';
import { loadBareHosts, loadGpus, loadServings } from '../placement/placement-store.ts';
import { loadSession } from '../store.ts';
import {
  type Admitted,
  admit,
  admitHeld,
  homeAppOf,
  PERSONAL_TERMS,
  type Served,
  serve,
  type Terms,
} from './admission.ts';
import { bookLaunches, type Launched, MAX_ATTEMPTS, type Outcome, type Wanted } from './booking.ts';
import { refuseHome } from './home-claim.ts';
import { LaunchQueue } from './launch-queue.ts';
import { catalogReader, type Launcher, loadHeldFacts, loadOwnFacts, lockUser } from './launch-store.ts';
import { type Refusal, refusalError } from './refusal.ts';

export type { Launched } from './booking.ts';
export type LaunchRequest = Body<'sessions.launch'>;

export interface Launches {
  /**
   * @param terms default: terms of a person's launch
   * @throws ApiError with the first refusal of the fixed order; nothing was booked
   */
  launch(launcher: Launcher, request: LaunchRequest, terms?: Terms): Promise<Launched>;
  /** Result of a hypothetical launch. Writes and locks nothing. */
  preview(launcher: Launcher, request: LaunchRequest): Promise<Placement>;
}

/** What is asked. */
interface Ask {
  launcher: Launcher;
  request: LaunchRequest;
  terms: Terms;
}

interface Job extends Ask {
  resolve(launched: Launched): void;
  reject(error: unknown): void;
}

interface Candidate extends Wanted {
  job: Job;
}

/** Result of the checks without locks. */
type Looked = ReturnType<typeof admit>;

interface Failed {
  kind: 'failed';
  error: unknown;
}

export function createLauncher(
  platform: Platform,
  deps: { settings: Settings; tokens: SignalingTokens },
): Launches {
  const { clock, config, database, logger, random } = platform;
  const placement = {
    vramMinFreeMb: config.sessions.vramMinFreeMb,
    vramInflightEstimateMb: config.sessions.vramInflightEstimateMb,
    vramStalenessSecs: config.sessions.vramStalenessSecs,
  };
  const booking = { database, random, tokens: deps.tokens, placement };

  const readCatalog = catalogReader(database);
  const loadEncoderBudget = encoderBudgetReader(platform);
  const queue = new LaunchQueue<Job>(settle);

  /** Runs the checks without locks. */
  async function look(asks: readonly Ask[]): Promise<Looked[]> {
    const asked = asks.map(({ launcher, request }) => ({ launcher, appId: request.app_id }));
    const prefersHomeHost = config.sessions.placementPolicy === 'locality';
    const [catalog, settings, encoderMpixelS, facts] = await Promise.all([
      readCatalog(),
      deps.settings.current(),
      loadEncoderBudget(),
      database.together((db) => loadOwnFacts(db, asked, prefersHomeHost, clock.nowMs())),
    ]);
    return facts.map((own, n) => {
      const { request, terms } = asks[n] as Ask;
      return admit(
        { ...own, settings, choice: { ...own.choice, ...catalog, encoderMpixelS } },
        request,
        terms,
      );
    });
  }

  /** Handles a batch; each launch gets its own answer. */
  async function settle(jobs: readonly Job[]): Promise<void> {
    try {
      let open = jobs;
      for (let round = 0; round < MAX_ATTEMPTS && open.length > 0; round++) open = await tryOnce(open);
      for (const job of open) job.reject(refusalError({ code: 'capacity_exhausted' }));
    } catch (error) {
      // Launches that already have an answer ignore the rejection.
      for (const job of jobs) job.reject(error);
    }
  }

  /** @returns launches that need another round */
  async function tryOnce(jobs: readonly Job[]): Promise<Job[]> {
    let wanted: Candidate[] = [];
    for (const [n, looked] of (await runWithIndividualRetry(jobs, look)).entries()) {
      const job = jobs[n] as Job;
      if ('kind' in looked) job.reject(looked.error);
      else if ('refusal' in looked) job.reject(refusalError(looked.refusal));
      else wanted.push({ job, launcher: job.launcher, admitted: looked.admitted });
    }
    const again: Job[] = [];
    for (const wait of [false, true]) {
      if (wanted.length === 0) break;
      const outcomes = await runWithIndividualRetry(wanted, (some) => book(some, wait));
      const contended: Candidate[] = [];
      for (const [n, outcome] of outcomes.entries()) {
        const one = wanted[n] as Candidate;
        if (outcome.kind === 'contended') contended.push(one);
        else if (outcome.kind === 'stale') again.push(one.job);
        else answer(one, outcome);
      }
      wanted = contended;
    }
    return [...again, ...wanted.map(({ job }) => job)];
  }

  function book(wanted: readonly Wanted[], wait: boolean): Promise<Outcome[]> {
    return transactionLookedUp(
      platform,
      (tx) => bookLaunches(booking, tx, wanted, wait, clock.nowMs()),
      // The transaction stores all of them or none.
      async (tx, outcomes) => {
        const one = outcomes.find(({ kind }) => kind === 'launched');
        if (one?.kind !== 'launched') return false;
        const { id, user_id } = one.launched.row;
        await lockUser(tx, user_id);
        return (await loadSession(tx, id)) !== undefined;
      },
    );
  }

  function answer(
    { job, launcher, admitted }: Candidate,
    outcome: Failed | Extract<Outcome, { kind: 'launched' | 'refused' }>,
  ): void {
    switch (outcome.kind) {
      case 'launched':
        job.resolve(outcome.launched);
        return;
      case 'failed':
        job.reject(outcome.error);
        return;
      case 'refused':
        if (outcome.judged !== undefined)
          logger.info(
            {
              code: outcome.refusal.code,
              user_id: launcher.userId,
              app_id: admitted.app.id,
              demand: admitted.demand,
              refusals: outcome.judged.refusals.slice(0, MAX_ATTEMPTS),
            },
            'session.refused',
          );
        job.reject(refusalError(outcome.refusal));
    }
  }

  /** Judges the whole fleet, and adds hosts without a GPU. */
  async function judgeFleet({ demand }: Admitted, nowMs: number): Promise<Judged> {
    const gpus = await loadGpus(database.db, demand, placement, nowMs, WHOLE_FLEET);
    const judged = decidePlacement(gpus, demand, placement, nowMs);
    const bare = (await loadBareHosts(database.db)).map(refuseBareHost);
    return { ...judged, refusals: [...judged.refusals, ...bare] };
  }

  return {
    launch(launcher, request, terms = PERSONAL_TERMS) {
      return new Promise((resolve, reject) => {
        queue.add({ launcher, request, terms, resolve, reject });
      });
    },

    async preview(launcher, request) {
      const nowMs = clock.nowMs();
      const answer = (
        code: Refusal['code'] | null,
        judged: Judged | null,
        served: Served | null,
      ): Placement => explain(code, judged, served?.rung?.decision ?? null, placement, nowMs);
      const [looked] = (await look([{ launcher, request, terms: PERSONAL_TERMS }])) as [Looked];
      if ('refusal' in looked) return answer(looked.refusal.code, null, null);
      const { admitted } = looked;
      const held = await loadHeldFacts(database.db, {
        launcher,
        appId: admitted.app.id,
        homeAppId: homeAppOf(admitted),
      });
      const refusal = admitHeld(admitted, held);
      if (refusal !== null) return answer(refusal.code, null, null);
      const judged = await judgeFleet(admitted, nowMs);
      const [gpu] = judged.candidates;
      if (gpu === undefined) return answer(refusalOf(judged).code, judged, null);
      const outcome = serve(admitted, (await loadServings(database.db, [gpu]))(gpu), nowMs);
      if ('refusal' in outcome) return answer(outcome.refusal.code, judged, null);
      const owner = { userId: launcher.userId, username: held.username };
      const homeless = await refuseHome(database.db, owner, admitted, gpu);
      return answer(homeless?.code ?? null, judged, outcome.served);
    },
  };
}

/** Runs `work` for a batch; if the batch fails, for each launch alone, so that only the faulty one fails. */
async function runWithIndividualRetry<One, Result>(
  all: readonly One[],
  work: (some: readonly One[]) => Promise<Result[]>,
): Promise<(Result | Failed)[]> {
  try {
    return await work(all);
  } catch (error) {
    if (all.length === 1 || isDown(error)) return all.map(() => ({ kind: 'failed', error }));
    const results: (Result | Failed)[] = [];
    for (const one of all) results.push(...(await runWithIndividualRetry([one], work)));
    return results;
  }
}
