/**
 * Runs of encoder certification: a plan of cells, and the count of their verdicts. The caller starts and finalizes the
 * cells.
 *
 * running → completed (by the caller), or running → failed (after two hours, or when the host is lost). Both end states
 * are final.
 */
import { DAY_MS, HOUR_MS, SECOND_MS, type Timer } from '@footlight/platform';
import { encoderFamily } from '@footlight/protocol';
import type { Body, CertificationRun, PlannedCertificationRun } from '@footlight/protocol/rest';
import { type FleetService, hostSubjects } from '../fleet/index.ts';
import { instant, instantOrNull, isUniqueViolation } from '../platform/database/index.ts';
import { ApiError, invalid } from '../platform/errors.ts';
import type { Fence } from '../platform/leader.ts';
import type { Platform } from '../platform/platform.ts';
import { listLaunchProfiles } from '../profiles/index.ts';
import { requireHost, requireOnline } from './hosts.ts';
import { planCells } from './plan.ts';
import {
  deleteRunsBefore,
  endRun,
  findRun,
  findRunningRun,
  insertRun,
  listRunningRuns,
  type RunningBenchRun,
  type RunRow,
} from './store.ts';

const RUN_LIMIT_MS = 2 * HOUR_MS;
const RUNS_KEPT_MS = 30 * DAY_MS;
/** Wait after a host is lost: within this time it is marked as offline or reconnects. Chosen, not measured. */
const LOST_SETTLES_MS = SECOND_MS;

export interface Runs {
  /** @throws ApiError 404, 400, 409 */
  start(
    hostId: string,
    body: Body<'certification.startRun'>,
    actorUserId: string,
  ): Promise<PlannedCertificationRun>;
  /** @throws ApiError 404 */
  read(hostId: string, id: string): Promise<CertificationRun>;
  /** @throws ApiError 404 */
  complete(hostId: string, id: string): Promise<CertificationRun>;
  /** Fails runs that took too long or lost their host, and deletes old runs. */
  sweep(fence: Fence): Promise<void>;
  close(): void;
}

export function createRuns(platform: Platform, fleet: Pick<FleetService, 'links'>): Runs {
  const { activity, bus, clock, config, database, logger, random } = platform;
  const { db } = database;
  const bootAtMs = clock.monotonicMs();
  const graceMs = config.sessions.graceSecs * SECOND_MS;

  /**
   * Timer of the next check. It covers all hosts that are lost before it fires, possibly a thousand. null: no check is
   * due.
   */
  let look: Timer | null = null;
  let lostSince = false;
  const lost = bus.subscribe(hostSubjects.changed, null, ({ what }) => {
    if (what !== 'lost') return;
    lostSince = true;
    look ??= clock.setTimeout(lookForLost, LOST_SETTLES_MS);
  });

  function lookForLost(): void {
    // A host that is lost from now on needs another check, because this check may read the host's row before it is
    // marked as offline.
    look = lostSince ? clock.setTimeout(lookForLost, LOST_SETTLES_MS) : null;
    lostSince = false;
    failOverdue(null).catch((error: unknown) => logger.error({ err: error }, 'certification.sweep_failed'));
  }

  /** @returns the reason why a run fails now: it took too long, or its host is lost; null: it continues */
  function failureOf({ host_id, host_status, started_at }: RunningBenchRun): string | null {
    // A start time in the future was stored while the clock was ahead; such a run also ends.
    if (Math.abs(clock.nowMs() - started_at) >= RUN_LIMIT_MS) return 'bench run timed out';
    if (host_status !== 'offline') return null;
    // After a boot every host is offline until it reconnects, so a host that this process has not seen yet gets the
    // grace period.
    const isSeen = fleet.links.lastSeenMonotonicMs(host_id) !== null;
    return isSeen || clock.monotonicMs() - bootAtMs > graceMs ? 'host lost during bench' : null;
  }

  /** @param fence null: every replica does this when it learns that a host is lost */
  async function failOverdue(fence: Fence | null): Promise<void> {
    for (const { id } of (await listRunningRuns(db)).filter((run) => failureOf(run) !== null)) {
      const reason = await database.transaction(async (tx) => {
        await fence?.check(tx);
        // Read the run again, because its host may have reconnected meanwhile.
        const [run] = await listRunningRuns(tx, id);
        const reason = run === undefined ? null : failureOf(run);
        return reason !== null && (await endRun(tx, id, reason, clock.nowMs())) ? reason : null;
      });
      if (reason !== null) logger.warn({ run_id: id, reason }, 'certification.run_failed');
    }
  }

  async function load(hostId: string, id: string): Promise<CertificationRun> {
    await requireHost(db, hostId);
    const row = await findRun(db, hostId, id);
    if (row === undefined) throw new ApiError('not_found', { message: 'There is no such run of this host.' });
    return toRun(row);
  }

  return {
    async start(hostId, { gpu_index, encoder: wanted, profiles, bitrates_kbps }, actorUserId) {
      const host = await requireHost(db, hostId);
      const cells = planCells(await listLaunchProfiles(db), profiles, bitrates_kbps);
      if (cells.length === 0)
        throw invalid('profiles: no cell is left: name launch profiles or rungs that exist, and a bitrate');
      requireOnline(host);
      const encoder = wanted ?? encoderFamily.safeParse(host.encoder).data ?? 'openh264';
      const run = {
        id: random.uuid(),
        host_id: hostId,
        gpu_index,
        encoder,
        total_pts: cells.length,
        started_at: clock.nowMs(),
      };
      try {
        await database.transaction((tx) => insertRun(tx, run));
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        const running = await findRunningRun(db, hostId);
        throw new ApiError('conflict', {
          message: `Another run of ${host.node_name} is under way.`,
          ...(running !== undefined && { run_id: running.id }),
        });
      }
      await activity.record(actorUserId, 'certification.run', hostId, {
        run_id: run.id,
        total_pts: run.total_pts,
      });
      return {
        run_id: run.id,
        host_id: hostId,
        status: 'running',
        started_at: instant(run.started_at),
        total_pts: run.total_pts,
        encoder,
        gpu_index,
        cells,
      };
    },

    read: load,

    async complete(hostId, id) {
      await load(hostId, id);
      await endRun(db, id, null, clock.nowMs());
      return load(hostId, id);
    },

    async sweep(fence) {
      await failOverdue(fence);
      await database.transaction(async (tx) => {
        await fence.check(tx);
        await deleteRunsBefore(tx, clock.nowMs() - RUNS_KEPT_MS);
      });
    },

    close() {
      lost.close();
      look?.cancel();
    },
  };
}

const toRun = (row: RunRow): CertificationRun => ({
  run_id: row.id,
  host_id: row.host_id,
  status: row.status,
  started_at: instant(row.started_at),
  ended_at: instantOrNull(row.ended_at),
  error_message: row.error_message,
  completed_pts: row.completed_pts,
  total_pts: row.total_pts,
  summary_ok: row.summary_ok,
  summary_capped: row.summary_capped,
  summary_unsafe: row.summary_unsafe,
});
