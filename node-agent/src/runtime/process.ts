import { readFileSync, statSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Clock, delay, within } from '@footlight/platform';
import type { AppSpec } from '@footlight/protocol/agent';
import { PRODUCT_ROOT } from '../install-location.ts';
import { makeCgroup, removeCgroupDirs, type SessionCgroup } from './cgroups.ts';
import {
  appLine,
  baseEnvironment,
  type Confinement,
  environmentInput,
  hostProgram,
  launchEnvironment,
  userOptions,
} from './confinement/command-line.ts';
import { LogRing } from './log-ring.ts';
import { type AppNetwork, endNamespace, openClosedNetwork } from './network/app-network.ts';
import { SocketWatch } from './network/app-sockets.ts';
import type { NetworkPool } from './network/network-pool.ts';
import { APP_VARIABLE, listProcesses, pidNamespace, SESSION_VARIABLE, startVariable } from './proc-table.ts';
import { type Child, killUntilGone, sendSignal, startChild } from './programs/child.ts';
import type { AppContext, AppExit, RunningApp, Runtime, SessionUser } from './runtime.ts';

/**
 * Wait for the last output of an app that has ended. A process that it left behind may hold the pipe; what an
 * ended app wrote is in the pipe already, so any short wait works.
 */
const DRAIN_LIMIT_MS = 200;
/** Mode of a directory with homes of one person. */
export const CLOSED_WAY_MODE = 0o710;
/** The app's own /tmp and /var/tmp, each of this size, which is memory. Chosen with room, not measured. */
export const APP_TMP_BYTES = 2 * 1024 * 1024 * 1024;

export interface ProcessRuntimeOptions {
  /** Process and mount namespaces and control groups for each app; false = process groups only. */
  isolated: boolean;
  memoryMb: number;
  pids: number;
  cpus: number;
}

/**
 * Runs an app as a process of this host.
 *
 * Isolated (the agent is root): agent → nsenter (the app's network) → nsenter (the session's IPC) → setpriv
 * (parent-death signal) → unshare → enter-session.sh as process 1 of a process namespace → prlimit → setpriv (the
 * session's user, no capability) → run-app.pl → app and session bus. Killing process 1 ends the namespace: the kernel
 * kills every process in it, daemons included. The agent's death kills unshare, whose death kills process 1.
 *
 * Plain: agent → guard-session.sh as leader of a process group → (as root: prlimit → setpriv, the session's user) →
 * run-app.pl → app, and without root the session bus. Processes that leave the group are found by the session's
 * variable in their environment.
 */
export class ProcessRuntime implements Runtime {
  readonly #options: ProcessRuntimeOptions;
  readonly #clock: Clock;
  readonly #networks: NetworkPool | null;

  /** @param networks null: apps use the host's network */
  constructor(options: ProcessRuntimeOptions, clock: Clock, networks: NetworkPool | null) {
    this.#options = options;
    this.#clock = clock;
    this.#networks = networks;
  }

  /** A process is installed on the host. */
  async fetch(): Promise<void> {}

