import { SECOND_MS } from '@footlight/platform';
import { isSummaryWithinBound, type JobReport, type JobsPending } from '@footlight/protocol/agent';
import pLimit from 'p-limit';
import { fromJson, type Tx } from '../platform/database/index.ts';
import { ApiError, badNodeCredential, invalid } from '../platform/errors.ts';
import type { NodeCaller } from '../platform/http/message/contract.ts';
import type { JobsPlatform } from './deps.ts';
import type { Pruner } from './pruner.ts';
import { decideReport, selectRuns } from './rules/run-life.ts';
import { endRun } from './run-end.ts';
import { claimRunsOfHost, findRun, listRunsOfHost, lockRunning, lockRunsOfOtherBoots } from './run-store.ts';

/** The hosts' side of jobs: claims and reports. */
export interface AgentRuns {
  /** Claims due runs, and hands out again what the same agent process claimed and may not have got. */
  pending(node: NodeCaller): Promise<JobsPending>;
  /**
   * Ends a claimed run. A run that ended stays as it is.
   * @throws ApiError 401 for a run that is not this host's, 400 for a summary over its bound, 409
   */
  report(node: NodeCaller, report: JobReport): Promise<void>;
  /**
   * Ends the runs that other processes of a host's agent claimed, in the transaction of its registration. Locks no row
   * that another transaction holds.
   */
  agentRestarted(tx: Tx, hostId: string, bootId: string): Promise<void>;
}

/**
 * Claims and reports of this process that write at once. A fleet that comes back would otherwise hold every connection of
 * the pool, and others would wait for one until they time out. Chosen, not measured.
 */
const WRITES_AT_ONCE = 8;

export function createAgentRuns(platform: JobsPlatform, pruner: Pruner): AgentRuns {
  const { clock, config, database, random } = platform;
  const { claimTimeoutMs, isOn } = config.jobs;
  const writes = pLimit(WRITES_AT_ONCE);

  return {
    async pending({ hostId, bootId }) {
      if (!isOn) return { runs: [] };
      const nowMs = clock.nowMs();
      const { due, again } = selectRuns(await listRunsOfHost(database.db, hostId), bootId, nowMs);
      const claimed =
        due.length === 0
          ? []
          : await writes(() => claimRunsOfHost(database, due, { claimed_boot: bootId, nowMs }));
      return {
        runs: [...again, ...claimed].map(({ id, job_id, params, claimed_at }) => ({
          ...{ run_id: id, job_id, params: fromJson<JobReport['summary'] & object>(params) },
          deadline_secs: Math.max(
            0,
            Math.ceil((claimTimeoutMs - (nowMs - (claimed_at ?? nowMs))) / SECOND_MS),
          ),
        })),
      };
    },

    async report({ hostId }, { run_id, state, summary = {}, error = null }) {
      const run = await findRun(database.db, run_id);
      if (run === undefined || run.host_id !== hostId) throw badNodeCredential();
      const step = decideReport(run.state);
      if (step === 'no_op') return;
      if (!isSummaryWithinBound(summary)) throw invalid('summary: over 4096 bytes');
      if (step === 'refuse') throw new ApiError('conflict', { message: 'The run is not claimed.' });
      const end = async (tx: Tx): Promise<boolean> => {
        const locked = await lockRunning(database, tx, run_id);
        if (locked === undefined) return false;
        const nowMs = clock.nowMs();
        await endRun(
          tx,
          locked,
          { state, summary, error: state === 'failed' ? error : null },
          { nowMs, random },
        );
        return true;
      };
      const isEnded = await writes(() => database.transaction(end));
      if (!isEnded) throw new ApiError('conflict', { message: 'The run changed meanwhile.' });
      pruner.ended({ jobId: run.job_id, hostId });
    },

    async agentRestarted(tx, hostId, bootId) {
      const nowMs = clock.nowMs();
      for (const run of await lockRunsOfOtherBoots(database, tx, hostId, bootId)) {
        await endRun(tx, run, { state: 'aborted', summary: {}, error: 'agent restarted' }, { nowMs, random });
        pruner.ended({ jobId: run.job_id, hostId });
      }
    },
  };
}
