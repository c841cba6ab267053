import { readFileSync } from 'node:fs';
import { type Clock, delay, within } from '@footlight/platform';
import { withPatience } from '../../patience.ts';
import { limitSocketMemory } from '../cgroups.ts';
import { LogRing } from '../log-ring.ts';
import { readSocketUse, SocketWatch } from '../network/app-sockets.ts';
import { readPaced } from '../programs/child.ts';
import type { AppExit, RunningApp } from '../runtime.ts';
import type { ContainerLimits } from './container-options.ts';
import type { ContainerEngine, ContainerState } from './engine/engine.ts';
import { OutputFrames } from './engine/output-frames.ts';

/** Longest wait after SIGKILL. A process that has not ended after this time is blocked in the kernel. */
const KILL_MS = withPatience(3_000);
/** Interval of checks of a container whose wait call was interrupted because the engine was restarted or hangs. */
const LOOK_AGAIN_MS = 1_000;
/** Longest wait for the last output of an ended app, the same as for processes. The output was already sent. */
const DRAIN_MS = 500;

/** Calls of the engine that an app needs. */
export type AppEngine = Pick<ContainerEngine, 'output' | 'start' | 'signal' | 'wait' | 'state' | 'remove'>;

/**
 * An app in a container that was created already. `open` starts the container; `stop` ends and removes it.
 *
 * If the engine is restarted, the container keeps running. Its state is then polled until the engine reports its end.
 */
export class ContainerApp implements RunningApp {
  readonly exited: Promise<AppExit>;
  /** Never settles, because a container ends with its first process. */
  readonly handedOver = new Promise<void>(() => undefined);
  readonly #engine: AppEngine;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #log = new LogRing();
  readonly #over = new AbortController();
  #sockets: SocketWatch | null = null;
  readonly #drained: Promise<void>;
  #hasExited = false;

  private constructor(
    engine: AppEngine,
    name: string,
    clock: Clock,
    output: Awaited<ReturnType<AppEngine['output']>>,
  ) {
    this.#engine = engine;
    this.#name = name;
    this.#clock = clock;
    const frames = new OutputFrames();
    this.#over.signal.addEventListener('abort', () => output.destroy(), { once: true });
    this.#drained = readPaced(output, clock, (chunk) => {
      for (const part of frames.take(chunk)) this.#log.add(part);
    });
    this.exited = this.#wait().then(async (status) => {
      this.#hasExited = true;
      this.#sockets?.close();
      await within(clock, DRAIN_MS, this.#drained, undefined);
      return { status };
    });
  }

  /**
   * Starts a created container.
   * @param limits of an app whose sockets are watched, because it has its own network on this machine; null: they are
   * not watched
   * @throws EngineError when the container does not start; the caller then removes it
   */
  static async open(
    engine: AppEngine,
    name: string,
    clock: Clock,
    limits: Pick<ContainerLimits, 'memoryMb'> | null,
  ): Promise<ContainerApp> {
    const output = await engine.output(name);
    output.on('error', () => undefined);
    try {
      await engine.start(name);
    } catch (error) {
      output.destroy();
      throw error;
    }
    const app = new ContainerApp(engine, name, clock, output);
    // Not awaited, so that the launch is not delayed.
    if (limits !== null) void app.#watchSockets(limits.memoryMb * 1024 * 1024).catch(() => undefined);
    return app;
  }

  logTail(lines?: number, maxBytes?: number): string {
    return this.#log.tail(lines, maxBytes);
  }

  /** @throws EngineError when the container could not be removed; Removals then tries again */
  async stop(graceMs: number): Promise<void> {
    // Errors are ignored, because remove() kills the remaining processes. For example, podman 4.3 answers a signal
    // after the container's end with 500.
    if (!this.#hasExited) await this.#end(graceMs).catch(() => undefined);
    this.#over.abort();
    await this.#engine.remove(this.#name);
  }

  /**
   * Needed because control groups do not limit all socket buffers, and v1 does not count TCP and UDP buffers as memory.
   */
  async #watchSockets(memoryBytes: number): Promise<void> {
    const state = await this.#engine.state(this.#name);
    // Not watched if the engine runs on another machine, because its process ids have no meaning here.
    if (state === null || this.#hasExited || !isProcessOf(state)) return;
    const endFor = (why: string) => {
      this.#log.add(Buffer.from(`\nFootlight ended this app: ${why}\n`));
      void this.#engine.signal(this.#name, 'SIGKILL').catch(() => undefined);
    };
    this.#sockets = new SocketWatch({
      clock: this.#clock,
      read: () => readSocketUse(state.pid),
      onExcess: endFor,
    });
    if (memoryBytes > 0 && limitSocketMemory(state.pid, memoryBytes) === 'exceeded')
      endFor('the app leaves too much unread in its sockets');
  }

  async #end(graceMs: number): Promise<void> {
    await this.#engine.signal(this.#name, 'SIGTERM');
    await within(this.#clock, graceMs, this.exited, undefined);
    if (this.#hasExited) return;
    await this.#engine.signal(this.#name, 'SIGKILL');
    await within(this.#clock, KILL_MS, this.exited, undefined);
  }

  /**
   * If the engine dies, its wait call never ends, because the answer has begun and the library does not detect that the
   * rest is missing. But the output stream ends then, and afterwards the container's state is polled.
   * @returns the exit status of the container; null: another program removed it, or this app was stopped first
   */
  async #wait(): Promise<number | null> {
    const { signal } = this.#over;
    const status = this.#engine.wait(this.#name, signal).catch(() => undefined);
    const outputEnded = this.#drained.then(() => within(this.#clock, DRAIN_MS, status, undefined));
    const seen = await Promise.race([status, outputEnded]);
    if (seen !== undefined) return seen;
    while (!signal.aborted) {
      const state = await this.#engine.state(this.#name).catch(() => undefined);
      if (state === null) return null;
      if (state !== undefined && !state.running) return state.exitCode;
      await delay(this.#clock, LOOK_AGAIN_MS);
    }
    return null;
  }
}

/**
 * Whether the first process of a container runs on this machine. If so, the process's control group contains the
 * container's name.
 */
function isProcessOf({ id, pid }: ContainerState): boolean {
  try {
    return pid > 0 && readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(id);
  } catch {
    return false;
  }
}
