import { isDown } from '../engine/failures.ts';

/** Result of a part that failed when it was run alone. */
export class Failed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/**
 * Runs `work` for a whole batch. If the batch fails, runs `work` for each part alone and in order, so that only the
 * faulty parts fail.
 * @param work must do everything or nothing
 * @param failsAll whether an error would also fail the other parts; then they are not tried
 * @returns a result for each part
 */
export async function runWithIndividualRetry<One, Result>(
  batch: readonly One[],
  work: (some: readonly One[]) => Promise<readonly Result[]>,
  failsAll: (error: unknown) => boolean = isDown,
): Promise<readonly (Result | Failed)[]> {
  let failed: Failed;
  try {
    return await work(batch);
  } catch (error) {
    failed = new Failed(error);
  }
  const results: (Result | Failed)[] = [];
  for (const one of batch.length > 1 ? batch : []) {
    if (failsAll(failed.error)) break;
    try {
      results.push(...(await work([one])));
    } catch (error) {
      failed = new Failed(error);
      results.push(failed);
    }
  }
  return batch.map((_, n) => (n < results.length ? (results[n] as Result) : failed));
}
