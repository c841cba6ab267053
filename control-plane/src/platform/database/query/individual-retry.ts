import { isDown } from '../engine/failures.ts';

/** Takes the place of the result of a part that failed alone. */
export class Failed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/**
 * Runs `work` for a batch; if the batch fails, for each part alone and in order, so that only the faulty parts fail.
 * @param work does all or nothing
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
