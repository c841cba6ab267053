import type { Duplex } from 'node:stream';
import { Duplex as DuplexStream } from 'node:stream';
import { type Clock, within } from '@footlight/platform';
import type { FilesOrder } from '../../files/files-order.ts';
import { FILES_FD } from '../../files/files-order.ts';
import { type EntryProcess, forkEntry } from '../../media/worker/child-entry.ts';

/**
 * Time that the process gets to remove unfinished files. Then it is killed, because its disk may hang. Chosen, not
 * measured.
 */
const TIDY_MS = 1_000;
/** Heap limit of the process in MiB; chunks of transfers are not in the heap. Chosen, not measured. */
const HEAP_MIB = 64;

export interface SessionFilesOptions {
  /** Stream that connects the process with the media worker. */
  worker: Duplex;
  clock: Clock;
  /** Moves the process into the session's control group. */
  confine(pid: number): void;
  /** Home and user, read when the first message arrives; null: the session has no home now. */
  order(): FilesOrder | null;
}

/**
 * Runs the process that serves the files of a session's home. It is started when a viewer's first message arrives,
 * because most sessions do not need it. The agent only forwards bytes, with backpressure in both directions.
 *
 * idle → running → ended; afterwards the channel is closed for further messages of viewers. Owner: the session's
 * worker. close() waits for the process, because the next session may use the home afterwards.
 */
export class SessionFiles {
  readonly #options: SessionFilesOptions;
  #process: EntryProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: SessionFilesOptions) {
    this.#options = options;
    const { worker } = options;
    worker.on('error', () => undefined);
    worker.once('readable', () => this.#start());
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#options.worker.destroy();
    this.#process?.child.kill('SIGTERM');
    await within(this.#options.clock, TIDY_MS, this.#exited, undefined);
    this.#process?.child.kill('SIGKILL');
    await this.#exited;
  }

  #start(): void {
    const { worker, clock, confine, order } = this.#options;
    const asked = this.#closed ? null : order();
    if (asked === null) {
      worker.destroy();
      return;
    }
    const end = () => void this.close();
    const isRoot = process.getuid?.() === 0;
    const started = forkEntry(
      'files-main',
      { onMessage: () => undefined, onBroken: end, onClosed: end },
      {
        clock,
        env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` },
        within: [
          ...(isRoot ? ['unshare', '--net', '--'] : []),
          ...['setpriv', '--no-new-privs', '--pdeathsig', 'TERM', '--', 'nice', '-n', '10'],
        ],
        descriptors: ['pipe'],
      },
    );
    this.#process = started;
    const { child, channel } = started;
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    void this.#exited.then(end);
    if (child.pid !== undefined) confine(child.pid);
    const home = child.stdio[FILES_FD];
    if (!(home instanceof DuplexStream)) {
      end();
      return;
    }
    home.on('error', () => undefined);
    worker.pipe(home);
    home.pipe(worker);
    channel?.send(asked);
  }
}
