/**
 * Cells of encoder certification: sessions that measure one rung at one bitrate.
 *
 * reserved (the launch is under way) → measuring (the session runs) → finalized with a verdict, or discarded after ten
 * minutes. The cell's row is deleted when the cell ends, and its session is stopped. A sweep stops sessions that a
 * crash between two steps left running.
 */
import { type Clock, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { isTerminal, type SessionEndReason } from '@footlight/protocol';
import type { Body, CertificationCell, FinalizedCertificationCell } from '@footlight/protocol/rest';
import type { CertificationCellsTable } from '../platform/database/tables/certification.ts';
import { ApiError, invalid } from '../platform/errors.ts';
import type { Fence } from '../platform/leader.ts';
import type { Platform } from '../platform/platform.ts';
import { listLaunchProfiles, toSessionCodec } from '../profiles/index.ts';
import type { Sessions } from '../sessions/index.ts';
import { sessionSubjects } from '../signaling/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { budgetMs, type Derived, deriveVerdict } from './derivation.ts';
import { requireHost, requireOnline } from './hosts.ts';
import { cannotEncode, rungOfCell } from './plan.ts';
import {
  countVerdict,
  deleteCell,
  findCell,
  hasOpenCell,
  insertCell,
  listCellsNotWithin,
  listStraySessions,
  lockHost,
  putCertification,
  setCellSession,
} from './store.ts';

const RUNS_WITHIN_MS = 2 * MINUTE_MS;
const POLL_MS = 2 * SECOND_MS;
const CELL_LIMIT_MS = 10 * MINUTE_MS;
/**
 * A launch needs less than this time to store its session and to write the session's id into the cell. Chosen, not
 * measured.
 */
const STRAY_AFTER_MS = MINUTE_MS;

export interface Cells {
  /**
   * Starts a cell and waits until its session runs.
   * @param gone aborts when the caller disconnects; the cell is then deleted
   * @throws ApiError 404, 400, 409; the session, if any, is stopped
   */
  start(
    hostId: string,
    body: Body<'certification.startCell'>,
    actorUserId: string,
    gone: AbortSignal,
  ): Promise<Omit<CertificationCell, 'signaling_url'>>;
  /** Stores the verdict. The session is stopped even if this fails. @throws ApiError 404, 409 */
  finalize(hostId: string, sessionId: string): Promise<FinalizedCertificationCell>;
  /** Stops cells that were not finalized in time, and bench sessions without a cell. */
  sweep(fence: Fence): Promise<void>;
}

export function createCells(
  platform: Platform,
  deps: {
    sessions: Pick<Sessions, 'launchBench' | 'find' | 'stopAll'>;
    telemetry: Pick<Telemetry, 'hostSamples'>;
  },
): Cells {
  const { clock, config, database, logger, random } = platform;
  const { db } = database;
  const { sessions, telemetry } = deps;

  const stop = (sessionId: string, reason: SessionEndReason) => sessions.stopAll([sessionId], reason);

  /** Inserts the cell. A host accepts only one open cell, unless this cell may run with others. */
  async function reserve(cell: CertificationCellsTable, concurrent: boolean): Promise<void> {
    await database.transaction(async (tx) => {
      await lockHost(tx, cell.host_id);
      if (!concurrent && (await hasOpenCell(tx, cell.host_id)))
        throw new ApiError('conflict', { message: 'Another cell of this host is not finalized yet.' });
      await insertCell(tx, cell);
    });
  }

  return {
    async start(hostId, body, actorUserId, gone) {
      const host = await requireHost(db, hostId);
      if (body.stream_profile_id === undefined && body.profile_id === undefined)
        throw invalid('stream_profile_id: name a rung, or a launch profile in profile_id');
      const found = rungOfCell(await listLaunchProfiles(db), body);
      if (typeof found === 'string') throw invalid(found);
      const { profileId, rung } = found;
      const codec = toSessionCodec(rung.codec);
      requireOnline(host);
      const { gpu_index: gpuIndex, encoder, bitrate_kbps } = body;
      const problem = cannotEncode(host, { gpuIndex, encoder, codec });
      if (problem !== null) throw new ApiError('conflict', { message: problem });

      const cell: CertificationCellsTable = {
        id: random.uuid(),
        host_id: hostId,
        session_id: null,
        gpu_index: gpuIndex,
        encoder,
        profile_id: profileId,
        stream_profile_id: rung.id,
        codec,
        width: rung.width,
        height: rung.height,
        fps: rung.fps,
        bitrate_kbps,
        created_at: clock.nowMs(),
      };
      await reserve(cell, body.concurrent);
      let sessionId: string | null = null;
      try {
        const launched = await sessions.launchBench(
          {
            appName: config.certification.benchApp,
            host,
            gpuIndex,
            terms: { encoder, profileId, rung, bitrateKbps: bitrate_kbps },
          },
          actorUserId,
        );
        sessionId = launched.sessionId;
        await setCellSession(db, cell.id, sessionId);
        await running(sessionId, gone);
        return {
          session_id: sessionId,
          host_id: hostId,
          profile_id: profileId,
          stream_profile_id: rung.id,
          codec,
          bitrate_kbps,
          width: rung.width,
          height: rung.height,
          fps: rung.fps,
          budget_ms: budgetMs(rung.fps),
          signaling_token: launched.token,
        };
      } catch (error) {
        if (sessionId !== null) await stop(sessionId, 'cert bench complete');
        await deleteCell(db, cell.id);
        throw error;
      }
    },

    async finalize(hostId, sessionId) {
      const host = await requireHost(db, hostId);
      const cell = await findCell(db, hostId, sessionId);
      if (cell === undefined) throw noCell();
      let derived: Derived | null;
      try {
        derived = deriveVerdict(await telemetry.hostSamples(sessionId), cell.fps);
        await database.transaction(async (tx) => {
          await lockHost(tx, hostId);
          // Another request may have finalized the cell meanwhile.
          if (!(await deleteCell(tx, cell.id))) throw noCell();
          if (derived === null) return;
          await putCertification(tx, random.uuid(), cell, derived, host.agent_version ?? '', clock.nowMs());
          await countVerdict(tx, hostId, derived.verdict);
        });
      } finally {
        await stop(sessionId, 'cert bench complete');
      }
      if (derived === null)
        throw new ApiError('conflict', {
          message: 'no usable samples: let a cell run for 25 s before it is finalized.',
        });
      const { sample_window_ms: _, ...figures } = derived;
      const { profile_id, stream_profile_id, codec, bitrate_kbps } = cell;
      return { session_id: sessionId, profile_id, stream_profile_id, codec, bitrate_kbps, ...figures };
    },

    async sweep(fence) {
      const nowMs = clock.nowMs();
      for (const { id, session_id } of await listCellsNotWithin(db, around(nowMs, CELL_LIMIT_MS))) {
        const isDeleted = await database.transaction(async (tx) => {
          await fence.check(tx);
          return deleteCell(tx, id);
        });
        if (!isDeleted) continue;
        logger.warn({ session_id }, 'certification.cell_discarded');
        if (session_id !== null) await sessions.stopAll([session_id], 'cert bench timeout', fence);
      }
      const strays = await listStraySessions(db, around(nowMs, STRAY_AFTER_MS));
      await sessions.stopAll(strays, 'cert bench timeout', fence);
    },
  };

  /** Waits until the session runs. @throws ApiError 409: the session ended, or did not run in time */
  async function running(sessionId: string, gone: AbortSignal): Promise<void> {
    const untilMs = clock.monotonicMs() + RUNS_WITHIN_MS;
    for (;;) {
      const changed = nextChange(sessionId, gone);
      try {
        const row = await sessions.find(sessionId);
        if (row?.state === 'running') return;
        if (row === undefined || isTerminal(row.state) || row.state === 'stopping') {
          const why = row?.error_message ?? row?.state_detail ?? 'its session ended';
          throw new ApiError('conflict', { message: `The cell did not run: ${why}.` });
        }
        if (gone.aborted) throw new ApiError('conflict', { message: 'The caller went away.' });
        if (clock.monotonicMs() >= untilMs)
          throw new ApiError('conflict', { message: 'The cell did not run within 120 s.' });
        await changed.settled;
      } finally {
        changed.close();
      }
    }
  }

  /** Settles at the next change of the session, when the caller disconnects, or after the poll interval. */
  function nextChange(sessionId: string, gone: AbortSignal): { settled: Promise<void>; close(): void } {
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const subscription = platform.bus.subscribe(sessionSubjects.changed, sessionId, () => settle());
    const timer: ReturnType<Clock['setTimeout']> = clock.setTimeout(settle, POLL_MS);
    gone.addEventListener('abort', settle);
    return {
      settled,
      close() {
        subscription.close();
        timer.cancel();
        gone.removeEventListener('abort', settle);
      },
    };
  }
}

const around = (nowMs: number, limitMs: number) => ({ fromMs: nowMs - limitMs, toMs: nowMs + limitMs });

const noCell = (): ApiError =>
  new ApiError('not_found', { message: 'The session is no cell of this host that waits for its verdict.' });
