/**
 * POST /v1/sessions: reads the facts, then books a GPU's encode slots, the home and the row in one transaction.
 * Concurrent launches share the reads and the transaction. admission.ts and placement.ts make the decisions; the
 * commands to the host follow after the answer.
 */
import { SECOND_MS } from '@footlight/platform';
import type { Placement } from '@footlight/protocol/rest';
import { encoderBudgetReader, type HostPresence } from '../../fleet/index.ts';
import { Failed, runWithIndividualRetry, verifiedTransaction } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { BatchQueue } from '../../platform/queues/batch-queue.ts';
import type { Settings } from '../../settings/index.ts';
import type { SignalingTokens } from '../../signaling/index.ts';
import { explainRefusal } from '../placement/explanation.ts';
import { OutOfReach } from '../placement/out-of-reach.ts';
import { endedEvent } from '../session-events.ts';
import { loadSession } from '../store.ts';
import { admit } from './admission.ts';
import { type BookingOutcome, bookLaunches, MAX_ATTEMPTS, previewBooking } from './booking.ts';
import { withdrawSession } from './booking-store.ts';
import { catalogReader, loadOwnFacts, lockUser } from './launch-store.ts';
import { refusalError } from './refusal.ts';
import {
  type AdmittedLaunch,
  type BookedLaunch,
  type LaunchBody,
  type LaunchRequest,
  type LaunchTerms,
  type LaunchUser,
  PERSONAL_TERMS,
} from './stages.ts';

export interface Launcher {
  /**
   * @param terms default: PERSONAL_TERMS
   * @throws ApiError with the first refusal of the fixed order; nothing was booked
   */
  launch(user: LaunchUser, body: LaunchBody, terms?: LaunchTerms): Promise<BookedLaunch>;
  /** Result of a hypothetical launch. Writes and locks nothing. */
  preview(user: LaunchUser, body: LaunchBody): Promise<Placement>;
}

interface QueuedLaunch {
  request: LaunchRequest;
  resolve(booked: BookedLaunch): void;
  reject(error: unknown): void;
}

type Admission = ReturnType<typeof admit>;

/**
 * Maximum launches per batch. With 50 clients on Postgres, batches of 64 admitted 9,940 launches per second, and single
 * launches (`skip locked`) 6,910; measured when admission was designed.
 */
const MAX_TOGETHER = 64;
/**
 * Each attempt to reach a host of a hanging replica takes two seconds. After this total time the launch fails, and the
 * person can try again.
 */
const MAX_SEARCH_MS = 6 * SECOND_MS;
/** A transaction that takes longer probably waits for a lock, so the next batch starts without waiting for it. */
const MAX_WAIT_MS = 250;

