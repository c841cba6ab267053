import type { ChildProcess } from 'node:child_process';
import { systemClock } from '@footlight/platform';
import { SilenceWatch } from '../../platform/silence-watch.ts';
import { HeldNamespace } from '../../runtime/held-namespace.ts';
import { forkEntry } from './child-entry.ts';
import { type ParentMessage, type WorkerMessage, workerMessage } from './worker-messages.ts';

/**
 * Media workers, forked ahead of need.
 *
 * A pool keeps `size` workers that have GStreamer initialised and the WebRTC library loaded (`warm`), and
 * starts the next one when a taken one has ended or was taken 1 s ago: until then it would only
 * slow that one's session down. One worker serves one session and is never used again. The
 * pool owns a worker until acquire() hands it over; from then on its holder does. Every worker leaves by
 * itself within 2 s after this process is gone: its channel closes, and its parent-death signal fires.
 */

const WARM_LIMIT_MS = 10_000;
/** A worker whose picture runs says something every PULSE_MS; one that hangs is killed after this. */
const SILENCE_LIMIT_MS = 2_500;
/** The next worker is forked this long after one was taken: by then its picture is usually there. */
const REFILL_AFTER_MS = 1_000;

export interface WorkerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

type MessageOf<T extends WorkerMessage['type']> = Extract<WorkerMessage, { type: T }>;

export interface MediaWorker {
  readonly pid: number;
  /** Settles when it can be used. Rejects when it dies, or is not warm within 10 s: it is killed then. */
  readonly warm: Promise<void>;
  /** Queues a message; after the worker's exit it is dropped, and `exited` says so. */
  send(message: ParentMessage): void;
  /** @returns a function that takes the listener off again */
  on<T extends WorkerMessage['type']>(type: T, listener: (message: MessageOf<T>) => void): () => void;
  /**
   * Its IPC namespace: System V objects and POSIX message queues of one session, which worker, display and app share.
   * Capture makes its shared memory readable and writable for every user (GStreamer 1.22, ximageutil.c: shmget with
   * mode 0777), so users alone do not keep sessions apart. Owner: the holder of the worker.
   * @returns null: it has the agent's
   * @throws when it is gone
   */
  openIpcNamespace(): HeldNamespace | null;
  /** Settles exactly once; code is null when a signal ended it. */
  readonly exited: Promise<WorkerExit>;
  /** Closes the channel; the worker then ends by itself within 2 s. */
  disconnect(): void;
  /** SIGKILL, at once. */
  kill(): void;
}

export interface MediaWorkerPool {
  /**
   * A worker that has its IPC namespace, and may still be warming up.
   * @throws when the pool is closed, or when the worker dies
   */
  acquire(): Promise<MediaWorker>;
  /** Ends the idle workers and waits for them; acquired ones belong to their holders. */
  close(): Promise<void>;
}

export interface MediaWorkerPoolOptions {
  /** Workers kept warm (count). */
  size: number;
  /** Gives each worker an IPC namespace of its own; this process must be root. */
  ownIpc: boolean;
  /** Added to the inherited environment, for example GST_REGISTRY. */
  env?: Record<string, string>;
  /** Worker output that is not a message (complaints of native libraries), line by line. */
  onOutput?: (pid: number, line: string) => void;
  /** Told of a frame that is not a worker message; such a frame changes nothing. */
  onMalformed?: (pid: number, why: string) => void;
}

export function createMediaWorkerPool(options: MediaWorkerPoolOptions): MediaWorkerPool {
  return new ForkingPool(options);
}

class ForkingPool implements MediaWorkerPool {
  readonly #options: MediaWorkerPoolOptions;
  readonly #idle: ForkedWorker[] = [];
  #closed = false;
  #refillTimer: NodeJS.Timeout | null = null;

  constructor(options: MediaWorkerPoolOptions) {
    this.#options = options;
    this.#refill();
  }

