import { ChainCheck, type Head, type ReadEntry, type SealingKeys, type Verdict } from './chain.ts';
import { reportOf } from './verdict.ts';

type Log = AsyncIterable<ReadEntry | { head: Head | null }>;

/** Reads the log up to the first misfit. @param remembered hash of a former head; null: none was given */
export async function verifyLog(log: Log, keys: SealingKeys, remembered: string | null) {
  const check = new ChainCheck(keys, remembered);
  let end: Verdict | null = null;
  for await (const item of log) {
    if ('head' in item) {
      // Read on, because an export may not go on after its head.
      end = check.end(item.head);
      continue;
    }
    const verdict = check.see(item);
    if (verdict !== null) return reportOf(verdict, check.counts);
  }
  if (end === null) throw new Error('The log has no head.');
  return reportOf(end, check.counts);
}

/** The log as lines of JSON, for a stream. */
export async function* linesOf(log: Log): AsyncGenerator<string> {
  for await (const item of log) yield `${JSON.stringify(item)}\n`;
}
