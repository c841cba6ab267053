import { DAY_MS, MINUTE_MS } from '@footlight/platform';
import { MAX_SCAN_ENTRIES, MAX_SCANS_PER_POLL, type ScanTask } from '@footlight/protocol/agent';
import type { Body, Success } from '@footlight/protocol/rest';
import { findApp } from '../../catalog/index.ts';
import type { Tx } from '../../platform/database/index.ts';
import type { Caller, NodeCaller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { homeContainerPath } from '../../sessions/index.ts';
import { providerOf } from '../rules/service.ts';
import * as store from './store.ts';

/** After this time a claimed scan without a report becomes pending again. */
const ABANDONED_MS = 30 * MINUTE_MS;
/** A poll returns a claimed scan again only after this time. */
const REMIND_AFTER_MS = MINUTE_MS;
/** Ended scans are kept this long. */
const KEPT_MS = 30 * DAY_MS;
const STRANDED = 'the home is not scanned any more';
const NOTHING_MATCHED = 'No home of the scope is scanned.';

/** Folders with Steam's manifests in a home: the current folder, and the symbolic link that Steam creates to it. */
const RELATIVE_ROOTS = ['.local/share/Steam/steamapps', '.steam/steam/steamapps'];
/** Largest manifest and largest list of library folders (bytes). */
const MAX_MANIFEST_BYTES = 1024 * 1024;

/** Result of one pass: counts, or the reason why it did nothing. */
export type PassResult =
  | { inert: string }
  | { enqueued: number; returned_abandoned: number; expired: number; pruned: number };

/** Current state of discovery. */
export interface ScanGate {
  /** Reason why discovery does nothing; "": it works. */
  reason: string;
  /** null: scans are off. */
  intervalMs: number | null;
}

/**
 * Scans of homes.
 *
 * pending (by a pass or an administrator) → claimed (by the host's poll) → reported or failed (by the host's report). A
 * scan that is claimed for 30 min becomes pending again. A pending scan fails when its home is no longer scanned. An
 * ended scan is deleted after 30 days.
 */
export interface Scans {
  /**
   * Ends pending scans of homes that are no longer scanned, and adds due scans. Does nothing while something prevents
   * discovery, such as its switch.
   * @param guard called first in the transaction; it may throw to cancel the work
   */
  pass(guard: (tx: Tx) => Promise<void>): Promise<PassResult>;
  /** Adds scans although their interval is not over. @throws ApiError 404, 400 */
  force(actor: Caller, body: Body<'library.scan'>): Promise<Success<'library.scan'>>;
  /** Claims pending scans of the host. */
  claim(node: NodeCaller): Promise<ScanTask[]>;
}

export function createScans(platform: Platform, deps: { gate: () => Promise<ScanGate> }): Scans {
  const { activity, clock, database, logger, random } = platform;
  /** Reasons that were already logged; there are only a few fixed sentences. */
  const logged = new Set<string>();

  const withIds = (homes: readonly store.HomeKey[]) => homes.map((home) => ({ ...home, id: random.uuid() }));

  return {
    async pass(guard) {
      const gate = await deps.gate();
      if (gate.reason !== '' || gate.intervalMs === null) {
        if (!logged.has(gate.reason)) {
          logged.add(gate.reason);
          logger.info({ reason: gate.reason }, 'library.inert');
        }
        return { inert: gate.reason };
      }
      const intervalMs = gate.intervalMs;
      const nowMs = clock.nowMs();
      return database.transaction(async (tx) => {
        await guard(tx);
        const returned = await store.returnAbandoned(tx, { nowMs, afterMs: ABANDONED_MS });
        const expired = await store.failStranded(tx, STRANDED, nowMs);
        const due = await store.listDueHomes(tx, { madeUntilMs: nowMs - intervalMs, nowMs });
        const enqueued = await store.insertScans(tx, withIds(due), nowMs);
        const pruned = await store.deleteEnded(tx, nowMs - KEPT_MS);
        return { enqueued, returned_abandoned: returned, expired, pruned };
      });
    },

    async force(actor, { app_id, user_id }) {
      const scope = { appId: app_id, userId: user_id };
      const gate = await deps.gate();
      const counts = gate.reason === '' ? await enqueueAll(scope) : { queued: 0, skipped: 0, eligible: 0 };
      await activity.record(actor.userId, 'library.scan.force', null, { app_id, user_id, ...counts });
      const inert = gate.reason || (counts.eligible === 0 ? NOTHING_MATCHED : '');
      return { ...counts, inert_reason: inert };
    },

    async claim({ hostId, bootId }) {
      // The homes of people must not be read while discovery is switched off.
      if ((await deps.gate()).reason !== '') return [];
      const nowMs = clock.nowMs();
      const limit = MAX_SCANS_PER_POLL;
      const scans = await database.transaction(async (tx) => {
        const again =
          bootId === null
            ? []
            : await store.listClaimed(tx, { hostId, bootId, untilMs: nowMs - REMIND_AFTER_MS, limit });
        const fresh = await store.claimPending(tx, {
          ...{ hostId, bootId, nowMs },
          limit: limit - again.length,
        });
        return [...again, ...fresh];
      });
      return scans.map(toTask);
    },
  };

  async function enqueueAll(scope: store.ScanScope) {
    if (scope.appId !== null) providerOf(await findApp(database.db, scope.appId));
    const nowMs = clock.nowMs();
    return database.transaction(async (tx) => {
      await store.returnAbandoned(tx, { nowMs, afterMs: ABANDONED_MS });
      const homes = await store.listHomes(tx, scope);
      const queued = await store.insertScans(tx, withIds(homes), nowMs);
      return { queued, skipped: homes.length - queued, eligible: homes.length };
    });
  }
}

function toTask({ id, ref, app_path, preset_path, home_base }: store.ClaimedScan): ScanTask {
  return {
    scan_id: id,
    root_path: ref,
    ...(home_base !== null && { base_path: home_base }),
    container_path: homeContainerPath(app_path, preset_path),
    relative_roots: RELATIVE_ROOTS,
    max_entries: MAX_SCAN_ENTRIES,
    max_manifest_bytes: MAX_MANIFEST_BYTES,
  };
}
