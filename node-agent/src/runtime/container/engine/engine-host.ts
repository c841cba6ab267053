import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { type Clock, type Environment, errorText, type Logger, within } from '@footlight/platform';
import type { AgentConfig } from '../../../config/environment.ts';
import { withPatience } from '../../../patience.ts';
import { type AppFilters, writeAppFilters } from './app-filter-files.ts';
import { ContainerEngine, type EngineError } from './engine.ts';
import { defaultSockets, findEngine } from './engine-address.ts';
import { type EngineFacts, type EngineProblem, type EngineWishes, engineProblem } from './engine-facts.ts';
import { AGENT_LABEL, CONTAINER_PREFIX } from './engine-names.ts';

/** Usual paths of podman's init program. Source: containers.conf(5), init_path; Debian's package catatonit. */
const INITS = ['/usr/libexec/podman/catatonit', '/usr/bin/catatonit', '/usr/local/libexec/podman/catatonit'];

/**
 * Time limit of a check for readiness: the registration waits for this check, and the control plane waits at most 15 s
 * for each step of a registration. An engine answers within 100 ms. Chosen, not measured.
 */
const LOOK_MS = withPatience(2_000);
/** Time limit of the first check, which also removes containers of a killed agent. */
export const FIRST_LOOK_MS = withPatience(10_000);

/** No engine can be used now; administrators see `problem`. */
export class NoEngine extends Error {
  constructor(readonly problem: EngineProblem) {
    super(problem.summary);
    this.name = 'NoEngine';
  }
}

export interface EngineHostOptions extends Omit<EngineWishes, 'nvidia'> {
  /** A function, because the value is known only after the hardware probe. */
  nvidia: () => boolean;
  /** SERVICE_CONTAINER_ENGINE; null: try podman, then docker. */
  url: string | null;
  /** Whether this host must run containers: an engine is configured, or processes are not allowed here. */
  required: boolean;
}

/** @param nvidia whether the host has an NVIDIA GPU */
export function engineOptions(config: AgentConfig, nvidia: () => boolean): EngineHostOptions {
  const { containerEngine, containerRuntime, processRuntime, stateDir } = config;
  return {
    url: containerEngine,
    ociRuntime: containerRuntime,
    required: containerEngine !== null || containerRuntime !== null || !processRuntime,
    stateDir,
    nvidia,
  };
}

export interface OpenEngine {
  engine: ContainerEngine;
  facts: EngineFacts;
  hasInit: boolean;
  /** null: apps get the engine's own system call filter. */
  filters: AppFilters | null;
  /** Whether the engine's containers run on this machine; their process ids show this. */
  isHere: boolean;
}

/** The result for the readiness check of containers. */
export type EngineFact =
  | { kind: 'off' }
  | { kind: 'works'; name: string; version: string }
  | ({ kind: 'fails' } & EngineProblem);

/**
 * The container engine of this host. While no engine is found, each use searches again, so an engine that is installed
 * or started later works without a restart of the agent.
 *
 * Opening the engine removes the containers of a former agent with the same state directory.
 */
export class EngineHost {
  /** Label value of this agent's containers, because other agents may use the same engine. */
  readonly agentId: string;
  readonly #options: EngineHostOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #env: Environment;
  #open: OpenEngine | null = null;
  #opening: Promise<OpenEngine> | null = null;
  #last: EngineFact = { kind: 'off' };
  #isSwept = false;

  constructor(options: EngineHostOptions, deps: { clock: Clock; logger: Logger; env: Environment }) {
    this.#options = options;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#env = deps.env;
    this.agentId = createHash('sha256').update(options.stateDir).digest('hex').slice(0, 16);
  }

  /** Whether the last check found a working engine. */
  get works(): boolean {
    return this.#last.kind === 'works';
  }