  async acquire(): Promise<MediaWorker> {
    if (this.#closed) throw new Error('the media worker pool is closed');
    // A worker that died while idle is passed over; the one forked here is not.
    const worker = this.#idle.find((candidate) => candidate.alive) ?? new ForkedWorker(this.#options);
    const index = this.#idle.indexOf(worker);
    if (index >= 0) this.#idle.splice(index, 1);
    if (this.#refillTimer) clearTimeout(this.#refillTimer);
    this.#refillTimer = setTimeout(() => this.#refill(), REFILL_AFTER_MS);
    void worker.exited.then(() => this.#refill());
    await Promise.race([worker.entered, worker.warm]);
    return worker;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#refillTimer) clearTimeout(this.#refillTimer);
    const idle = this.#idle.splice(0);
    for (const worker of idle) worker.kill();
    await Promise.all(idle.map((worker) => worker.exited));
  }

  #refill(): void {
    if (this.#closed) return;
    for (let index = this.#idle.length - 1; index >= 0; index--) {
      if (!this.#idle[index]?.alive) this.#idle.splice(index, 1);
    }
    while (this.#idle.length < this.#options.size) this.#idle.push(new ForkedWorker(this.#options));
  }
}

class ForkedWorker implements MediaWorker {
  readonly pid: number;
  readonly exited: Promise<WorkerExit>;
  readonly warm: Promise<void>;
  /** Settles when it has its IPC namespace. */
  readonly entered: Promise<void>;
  readonly #child: ChildProcess;
  readonly #ownIpc: boolean;
  readonly #listeners = new Map<WorkerMessage['type'], Set<(message: WorkerMessage) => void>>();
  #ended = false;
  #silence: SilenceWatch | null = null;

  constructor(options: MediaWorkerPoolOptions) {
    let pid = 0;
    let enter: () => void = () => undefined;
    this.entered = new Promise((resolve) => {
      enter = resolve;
    });
    if (!options.ownIpc) enter();
    this.#ownIpc = options.ownIpc;
    this.#child = forkEntry('worker-main', {
      ...(options.env ? { env: options.env } : {}),
      ownIpc: options.ownIpc,
      onOutput: (line) => {
        enter();
        if (line !== '') options.onOutput?.(pid, line);
      },
    });
    pid = this.#child.pid ?? 0;
    this.pid = pid;
    this.exited = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        this.#ended = true;
        resolve({ code, signal });
      };
      this.#child.once('exit', end);
      // A failed spawn has no exit event.
      this.#child.once('error', () => {
        if (this.#child.pid === undefined) end(127, null);
      });
    });
    this.#child.on('message', (raw) => {
      this.#silence?.heard();
      const parsed = workerMessage.safeParse(raw);
      if (!parsed.success) {
        options.onMalformed?.(pid, parsed.error.message);
        return;
      }
      for (const listener of [...(this.#listeners.get(parsed.data.type) ?? [])]) listener(parsed.data);
    });
    this.on('encoding', () => {
      this.#silence ??= new SilenceWatch(systemClock, SILENCE_LIMIT_MS, () => {
        options.onOutput?.(pid, `killed: it said nothing for ${SILENCE_LIMIT_MS} ms`);
        this.kill();
      });
    });
    void this.exited.then(() => this.#silence?.close());
    this.warm = new Promise((resolve, reject) => {
      const silence = new SilenceWatch(systemClock, WARM_LIMIT_MS, () =>
        reject(new Error(`media worker ${pid} was not warm within ${WARM_LIMIT_MS} ms`)),
      );
      this.on('warm', () => {
        silence.close();
        resolve();
      });
      void this.exited.then(({ code, signal }) => {
        silence.close();
        reject(new Error(`media worker ${pid} ended before it was warm (${signal ?? code})`));
      });
    });
    // The rejection is for the holder; an idle worker that dies must not become an unhandled rejection.
    this.warm.catch(() => this.kill());
  }

  get alive(): boolean {
    return !this.#ended;
  }

  openIpcNamespace(): HeldNamespace | null {
    if (this.#ended) throw new Error(`media worker ${this.pid} is gone`);
    return this.#ownIpc ? new HeldNamespace('ipc', this.pid) : null;
  }

  send(message: ParentMessage): void {
    if (this.#ended || !this.#child.connected) return;
    // Without the callback a channel that closes meanwhile would emit 'error'.
    this.#child.send(message, () => undefined);
  }

  on<T extends WorkerMessage['type']>(type: T, listener: (message: MessageOf<T>) => void): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners);
    const wrapped = listener as (message: WorkerMessage) => void;
    listeners.add(wrapped);
    return () => listeners.delete(wrapped);
  }

  disconnect(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  kill(): void {
    // One that could not be started has no number of its own: the signal would reach the process whose id lay in memory.
    if (!this.#ended && this.#child.pid !== undefined) this.#child.kill('SIGKILL');
  }
}
