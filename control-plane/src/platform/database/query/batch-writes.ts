import { BatchQueue } from '../../queues/batch-queue.ts';
import { Failed } from './individual-retry.ts';

interface Call<Job, Result> {
  job: Job;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Batches concurrent writes, so that a reconnecting fleet needs only a few transactions. One transaction for each host
 * would wait for connections of the pool until it timed out. Batches run one after the other.
 * @param write returns one result for each job, in the same order. `Failed` rejects only that job; an exception rejects
 *   all jobs
 * @param max largest batch
 */
export function batchWrites<Job, Result>(
  write: (jobs: readonly Job[]) => Promise<readonly (Result | Failed)[]>,
  max: number,
): (job: Job) => Promise<Result> {
  const queue = new BatchQueue<Call<Job, Result>>(
    async (calls) => {
      try {
        const results = await write(calls.map(({ job }) => job));
        for (const [n, { resolve, reject }] of calls.entries()) {
          const result = results[n];
          if (result instanceof Failed) reject(result.error);
          else resolve(result as Result);
        }
      } catch (error) {
        for (const { reject } of calls) reject(error);
      }
    },
    { max },
  );
  return (job) => new Promise((resolve, reject) => queue.add({ job, resolve, reject }));
}