  /**
   * Checks the engine again, and returns the result. Never throws.
   * @param limitMs a slower engine is reported as not answering, until its answer arrives
   */
  async look(limitMs = LOOK_MS): Promise<EngineFact> {
    if (!this.#options.required && this.#address() === null) {
      this.#last = { kind: 'off' };
      return this.#last;
    }
    this.#open = null;
    const opened = this.open().then(
      () => 'known' as const,
      () => 'known' as const,
    );
    if ((await within(this.#clock, limitMs, opened, 'late' as const)) === 'late')
      this.#last = { kind: 'fails', ...silent(`it did not answer within ${limitMs / 1000} s`) };
    return this.#last;
  }

  /** Opens the engine, or returns the open one. @throws NoEngine */
  async open(): Promise<OpenEngine> {
    if (this.#open !== null) return this.#open;
    this.#opening ??= this.#find().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** Like open(), but returns only the engine. @throws NoEngine */
  async engine(): Promise<ContainerEngine> {
    return (await this.open()).engine;
  }

  async #find(): Promise<OpenEngine> {
    try {
      const found = await this.#try();
      this.#open = found;
      this.#last = { kind: 'works', name: found.facts.kind, version: found.facts.version };
      return found;
    } catch (error) {
      const problem = error instanceof NoEngine ? error.problem : silent(errorText(error, 200));
      this.#last = { kind: 'fails', ...problem };
      throw new NoEngine(problem);
    }
  }

  async #try(): Promise<OpenEngine> {
    const address = this.#address();
    if (address === null) throw new NoEngine(missing(defaultSockets(isRoot(), this.#env)));
    const engine = await ContainerEngine.at(address, this.#clock);
    const facts = await engine.facts().catch((error: EngineError) => {
      const where = address.kind === 'socket' ? address.path : `${address.host}:${address.port}`;
      throw new NoEngine(silent(`${where}: ${error.message}`));
    });
    const problem = engineProblem(facts, { ...this.#options, nvidia: this.#options.nvidia() });
    if (problem !== null) throw new NoEngine(problem);
    if (!this.#isSwept) {
      await this.#removeLeftovers(engine);
      this.#isSwept = true;
    }
    const hasInit = facts.kind === 'docker' || INITS.some((path) => existsSync(path));
    const isHere = address.kind === 'socket';
    // Only podman gets the filters: docker's own filter already refuses most of these calls, and docker does not accept
    // a file.
    const filters = isHere && facts.kind === 'podman' ? await writeAppFilters(this.#options.stateDir) : null;
    return { engine, facts, hasInit, filters, isHere };
  }

  /**
   * Removes containers of a former agent that was killed. Both label and name must match this agent, because an image
   * may have the label, and a container that a person starts from this image must not be removed.
   */
  async #removeLeftovers(engine: ContainerEngine): Promise<void> {
    const left = await engine.listed(`${AGENT_LABEL}=${this.agentId}`);
    for (const { name, id } of left) {
      if (!name.startsWith(CONTAINER_PREFIX)) continue;
      this.#logger.warn({ container: name }, 'container.left_over');
      await engine.remove(id);
    }
  }

  #address() {
    return findEngine(this.#options.url, isRoot(), this.#env);
  }
}

function missing(sockets: readonly string[]): EngineProblem {
  const installed = ['/usr/bin/podman', '/usr/local/bin/podman'].some((path) => existsSync(path));
  const [first = ''] = sockets;
  return {
    summary: `No container engine listens at ${sockets.join(' or ')}.`,
    mend: [
      ...(installed ? [] : ['apt-get install podman']),
      'systemctl enable --now podman.socket',
      `Without systemd: podman system service --time 0 unix://${first}`,
    ],
  };
}

function silent(why: string): EngineProblem {
  return {
    summary: `The container engine cannot be used: ${why}`,
    mend: [
      'systemctl restart podman.socket',
      'Or set SERVICE_CONTAINER_ENGINE to the socket of an engine that runs.',
    ],
  };
}

/** A limit of a container; -1: unlimited. */
interface Ulimit {
  Name: string;
  Soft: number;
  Hard: number;
}

/**
 * Limits of this process that containers get with SERVICE_CONTAINER_ULIMITS=host. They are needed if the engine's own
 * limits exceed the limits of this machine.
 */
export const hostUlimits = (): Ulimit[] =>
  ulimitsWithin(
    readFileSync('/proc/self/limits', 'utf8'),
    Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8')),
  );

/**
 * Podman lowers its own limit of processes to the kernel's limit. On a machine without CAP_SYS_RESOURCE, a container
 * cannot have a higher limit (seen with podman 4.3).
 * @param limits content of /proc/<pid>/limits. Source: proc_pid_limits(5)
 * @param pidMax the kernel's largest number of processes
 */
export function ulimitsWithin(limits: string, pidMax: number): Ulimit[] {
  const limitOf = (row: string): number[] => {
    const line = limits.split('\n').find((each) => each.startsWith(row)) ?? '';
    const fields = line.slice(row.length).trim().split(/\s+/).slice(0, 2);
    return fields.map((field) => (field === 'unlimited' ? -1 : Number(field)));
  };
  const named = (Name: string, [Soft = Number.NaN, Hard = Number.NaN]: number[]): Ulimit[] =>
    Number.isInteger(Soft) && Number.isInteger(Hard) ? [{ Name, Soft, Hard }] : [];
  const processes = limitOf('Max processes').map((limit) => (limit < 0 ? pidMax : Math.min(limit, pidMax)));
  return [...named('nofile', limitOf('Max open files')), ...named('nproc', processes)];
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
