import type { Duplex } from 'node:stream';
import { Duplex as DuplexStream } from 'node:stream';
import { type Clock, within } from '@footlight/platform';
import type { FilesOrder } from '../../files/files-order.ts';
import { FILES_FD } from '../../files/files-order.ts';
import { type EntryProcess, forkEntry } from '../../media/worker/child-entry.ts';

/**
 * Time limit for the process to remove unfinished files. It is then killed, because its disk may hang. Chosen, not
 * measured.
 */
const TIDY_MS = 1_000;
/** Heap limit of the process; chunks of transfers are outside of the heap. Chosen, not measured. */
const HEAP_MIB = 64;

export interface SessionFilesOptions {
  /** The media worker's end of the messages. */
  worker: Duplex;
  clock: Clock;
  /** Puts the process into the session's control group. */
  confine(pid: number): void;
  /** Home and user, read at the first message; null: the session has no home now. */
  order(): FilesOrder | null;
}

/**
 * The process that serves the files of a session's home, started at a viewer's first message, because most sessions
 * need none. This process only forwards bytes, with backpressure in both directions.
 *
 * idle → running → ended; a viewer's later messages find a closed channel. Owner: the session's worker. close() waits
 * for the process, because the next session may use the home afterwards.
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