  async openNetwork({ network }: AppSpec): Promise<AppNetwork | null> {
    if (this.#networks === null) return null;
    return network === 'none' ? openClosedNetwork(this.#clock) : this.#networks.take();
  }

  async start(app: AppSpec, context: AppContext): Promise<RunningApp> {
    const confinement = confinementOf(app, context.user);
    const env = launchEnvironment(context);
    const input = environmentInput(appEnvironment(app, context, this.#options.isolated));
    const withBus = appLine(hostProgram('dbus-daemon'), confinement, app.args);
    const log = new LogRing();
    const handOver = new HandOver();
    if (!this.#options.isolated) {
      // A bus refuses a user without a name, and only a mount namespace can give the session's user one.
      const command = context.user === null ? withBus : appLine('', confinement, app.args);
      const argv = [
        ...['/bin/sh', scriptPath('guard-session.sh'), context.instance],
        ...this.#asUser(context.user, inHome(context, command)),
      ];
      const child = await startChild(argv, {
        env,
        input,
        cwd: '/',
        lifeline: true,
        clock: this.#clock,
        onOutput: (chunk) => log.add(chunk),
        onReport: handOver.confirm,
      });
      return new PlainApp(child, log, handOver, context, this.#clock);
    }
    const cgroup = makeCgroup(context.instance, {
      memoryBytes: this.#options.memoryMb * 1024 * 1024,
      cpus: this.#options.cpus,
    });
    try {
      const argv = await this.#isolatedLine(context, cgroup, withBus);
      const onOutput = (chunk: Buffer) => log.add(chunk);
      const child = await startChild(argv, {
        ...{ env, input, cwd: '/' },
        ...{ clock: this.#clock, onOutput, onReport: handOver.confirm },
      });
      const { network } = context;
      if (cgroup !== null) network?.countIn(cgroup.procsFiles);
      return new IsolatedApp(child, log, handOver, { cgroup, network }, this.#clock);
    } catch (error) {
      removeCgroupDirs(cgroup?.dirs ?? []);
      await context.network?.close();
      throw error;
    }
  }

  async #isolatedLine(
    context: AppContext,
    cgroup: SessionCgroup | null,
    command: readonly string[],
  ): Promise<string[]> {
    const { dirs, user, instance, enter, network } = context;
    const staging = join(dirs.mounts, 'own');
    // A former app may still have its own file mounted.
    const passwd = join(dirs.mounts, `passwd-${instance}`);
    const group = join(dirs.mounts, `group-${instance}`);
    const resolver = join(dirs.mounts, `resolv-${instance}`);
    const resolvConf = network?.resolvConf ?? null;
    await mkdir(staging, { recursive: true });
    await Promise.all([
      writeFile(passwd, withSessionUser('/etc/passwd', user?.uid ?? 0, `:${context.home}:/bin/sh`)),
      writeFile(group, withSessionUser('/etc/group', user?.gid ?? 0, '')),
      resolvConf === null ? null : writeFile(resolver, resolvConf),
    ]);
    const keep = keptPaths([context.displaySocket, dirs.scratch, context.home, PRODUCT_ROOT]);
    return [
      ...(network?.enter ?? []),
      ...enter,
      ...['setpriv', '--pdeathsig', 'KILL', '--'],
      ...['unshare', '--pid', '--fork', '--kill-child', '--mount', '--mount-proc', '--'],
      ...['/bin/sh', scriptPath('enter-session.sh'), staging, String(APP_TMP_BYTES), passwd, group],
      ...(cgroup?.procsFiles ?? []).flatMap((file) => ['--join', file]),
      ...keep.flatMap((path) => ['--keep', path]),
      ...((await hasNeighbours(context.home)) ? ['--only-home', context.home] : []),
      ...(resolvConf === null ? [] : ['--resolver', resolver]),
      '--',
      ...this.#asUser(user, inHome(context, command)),
    ];
  }

  /**
   * The command with the session's user and limits. Root without the right to make namespaces (in a container or
   * chroot) still has a user for each session: an app never runs as root.
   */
  #asUser(user: SessionUser | null, command: readonly string[]): string[] {
    if (user === null) return [...command];
    const limits = this.#options.pids > 0 ? ['prlimit', `--nproc=${this.#options.pids}`, '--'] : [];
    return [...limits, 'setpriv', ...userOptions(user), '--', ...command];
  }
}

/**
 * An app with its own user makes no user namespaces, which would give it every capability. An app with
 * `systempaths_unconfined` has a sandbox that needs them, such as Chromium's.
 */
function confinementOf(app: AppSpec, user: SessionUser | null): Confinement {
  if (user === null) return 'none';
  return app.systempaths_unconfined === true ? 'own_sandbox' : 'no_user_namespaces';
}

/**
 * The command in the app's home, entered as the session's user: the agent's root may be unable to enter, and a former
 * app of the session may have placed a link.
 */
function inHome({ home }: AppContext, command: readonly string[]): string[] {
  return ['env', '--chdir', home, ...command];
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/**
 * Whether homes of the same person may lie beside this one, in a directory that `openHome` closed. Elsewhere what lies
 * beside it may be no home, such as a program of the host.
 */
async function hasNeighbours(home: string): Promise<boolean> {
  if (keptPaths([home]).length > 0) return false;
  const { mode, uid } = await stat(dirname(home));
  return uid === 0 && (mode & 0o7777) === CLOSED_WAY_MODE;
}

/** Paths below /tmp and /var/tmp that must stay reachable; nested ones are omitted. */
export function keptPaths(paths: readonly string[]): string[] {
  const below = [...new Set(paths)].filter(
    (path) => path.startsWith('/tmp/') || path.startsWith('/var/tmp/'),
  );
  return below.filter((path) => !below.some((other) => other !== path && path.startsWith(`${other}/`)));
}

/**
 * The host's passwd or group file with a name for the session's id, because several libraries refuse a user without a
 * name.
 */
function withSessionUser(file: string, id: number, rest: string): string {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // A host without the file gets only the one line.
  }
  const fields = rest === '' ? `footlight:x:${id}:` : `footlight:x:${id}:${id}:Footlight session${rest}`;
  return `${text.endsWith('\n') || text === '' ? text : `${text}\n`}${fields}\n`;
}

/**
 * The app's environment: the base, then the app's variables, then the session's. HOME, TMPDIR and XDG_RUNTIME_DIR
 * always point into the session.
 */
export function appEnvironment(
  app: Pick<AppSpec, 'env'>,
  context: AppContext,
  isolated: boolean,
): Record<string, string> {
  const { dirs } = context;
  return {
    ...baseEnvironment(process.env),
    USER: 'footlight',
    LOGNAME: 'footlight',
    SHELL: '/bin/bash',
    ...app.env,
    HOME: context.home,
    TMPDIR: isolated ? '/tmp' : dirs.tmp,
    XDG_RUNTIME_DIR: dirs.run,
    XDG_SESSION_TYPE: 'x11',
    DISPLAY: context.display,
    XAUTHORITY: dirs.xauthority,
    // Without a sound server the address is deliberately invalid, so that the app finds no other server.
    PULSE_SERVER: context.pulseServer ?? `unix:${join(dirs.run, 'no-sound')}`,
    [SESSION_VARIABLE]: context.sessionId,
    [APP_VARIABLE]: context.instance,
  };
}

/** Detects that an app's first process exited with status 0: run-app.pl then writes to its pipe. */
class HandOver {
  confirm: () => void = () => undefined;
  readonly happened = new Promise<void>((resolve) => {
    this.confirm = resolve;
  });
}

/** Common part of both kinds of app: a first child, and its last output. */
abstract class ChildApp implements RunningApp {
  readonly exited: Promise<AppExit>;
  readonly handedOver: Promise<void>;
  protected readonly child: Child;
  protected readonly clock: Clock;
  readonly #log: LogRing;

  constructor(child: Child, log: LogRing, handOver: HandOver, clock: Clock) {
    this.handedOver = handOver.happened;
    this.child = child;
    this.clock = clock;
    this.#log = log;
    this.exited = child.exited.then(async ({ code }) => {
      // A failed app has written its reason.
      if (code !== 0) await this.readToEnd();
      return { status: code };
    });
  }

  logTail(lines?: number, maxBytes?: number): string {
    return this.#log.tail(lines, maxBytes);
  }

  abstract stop(graceMs: number): Promise<void>;

  /** Its last output may still be in the pipe after its exit. */
  protected async readToEnd(): Promise<void> {
    await within(this.clock, DRAIN_LIMIT_MS, this.child.drained, undefined);
  }
}

/** An app in its own process namespace. */
class IsolatedApp extends ChildApp {
  readonly #cgroup: SessionCgroup | null;
  readonly #network: AppNetwork | null;
  readonly #socketWatch: SocketWatch | null;

  constructor(
    child: Child,
    log: LogRing,
    handOver: HandOver,
    { cgroup, network }: { cgroup: SessionCgroup | null; network: AppNetwork | null },
    clock: Clock,
  ) {
    super(child, log, handOver, clock);
    this.#cgroup = cgroup;
    this.#network = network;
    this.#socketWatch =
      network === null
        ? null
        : new SocketWatch({
            clock,
            read: () => network.socketUse(),
            onExcess: (why) => {
              log.add(Buffer.from(`\nFootlight ended this app: ${why}\n`));
              void endNamespace(child, clock).catch(() => undefined);
            },
          });
    void child.exited.then(() => this.#socketWatch?.close());
  }

  async stop(graceMs: number): Promise<void> {
    if (this.child.alive) {
      for (const pid of this.#members()) sendSignal(pid, 'SIGTERM');
      await Promise.race([this.child.exited, delay(this.clock, graceMs)]);
    }
    try {
      await endNamespace(this.child, this.clock);
    } finally {
      await this.#network?.close();
    }
    await Promise.all([this.#removeCgroup(), this.readToEnd()]);
  }

  /** Every process in the namespace except process 1, which ends with the app. */
  #members(): number[] {
    const rows = listProcesses();
    const first = rows.find((row) => row.ppid === this.child.pid);
    const namespace = first ? pidNamespace(first.pid) : null;
    if (!first || namespace === null || namespace === pidNamespace(process.pid)) return [];
    return rows.filter((row) => row !== first && pidNamespace(row.pid) === namespace).map((row) => row.pid);
  }

  async #removeCgroup(): Promise<void> {
    let left = this.#cgroup?.dirs ?? [];
    // The kernel counts a reaped process as a member for a moment.
    for (let attempt = 0; attempt < 20; attempt++) {
      left = removeCgroupDirs(left);
      if (left.length === 0) return;
      await delay(this.clock, 10);
    }
  }
}

/** An app as leader of a process group. */
class PlainApp extends ChildApp {
  readonly #context: AppContext;

  constructor(child: Child, log: LogRing, handOver: HandOver, context: AppContext, clock: Clock) {
    super(child, log, handOver, clock);
    this.#context = context;
  }

  async stop(graceMs: number): Promise<void> {
    if (this.child.alive) {
      for (const pid of this.#members()) if (pid !== this.child.pid) sendSignal(pid, 'SIGTERM');
      await Promise.race([this.child.exited, delay(this.clock, graceMs)]);
    }
    // Also after a clean exit: the guard's watcher and background processes still exist.
    const isGone = await killUntilGone(this.clock, () => {
      const members = this.#members();
      for (const pid of members) sendSignal(pid, 'SIGKILL');
      return members.length === 0 && !this.child.alive;
    });
    if (!isGone) throw new Error('the app does not end');
    await this.readToEnd();
  }

  #members(): number[] {
    const { instance } = this.#context;
    return listProcesses()
      .filter(
        (row) => row.pgrp === this.child.pid || (row.pgrp !== process.pid && isStray(row.pid, instance)),
      )
      .map((row) => row.pid);
  }
}

/** A process of this app that left its group. */
function isStray(pid: number, instance: string): boolean {
  return startVariable(pid, APP_VARIABLE) === instance;
}

/** Whether this process may make the namespaces for isolation. */
export async function canIsolate(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  try {
    const child = await startChild(
      ['unshare', '--ipc', '--pid', '--fork', '--kill-child', '--mount', '--mount-proc', '--', 'true'],
      { env: baseEnvironment(process.env) },
    );
    return (await child.exited).code === 0;
  } catch {
    return false;
  }
}

/** Group of a device file, so that a session's user may open it; null without the file. */
export function deviceGroup(path: string): number | null {
  try {
    return statSync(path).gid;
  } catch {
    return null;
  }
}
