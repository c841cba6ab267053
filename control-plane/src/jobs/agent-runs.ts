import { SECOND_MS } from '@footlight/platform';
import { isSummaryWithinBound, type JobReport, type JobsPending } from '@footlight/protocol/agent';
import { fromJson, runWithIndividualRetry, type Tx } from '../platform/database/index.ts';
import { batchWrites } from '../platform/database/query/batch-writes.ts';
import { ApiError, badNodeCredential, invalid } from '../platform/errors.ts';
import type { NodeCaller } from '../platform/http/message/contract.ts';
import type { JobsPlatform } from './deps.ts';
import type { Pruner } from './pruner.ts';
import { decideRunReport, selectRuns } from './rules/run-life.ts';
import { endRunning } from './run-end.ts';
import { claimRuns, findRuns, listRunsOfHosts, lockRunning, lockRunsOfOtherBoots } from './run-store.ts';

/** Serves the agents' requests about jobs: claims and reports. */
export interface AgentRuns {
  /**
   * Claims due runs. Also returns again the runs that the same agent process claimed earlier and possibly did not
   * receive.
   */
  pending(node: NodeCaller): Promise<JobsPending>;
  /**
   * Ends a claimed run. A run that has already ended is not changed.
   * @throws ApiError 401 for a run of another host, 400 for a summary that is too long, 409
   */
  report(node: NodeCaller, report: JobReport): Promise<void>;
  /**
   * Ends runs that earlier processes of the hosts' agents claimed. It runs in the transaction of the hosts'
   * registration, and skips rows that another transaction has locked.
   */
  agentsRestarted(tx: Tx, hosts: readonly { hostId: string; bootId: string }[]): Promise<void>;
}

/** Maximum polls or reports per batch; a poll claims up to five runs. Chosen, not measured. */
const MAX_BATCH = 128;

interface Reported {
  hostId: string;
  report: JobReport;
}

/** Result of a report. stored: the run has ended, by this report or before it. */
type Stored = 'stored' | 'foreign' | 'too_long' | 'not_claimed' | 'changed';

export function createAgentRuns(platform: JobsPlatform, pruner: Pruner): AgentRuns {
  const { clock, config, database, random } = platform;
  const { claimTimeoutMs, isOn } = config.jobs;

  const poll = batchWrites<NodeCaller, JobsPending>(async (nodes) => {
    const nowMs = clock.nowMs();
    const open = await listRunsOfHosts(database.db, [...new Set(nodes.map(({ hostId }) => hostId))]);
    const selected = nodes.map(({ hostId, bootId }) => selectRuns(open.get(hostId) ?? [], bootId, nowMs));
    /** Run id → index of the poll that claims the run. A host may have sent two polls. */
    const claims = new Map<string, number>();
    for (const [n, { due }] of selected.entries())
      for (const { id } of due) if (!claims.has(id)) claims.set(id, n);
    const claimed =
      claims.size === 0
        ? new Set<string>()
        : await claimRuns(
            database,
            [...claims].map(([id, n]) => ({ id, bootId: nodes[n]?.bootId ?? null })),
            nowMs,
          );
    return selected.map(({ due, again }, n) => ({
      runs: [
        ...again,
        ...due
          .filter(({ id }) => claims.get(id) === n && claimed.has(id))
          .map((run) => ({ ...run, claimed_at: nowMs })),
      ].map(({ id, job_id, params, claimed_at }) => ({
        ...{ run_id: id, job_id, params: fromJson<JobReport['summary'] & object>(params) },
        deadline_secs: Math.max(0, Math.ceil((claimTimeoutMs - (nowMs - (claimed_at ?? nowMs))) / SECOND_MS)),
      })),
    }));
  }, MAX_BATCH);

  /** Ends claimed runs. @returns ids of those that ended; the others changed in the meantime */
  const end = (reports: readonly JobReport[]): Promise<ReadonlySet<string>> =>
    database.transaction(async (tx) => {
      const byRun = new Map(reports.map((report) => [report.run_id, report]));
      const ends = (await lockRunning(tx, [...byRun.keys()])).map((run) => {
        const { state, summary = {}, error = null } = byRun.get(run.id) as JobReport;
        return { run, ending: { state, summary, error: state === 'failed' ? error : null } };
      });
      if (ends.length > 0) await endRunning(tx, ends, { nowMs: clock.nowMs(), random });
      return new Set(ends.map(({ run: { id } }) => id));
    });

  const store = batchWrites<Reported, Stored>(async (batch) => {
    const runs = await findRuns(database.db, [...new Set(batch.map(({ report: { run_id } }) => run_id))]);
    /** For each run the first report that can end it. */
    const ending = new Map<string, JobReport>();
    const steps = batch.map(({ hostId, report }): Stored | JobReport => {
      const { run_id, summary = {} } = report;
      const run = runs.get(run_id);
      if (run === undefined || run.host_id !== hostId) return 'foreign';
      const step = decideRunReport(run.state);
      if (step === 'no_op') return 'stored';
      if (!isSummaryWithinBound(summary)) return 'too_long';
      if (step === 'refuse') return 'not_claimed';
      const first = ending.get(run_id) ?? report;
      ending.set(run_id, first);
      return first;
    });
    const reports = [...ending.values()];
    const outcomes = await runWithIndividualRetry(reports, async (some): Promise<Stored[]> => {
      const ended = await end(some);
      return some.map(({ run_id }) => (ended.has(run_id) ? 'stored' : 'changed'));
    });
    for (const [n, { run_id }] of reports.entries()) {
      const run = runs.get(run_id);
      if (outcomes[n] === 'stored' && run) pruner.ended({ jobId: run.job_id, hostId: run.host_id });
    }
    return steps.map((step) =>
      typeof step === 'string' ? step : (outcomes[reports.indexOf(step)] ?? 'changed'),
    );
  }, MAX_BATCH);

  return {
    pending: async (node) => (isOn ? poll(node) : { runs: [] }),

    async report({ hostId }, report) {
      switch (await store({ hostId, report })) {
        case 'stored':
          return;
        case 'foreign':
          throw badNodeCredential();
        case 'too_long':
          throw invalid('summary: over 4096 bytes');
        case 'not_claimed':
          throw new ApiError('conflict', { message: 'The run is not claimed.' });
        case 'changed':
          throw new ApiError('conflict', { message: 'The run changed meanwhile.' });
      }
    },

    async agentsRestarted(tx, hosts) {
      if (hosts.length === 0) return;
      const nowMs = clock.nowMs();
      const runs = await lockRunsOfOtherBoots(tx, hosts);
      if (runs.length === 0) return;
      const ending = { state: 'aborted' as const, summary: {}, error: 'agent restarted' };
      await endRunning(
        tx,
        runs.map((run) => ({ run, ending })),
        { nowMs, random },
      );
      for (const { job_id, host_id } of runs) pruner.ended({ jobId: job_id, hostId: host_id });
    },
  };
}