export function createLauncher(
  platform: Platform,
  deps: { presence: Pick<HostPresence, 'isReachable'>; settings: Settings; tokens: SignalingTokens },
): Launcher {
  const { clock, config, database, logger, meters, random, webhook } = platform;
  const placement = {
    vramMinFreeMb: config.sessions.vramMinFreeMb,
    vramInflightEstimateMb: config.sessions.vramInflightEstimateMb,
    vramStalenessSecs: config.sessions.vramStalenessSecs,
  };
  const booking = { database, random, tokens: deps.tokens, placement, webhook };

  const readCatalog = catalogReader(database);
  const loadEncoderBudget = encoderBudgetReader(platform);
  const outOfReach = new OutOfReach(clock);
  const queue = new BatchQueue<QueuedLaunch>(settle, { max: MAX_TOGETHER, maxWaitMs: MAX_WAIT_MS });

  /** Runs the checks that need no locks. */
  async function admitAll(requests: readonly LaunchRequest[]): Promise<Admission[]> {
    const prefersHomeHost = config.sessions.placementPolicy === 'locality';
    const [catalog, settings, encoderMpixelS, facts] = await Promise.all([
      readCatalog(),
      deps.settings.current(),
      loadEncoderBudget(),
      loadOwnFacts(database.db, requests, prefersHomeHost, clock.nowMs()),
    ]);
    const unreachable = outOfReach.hosts();
    return facts.map((own, n) =>
      admit(
        { ...own, settings, unreachable, choice: { ...own.choice, ...catalog, encoderMpixelS } },
        requests[n] as LaunchRequest,
      ),
    );
  }

  /** Handles a batch; each launch gets its own answer. */
  async function settle(batch: readonly QueuedLaunch[]): Promise<void> {
    try {
      let open = batch;
      for (let round = 0; round < MAX_ATTEMPTS && open.length > 0; round++) open = await tryOnce(open);
      for (const { reject } of open) reject(refusalError({ code: 'capacity_exhausted' }));
    } catch (error) {
      // Launches that already have an answer ignore the rejection.
      for (const { reject } of batch) reject(error);
    }
  }

  /** @returns launches that need another round */
  async function tryOnce(batch: readonly QueuedLaunch[]): Promise<QueuedLaunch[]> {
    const admitted = new Map<AdmittedLaunch, QueuedLaunch>();
    const admissions = await runWithIndividualRetry(
      batch.map(({ request }) => request),
      admitAll,
    );
    for (const [n, admission] of admissions.entries()) {
      const queued = batch[n] as QueuedLaunch;
      if (admission instanceof Failed) queued.reject(admission.error);
      else if ('refusal' in admission) queued.reject(refusalError(admission.refusal));
      else admitted.set(admission, queued);
    }
    const again: QueuedLaunch[] = [];
    let open = [...admitted];
    for (const wait of [false, true]) {
      if (open.length === 0) break;
      const outcomes = await runWithIndividualRetry(
        open.map(([launch]) => launch),
        (launches) => book(launches, wait),
      );
      const contended: typeof open = [];
      for (const [n, outcome] of outcomes.entries()) {
        const [launch, queued] = open[n] as (typeof open)[number];
        if (outcome instanceof Failed) queued.reject(outcome.error);
        else if (outcome.kind === 'contended') contended.push([launch, queued]);
        else if (outcome.kind === 'stale') again.push(queued);
        else answer(launch, queued, outcome);
      }
      open = contended;
    }
    return [...again, ...open.map(([, queued]) => queued)];
  }

  function book(launches: readonly AdmittedLaunch[], wait: boolean): Promise<BookingOutcome[]> {
    return verifiedTransaction(
      platform,
      (tx) => bookLaunches(booking, tx, launches, wait, clock.nowMs()),
      // One booked session is enough to check, because the transaction stores all of them or none.
      async (tx, outcomes) => {
        const outcome = outcomes.find(({ kind }) => kind === 'booked');
        if (outcome?.kind !== 'booked') return false;
        const { id, user_id } = outcome.booked.row;
        await lockUser(tx, user_id);
        return (await loadSession(tx, id)) !== undefined;
      },
    );
  }

  function answer(
    { user, app, demand }: AdmittedLaunch,
    queued: QueuedLaunch,
    outcome: Extract<BookingOutcome, { kind: 'booked' | 'unplaced' | 'refused' }>,
  ): void {
    switch (outcome.kind) {
      case 'booked':
        queued.resolve(outcome.booked);
        return;
      case 'unplaced': {
        const { refusal, explanation } = outcome;
        logger.info(
          {
            code: refusal.code,
            user_id: user.userId,
            app_id: app.id,
            demand,
            refusals: explanation.refusals,
          },
          'session.refused',
        );
        queued.reject(refusalError(refusal));
        return;
      }
      case 'refused':
        queued.reject(refusalError(outcome.refusal));
    }
  }

  const bookSoon = (request: LaunchRequest): Promise<BookedLaunch> =>
    new Promise((resolve, reject) => {
      queue.add({ request, resolve, reject });
    });

  /** Books on a host that accepts commands. Hosts of a killed replica are still stored as online for some time. */
  async function bookWithinReach(request: LaunchRequest): Promise<BookedLaunch> {
    const untilMs = clock.monotonicMs() + MAX_SEARCH_MS;
    for (;;) {
      const booked = await bookSoon(request);
      const hostId = booked.row.host_id as string;
      if (await deps.presence.isReachable(hostId)) return booked;
      outOfReach.add(hostId);
      await database.transaction(async (tx) => {
        if (!(await withdrawSession(tx, booked.row))) return;
        await webhook?.add(tx, [
          endedEvent(booked.row, { state: 'withdrawn', end_reason: null, failure_code: null }),
        ]);
      });
      if (clock.monotonicMs() >= untilMs) throw refusalError({ code: 'capacity_exhausted' });
    }
  }

  return {
    launch(user, body, terms = PERSONAL_TERMS) {
      const launched = bookWithinReach({ user, body, terms });
      launched.then(
        () => meters.launched('launched'),
        (error: unknown) => meters.launched(error instanceof ApiError ? error.code : 'internal'),
      );
      return launched;
    },

    async preview(user, body) {
      const nowMs = clock.nowMs();
      const [admission] = (await admitAll([{ user, body, terms: PERSONAL_TERMS }])) as [Admission];
      return 'refusal' in admission
        ? explainRefusal(admission.refusal.code, null)
        : previewBooking(booking, admission, nowMs);
    },
  };
}
