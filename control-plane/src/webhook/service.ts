/**
 * The operator's webhook. Events are stored in the transaction of the change that they report. One replica sends them in
 * order, and deletes an event after the receiver has confirmed it. So each event is sent at least once: again, if this
 * process ends between the answer and the deletion.
 */
import { DAY_MS, errorText, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { Success } from '@footlight/protocol/rest';
import type { Config } from '../platform/config/config.ts';
import { type Executor, instant, instantOrNull, toJson } from '../platform/database/index.ts';
import type { Fence } from '../platform/leader.ts';
import { createFetcher, FetchRefused, PUBLIC_INTERNET } from '../platform/outgoing/guarded-fetch.ts';
import type { Platform } from '../platform/platform.ts';
import type { Webhook } from '../platform/webhook.ts';
import { retryWaitMs } from './retry.ts';
import { signatureOf } from './signature.ts';
import {
  deleteEvent,
  deleteUpTo,
  type EventRow,
  findSurplus,
  insertEvents,
  listOldest,
  loadBacklog,
} from './store.ts';

export const DELIVERY = 'webhook.deliver';

const EVERY_MS = 2 * SECOND_MS;
/** Time limit of one attempt. */
const ATTEMPT_MS = 10 * SECOND_MS;
/** A run starts no attempt after this time. With one more attempt it ends before its lease, which has 20 s at least. */
const RUN_MS = 5 * SECOND_MS;
const PAGE = 50;
/** Limits of the events that wait. An event has about 500 bytes, at most 5 KiB. Chosen, not measured. */
const MAX_EVENTS = 100_000;
const MAX_AGE_MS = 3 * DAY_MS;
const CHECK_LIMITS_EVERY_MS = MINUTE_MS;

/** Deletes what a webhook that was switched off left. */
export async function deleteOldEvents(db: Executor, nowMs: number): Promise<void> {
  const upTo = await findSurplus(db, nowMs - MAX_AGE_MS, MAX_EVENTS);
  if (upTo !== null) await deleteUpTo(db, upTo);
}

export interface WebhookService extends Webhook {
  status(): Promise<Success<'admin.webhook.status'>>;
  /** Number of events that wait, and the age of the oldest one in seconds. */
  backlog(): Promise<{ count: number; oldestSeconds: number }>;
  /** Ends the current attempt. Call this before the leader is closed. */
  close(): void;
}

export function createWebhook(
  {
    clock,
    database,
    leader,
    logger,
    random,
  }: Pick<Platform, 'clock' | 'database' | 'leader' | 'logger' | 'random'>,
  { url, key }: NonNullable<Config['webhook']>,
): WebhookService {
  const stopping = new AbortController();
  const fetcher = createFetcher({ clock, policy: PUBLIC_INTERNET, stopping: stopping.signal });
  /** Failed attempts in a row of this process. */
  let failures = 0;
  let nextAtMs = 0;
  let limitsCheckedAtMs: number | null = null;

  /** @returns null: the receiver confirmed the event; otherwise the reason for the log */
  async function send({ event_id, body }: EventRow): Promise<string | null> {
    const seconds = Math.floor(clock.nowMs() / SECOND_MS);
    const headers = {
      'content-type': 'application/json',
      'webhook-id': event_id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signatureOf(key, event_id, seconds, body),
    };
    try {
      const status = await fetcher.post(url.href, body, {
        ...{ headers, deadlineMs: ATTEMPT_MS },
        // The operator named the receiver, so it may be in a private network.
        reach: url.protocol === 'http:' ? 'loopback' : 'any',
      });
      return status >= 200 && status < 300 ? null : `its server answered ${status}`;
    } catch (error) {
      return errorText(error);
    }
  }

  async function deliver(fence: Fence): Promise<void> {
    const startMs = clock.monotonicMs();
    if (startMs < nextAtMs) return;
    for (;;) {
      const events = await listOldest(database.db, PAGE);
      for (const event of events) {
        if (clock.monotonicMs() - startMs >= RUN_MS) return;
        const error = await send(event);
        if (stopping.signal.aborted && error !== null) return;
        if (error !== null) {
          failures += 1;
          const waitMs = retryWaitMs(failures, random.number());
          nextAtMs = clock.monotonicMs() + waitMs;
          logger.warn({ error, failures, retry_ms: Math.round(waitMs) }, 'webhook.failed');
          return;
        }
        if (failures > 0) logger.info({ failures }, 'webhook.recovered');
        failures = 0;
        await database.transaction(async (tx) => {
          await fence.check(tx);
          await deleteEvent(tx, event.id);
        });
      }
      if (events.length < PAGE) return;
    }
  }

  async function dropSurplus(fence: Fence): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (limitsCheckedAtMs !== null && nowMs - limitsCheckedAtMs < CHECK_LIMITS_EVERY_MS) return;
    limitsCheckedAtMs = nowMs;
    const upTo = await findSurplus(database.db, clock.nowMs() - MAX_AGE_MS, MAX_EVENTS);
    if (upTo === null) return;
    const dropped = await database.transaction(async (tx) => {
      await fence.check(tx);
      return deleteUpTo(tx, upTo);
    });
    logger.error({ dropped }, 'webhook.dropped');
  }

  leader.register({
    id: DELIVERY,
    everyMs: EVERY_MS,
    async run(fence) {
      await dropSurplus(fence);
      await deliver(fence);
    },
  });

  return {
    async add(tx, events) {
      const nowMs = clock.nowMs();
      await insertEvents(
        tx,
        events.map(({ type, data }) => ({
          event_id: `evt_${random.uuid()}`,
          body: toJson({ type, timestamp: instant(nowMs), data }),
          created_at: nowMs,
        })),
      );
    },

    async status() {
      const { count, oldestMs } = await loadBacklog(database.db);
      return { configured: true, waiting: count, oldest_at: instantOrNull(oldestMs) };
    },

    async backlog() {
      const { count, oldestMs } = await loadBacklog(database.db);
      const ageMs = oldestMs === null ? 0 : clock.nowMs() - oldestMs;
      return { count, oldestSeconds: Math.max(0, ageMs) / SECOND_MS };
    },

    close() {
      stopping.abort(new FetchRefused('the service is stopping'));
    },
  };
}
