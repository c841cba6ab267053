import type { ChildProcess } from 'node:child_process';
import { Duplex, Readable } from 'node:stream';
import { type Clock, errorText, SilenceWatch, type Timer, TokenBucket } from '@footlight/platform';
import { withPatience } from '../../patience.ts';
import { HeldNamespace } from '../../runtime/held-namespace.ts';
import { forkEntry, RECORDING_FD, WORKER_FILES_FD } from './child-entry.ts';
import type { MessageChannel } from './message-channel.ts';
import { type ParentMessage, type WorkerMessage, workerMessage } from './worker-messages.ts';

/** Time limit for a worker to become warm. This takes 1 s, or 4 s when the agent runs from source (two busy cores). */
const WARM_LIMIT_MS = withPatience(10_000);
/**
 * A running worker sends a message every PULSE_MS, so a worker that misses five of them is killed. Chosen, not
 * measured.
 */
const SILENCE_LIMIT_MS = withPatience(2_500);
/**
 * Limits of messages from a worker. A worker sends a few dozen a second. The burst is large, because messages sent
 * while this process was paused arrive at once.
 */
const MESSAGES_PER_SECOND = 1_000;
const MESSAGES_AT_ONCE = 5_000;
/** A message that is longer than this counts as several messages. */
const CHARACTERS_PER_TOKEN = 4_096;
/** Number of malformed messages after which a worker is killed. Each is logged. A worker of this version sends none. */
const MALFORMED_LIMIT = 16;
/**
 * Delay before the next worker is forked after a worker was taken. By this time, the session's picture usually exists.
 */
const REFILL_AFTER_MS = 1_000;

export interface WorkerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

type MessageOf<T extends WorkerMessage['type']> = Extract<WorkerMessage, { type: T }>;

export interface MediaWorker {
  readonly pid: number;
  /** Resolves when the worker is warm. Rejects when the worker dies, or is not warm within 10 s; then it is killed. */
  readonly warm: Promise<void>;
  /** Records of the encoded stream (recording/stream-records.ts), if the session is recorded; they need not be read. */
  readonly recording: Readable | null;
  /**
   * Messages of viewers about files (media/files/file-pipe.ts). The owner of the worker forwards or destroys this
   * stream.
   */
  readonly files: Duplex | null;
  /** Queues a message; dropped after the worker's exit. */
  send(message: ParentMessage): void;
  /** @returns a function that removes the listener */
  on<T extends WorkerMessage['type']>(type: T, listener: (message: MessageOf<T>) => void): () => void;
  /**
   * Opens the worker's IPC namespace, which contains the System V objects and POSIX message queues of one session.
   * Worker, display and app share it. The capture makes its shared memory writable for every user (GStreamer 1.22,
   * ximageutil.c: shmget with mode 0777), so separate users are not enough to isolate sessions. Owner: the owner of the
   * worker.
   * @returns null: the worker is in the agent's namespace
   * @throws when the worker has ended
   */
  openIpcNamespace(): HeldNamespace | null;
  /** Settles exactly once; code is null if a signal ended the worker. */
  readonly exited: Promise<WorkerExit>;
  /** Closes the channel; the worker then exits within 2 s. */
  disconnect(): void;
  /** Sends SIGKILL. */
  kill(): void;
}

export interface MediaWorkerPool {
  /**
   * Returns a worker inside its IPC namespace; it may still be warming up.
   * @throws when the pool is closed, or the worker dies
   */
  acquire(): Promise<MediaWorker>;
  /** Ends the idle workers and waits for them. Workers that were acquired belong to their owners and continue. */
  close(): Promise<void>;
}

export interface MediaWorkerPoolOptions {
  clock: Clock;
  /** Number of workers that are kept warm. */
  size: number;
  /** Whether each worker gets its own IPC namespace. Requires root. */
  ownIpc: boolean;
  /** Variables added to the inherited environment, for example GST_REGISTRY. */
  env?: Record<string, string>;
  /** Called with each output line of a worker, for example of a native library. */
  onOutput?: (pid: number, line: string) => void;
  /** Called for an invalid message. The message itself is dropped. */
  onMalformed?: (pid: number, why: string) => void;
}

export function createMediaWorkerPool(options: MediaWorkerPoolOptions): MediaWorkerPool {
  return new ForkingPool(options);
}

/**
 * Media workers that are started in advance.
 *
 * A pool keeps `size` workers warm (GStreamer and WebRTC library loaded). The next worker is forked 1 s after a worker
 * was taken, or when that worker has ended, because an earlier fork would slow down the session's start. A worker
 * serves one session and is never reused. The pool owns a worker until acquire() returns it; then the caller owns it.
 * Every worker exits within 2 s after this process has ended, because its channel closes and it gets the parent-death
 * signal.
 */
class ForkingPool implements MediaWorkerPool {
  readonly #options: MediaWorkerPoolOptions;
  readonly #idle: ForkedWorker[] = [];
  #closed = false;
  #refillTimer: Timer | null = null;

  constructor(options: MediaWorkerPoolOptions) {
    this.#options = options;
    this.#refill();
  }

