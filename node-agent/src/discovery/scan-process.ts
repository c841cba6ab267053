import { type Clock, SECOND_MS } from '@footlight/platform';
import { MAX_SCAN_ENTRIES, type ScanEntry, type ScanTask } from '@footlight/protocol/agent';
import { forkEntry } from '../media/worker/child-entry.ts';
import { SCAN_LIMIT_MS, scanProgress } from './scan-messages.ts';
import type { ScanResult } from './steam-library.ts';

/**
 * Added to the scan's own time limit, for the start of the process and for a process that hangs in the file system.
 * Chosen, not measured.
 */
const GRACE_MS = 15 * SECOND_MS;
/** Heap limit of the process in MiB; 10,000 titles need 10 MiB. Chosen, not measured. */
const HEAP_MIB = 256;

/**
 * Scans a home in a separate process with low priority. The process ends when the agent ends. Never rejects.
 * @param stopping its abort ends the scan
 */
export function scanInProcess(
  task: ScanTask,
  { clock, stopping }: { clock: Clock; stopping: AbortSignal },
): Promise<ScanResult> {
  return new Promise((resolve) => {
    const entries: ScanEntry[] = [];
    let settled = false;
    const settle = (result: Omit<ScanResult, 'entries'>) => {
      if (settled) return;
      settled = true;
      timer.cancel();
      stopping.removeEventListener('abort', stop);
      child.kill('SIGKILL');
      resolve({ ...result, entries: result.ok ? entries : [] });
    };
    const fail = (error: string) => settle({ ok: false, complete: false, error, outside: 0 });
    const stop = () => fail('the agent is stopping');
    const { child, channel } = forkEntry(
      'scan-main',
      {
        onMessage: (raw) => {
          const message = scanProgress.safeParse(raw);
          if (!message.success) fail('the scan gave no readable answer');
          else if (message.data.type === 'done') settle(message.data);
          else if (entries.length + message.data.entries.length > MAX_SCAN_ENTRIES) fail('too many titles');
          else entries.push(...message.data.entries);
        },
        onBroken: (why) => fail(`scan: ${why}`),
        onClosed: () => undefined,
      },
      {
        clock,
        env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` },
        within: ['setpriv', '--pdeathsig', 'KILL', '--', 'nice', '-n', '19'],
      },
    );
    const timer = clock.setTimeout(
      () => fail(`the scan did not end within ${SCAN_LIMIT_MS / SECOND_MS} s`),
      SCAN_LIMIT_MS + GRACE_MS,
    );
    child.once('error', (error) => fail(`scan: ${error.message}`));
    // Not `exit`, which can come before the answer has been read.
    child.once('close', (code, signal) => fail(`the scan ended with ${signal ?? `code ${code}`}`));
    stopping.addEventListener('abort', stop, { once: true });
    if (stopping.aborted) stop();
    else channel?.send(task);
  });
}
