import { type Clock, HOUR_MS, type Logger, SECOND_MS } from '@footlight/platform';
import { cutUtf8, stripControls } from '@footlight/protocol';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { z } from 'zod';
import { createFetcher, type FetchPolicy, FetchRefused } from '../../platform/outgoing/guarded-fetch.ts';
import type { StoreDetails } from './decision.ts';

/** Maximum calls per report, and the time limit of each call. Source: docs/apps.md, "After a scan". */
const MAX_LOOKUPS = 40;
const LOOKUP_MS = 10 * SECOND_MS;
/**
 * After this many consecutive failures the look-ups of a report end: the store is probably down, and the agent waits
 * for the answer. Chosen, not measured.
 */
const MAX_FAILURES_IN_A_ROW = 3;
/** A page of a title has 30 to 100 KiB. Chosen, not measured. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/**
 * Answers are cached, because titles seldom change and the next report of another home needs the same ones. Chosen, not
 * measured.
 */
const KEPT_MS = 24 * HOUR_MS;
const KEPT_TITLES = 20_000;
const MAX_DESCRIPTION_BYTES = 2048;

/** Server of the details. No environment variable changes it; tests pass their own. */
export interface StoreTarget {
  policy: FetchPolicy;
  /** Base URL without a trailing slash. */
  url: string;
}

const answer = z.record(
  z.string(),
  z.object({
    success: z.boolean(),
    data: z
      .object({ type: z.string().max(64), short_description: z.string().max(65_536).optional() })
      .optional(),
  }),
);

/** HTML entities, because the store's texts are HTML. */
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Details of titles from Steam's store. */
export interface StoreLookup {
  /**
   * Requests the details of these titles one after another, up to the maximum number of calls, and caches the answers.
   * @returns answers by external id; a title is missing if it was not requested, is unknown, or the store failed
   */
  find(externalIds: readonly string[]): Promise<Map<string, StoreDetails>>;
}

/** @param deps.stopping aborts a running call and all later calls */
export function createStoreLookup(deps: {
  clock: Clock;
  logger: Logger;
  target: StoreTarget;
  stopping: AbortSignal;
}): StoreLookup {
  const { clock, logger, target, stopping } = deps;
  const fetcher = createFetcher({ clock, policy: target.policy, stopping });
  /** The whole process makes only one call at a time. */
  const lane = pLimit(1);
  /** null: the store does not know the title. */
  const known = new LRUCache<string, { details: StoreDetails | null }>({ max: KEPT_TITLES, ttl: KEPT_MS });

  async function ask(id: string): Promise<StoreDetails | null> {
    const { status, bytes } = await fetcher.get(`${target.url}/api/appdetails?appids=${id}&filters=basic`, {
      maxBytes: MAX_ANSWER_BYTES,
      maxRedirects: 0,
      deadlineMs: LOOKUP_MS,
    });
    if (status !== 200) throw new FetchRefused(`it answered ${status}`);
    const entry = answer.parse(JSON.parse(bytes.toString('utf8')))[id];
    if (entry?.success !== true || entry.data === undefined) return null;
    return { type: entry.data.type, description: plainDescription(entry.data.short_description ?? '') };
  }

  return {
    async find(externalIds) {
      const found = new Map<string, StoreDetails>();
      let calls = 0;
      let failures = 0;
      for (const id of externalIds) {
        let kept = known.get(id);
        if (kept === undefined && calls < MAX_LOOKUPS && failures < MAX_FAILURES_IN_A_ROW) {
          calls += 1;
          try {
            kept = { details: await lane(() => ask(id)) };
            known.set(id, kept);
            failures = 0;
          } catch (error) {
            if (stopping.aborted) break;
            failures += 1;
            logger.debug({ external_id: id, err: error }, 'library.store_lookup_failed');
          }
        }
        if (kept?.details) found.set(id, kept.details);
      }
      return found;
    },
  };
}

function plainDescription(text: string): string {
  const decoded = text.replace(/&(amp|lt|gt|quot|#39);/g, (_entity, name: string) => ENTITIES[name] ?? '');
  return cutUtf8(stripControls(decoded).trim(), MAX_DESCRIPTION_BYTES);
}
