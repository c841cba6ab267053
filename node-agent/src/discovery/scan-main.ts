/**
 * Scans one home: reads the task, and answers with the titles in several messages. A separate process, because it reads
 * files that apps wrote: if it hangs, runs long or crashes, the agent is not affected. The agent ends this process
 * after the answer.
 */
import { errorText, systemClock } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import { type ScanEntry, scanTaskSchema } from '@footlight/protocol/agent';
import { openParentChannel } from '../media/worker/child-entry.ts';
import { SCAN_LIMIT_MS, type ScanProgress } from './scan-messages.ts';
import { scanSteamLibrary } from './steam-library.ts';

/** Entries per message: a message may have 512 KiB, and each entry has at most a few KiB. */
const ENTRIES_PER_MESSAGE = 64;
const MAX_ERROR_BYTES = 4096;

const channel = openParentChannel({
  onMessage: (raw) => {
    channel.send(answer(raw));
  },
  onBroken: () => process.exit(1),
  onClosed: () => process.exit(1),
});

function answer(raw: unknown): ScanProgress {
  try {
    const task = scanTaskSchema.parse(raw);
    const { entries, ...rest } = scanSteamLibrary(task, () => systemClock.monotonicMs(), SCAN_LIMIT_MS);
    for (let at = 0; at < entries.length; at += ENTRIES_PER_MESSAGE) send(entries, at);
    return { type: 'done', ...rest, error: cutUtf8(rest.error, MAX_ERROR_BYTES) };
  } catch (error) {
    return { type: 'done', ok: false, complete: false, error: errorText(error), outside: 0 };
  }
}

function send(entries: readonly ScanEntry[], at: number): void {
  const message: ScanProgress = { type: 'entries', entries: entries.slice(at, at + ENTRIES_PER_MESSAGE) };
  channel.send(message);
}