  async acquire(): Promise<MediaWorker> {
    if (this.#closed) throw new Error('the media worker pool is closed');
    // Idle workers that have died are skipped.
    const worker = this.#idle.find((candidate) => candidate.alive) ?? new ForkedWorker(this.#options);
    const index = this.#idle.indexOf(worker);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#refillTimer?.cancel();
    this.#refillTimer = this.#options.clock.setTimeout(() => this.#refill(), REFILL_AFTER_MS);
    void worker.exited.then(() => this.#refill());
    await Promise.race([worker.entered, worker.warm]);
    return worker;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#refillTimer?.cancel();
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
  /** Resolves when the worker is inside its IPC namespace. */
  readonly entered: Promise<void>;
  readonly recording: Readable | null;
  readonly files: Duplex | null;
  readonly #child: ChildProcess;
  readonly #channel: MessageChannel | null;
  readonly #clock: Clock;
  readonly #messages: TokenBucket;
  readonly #onMalformed: (why: string) => void;
  readonly #ownIpc: boolean;
  readonly #listeners = new Map<WorkerMessage['type'], Set<(message: WorkerMessage) => void>>();
  #ended = false;
  #malformed = 0;
  #silence: SilenceWatch | null = null;

  constructor(options: MediaWorkerPoolOptions) {
    const { clock } = options;
    this.#clock = clock;
    this.#messages = new TokenBucket(MESSAGES_PER_SECOND, MESSAGES_AT_ONCE, clock.monotonicMs());
    let pid = 0;
    let enter: () => void = () => undefined;
    this.entered = new Promise((resolve) => {
      enter = resolve;
    });
    if (!options.ownIpc) enter();
    this.#ownIpc = options.ownIpc;
    const { child, channel } = forkEntry(
      'worker-main',
      {
        onMessage: (raw, characters) => this.#hear(raw, characters),
        onBroken: (why) => this.#end(why),
        onClosed: () => undefined,
      },
      {
        clock,
        ...(options.env ? { env: options.env } : {}),
        ownIpc: options.ownIpc,
        descriptors: ['pipe', 'pipe'],
        onOutput: (line) => {
          enter();
          if (line !== '') options.onOutput?.(pid, line);
        },
      },
    );
    this.#child = child;
    const recording = child.stdio[RECORDING_FD];
    this.recording = recording instanceof Readable ? recording : null;
    this.recording?.on('error', () => undefined);
    // Cast, because the type covers only five of the descriptors.
    const files: unknown = [...child.stdio][WORKER_FILES_FD];
    this.files = files instanceof Duplex ? files : null;
    this.files?.on('error', () => undefined);
    this.#channel = channel;
    this.#onMalformed = (why) => options.onMalformed?.(pid, why);
    pid = this.#child.pid ?? 0;
    this.pid = pid;
    this.exited = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        this.#ended = true;
        resolve({ code, signal });
      };
      this.#child.once('exit', end);
      // If the spawn fails, there is no exit event.
      this.#child.once('error', () => {
        if (this.#child.pid === undefined) end(127, null);
      });
    });
    this.on('encoding', () => {
      this.#silence ??= new SilenceWatch(clock, SILENCE_LIMIT_MS, () => {
        options.onOutput?.(pid, `killed: it said nothing for ${SILENCE_LIMIT_MS} ms`);
        this.kill();
      });
    });
    void this.exited.then(() => this.#silence?.close());
    this.warm = new Promise((resolve, reject) => {
      const silence = new SilenceWatch(clock, WARM_LIMIT_MS, () =>
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
    // Prevents an unhandled rejection for an idle worker. An owner still gets the rejection.
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
    if (!this.#ended) this.#channel?.send(message);
  }

  on<T extends WorkerMessage['type']>(type: T, listener: (message: MessageOf<T>) => void): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners);
    const wrapped = listener as (message: WorkerMessage) => void;
    listeners.add(wrapped);
    return () => listeners.delete(wrapped);
  }

  disconnect(): void {
    this.#channel?.close();
  }

  #hear(raw: unknown, characters: number): void {
    if (!this.#messages.take(this.#clock.monotonicMs(), Math.ceil(characters / CHARACTERS_PER_TOKEN))) {
      this.#end('too many messages');
      return;
    }
    this.#silence?.heard();
    const parsed = workerMessage.safeParse(raw);
    if (!parsed.success) {
      this.#malformed += 1;
      this.#onMalformed(errorText(parsed.error));
      if (this.#malformed >= MALFORMED_LIMIT) this.#end('too many malformed messages');
      return;
    }
    for (const listener of [...(this.#listeners.get(parsed.data.type) ?? [])]) listener(parsed.data);
  }

  /** Kills a worker that misbehaves. */
  #end(why: string): void {
    this.#onMalformed(`killed: ${why}`);
    this.#channel?.close();
    this.kill();
  }

  kill(): void {
    // A worker that could not be started has no pid, and a signal to an undefined pid could reach another process.
    if (!this.#ended && this.#child.pid !== undefined) this.#child.kill('SIGKILL');
  }
}
