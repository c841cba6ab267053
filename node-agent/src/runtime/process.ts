import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, delay, type Logger, type Random, within } from '@footlight/platform';
import type { AppSpec } from '@footlight/protocol/agent';
import { PRODUCT_ROOT } from '../install-location.ts';
import { makeCgroup, removeCgroupDirs, type SessionCgroup } from './cgroups.ts';
import {
  appLine,
  asSessionUser,
  baseEnvironment,
  type Confinement,
  FILTERS,
  launchEnvironment,
  userOptions,
  withEnvironment,
} from './confinement/command-line.ts';
import { LogRing } from './log-ring.ts';
import { type AppNetwork, endNamespace, openClosedNetwork } from './network/app-network.ts';
import { SocketWatch } from './network/app-sockets.ts';
import type { NetworkPool } from './network/network-pool.ts';
import {
  APP_VARIABLE,
  familyOf,
  listProcesses,
  pidNamespace,
  SESSION_VARIABLE,
  startVariable,
} from './proc-table.ts';
import { type Child, killUntilGone, notEnded, sendSignal, startChild } from './programs/child.ts';
import { runProgram } from './programs/run-program.ts';
import type { AppContext, AppExit, RunningApp, Runtime, SessionUser } from './runtime.ts';
import {
  mountOptions,
  openRoom,
  type Room,
  type Sandboxed,
  type SandboxMounts,
  startSandboxed,
} from './sandbox.ts';
import { busVariables, newBusAddress, type SessionBus, startSessionBus } from './session-bus.ts';

/**
 * Longest wait for the last output of an app that has ended. The app's own output is already in the pipe, so a short
 * wait is enough, even if another process keeps the pipe open.
 */
const DRAIN_LIMIT_MS = 200;
/** Interval of the checks for remaining processes of an app whose first process has ended. */
const PLAIN_PERIOD_MS = 200;
/** Mode of a directory that contains the homes of one person. */
export const CLOSED_WAY_MODE = 0o710;
/** Size of an app's own /tmp and of its own /var/tmp, which are in memory. Chosen with a margin, not measured. */
export const APP_TMP_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * How apps are isolated. root: namespaces, users, networks and control groups. user: an agent without root creates
 * namespaces; apps run as the agent's user in the agent's network. none: process groups only.
 */
export type Isolation = 'root' | 'user' | 'none';

export interface ProcessRuntimeOptions {
  isolation: Isolation;
  /** Directories of the agent. Apps of an agent without root must not read them. */
  ownDirs: readonly string[];
  memoryMb: number;
  pids: number;
  cpus: number;
}

interface RuntimeDeps {
  clock: Clock;
  logger: Logger;
  random: Random;
}

/**
 * Runs an app as a process of this host.
 *
 * Isolated: bwrap creates a room with its own file systems and process namespace. With a root agent, the room is in the
 * app's network and the session's IPC namespace. The session bus runs in the room. The app runs in a sandbox inside the
 * room: with a second process namespace, a seccomp filter, and (root agent) as the session's user without capabilities.
 * When the room's first process ends, the kernel kills all processes in the room. The first process ends with the
 * agent.
 *
 * Plain, if the agent is not permitted to create namespaces: the app leads a process group, and runs as the session's
 * user if the agent is root. Processes that leave the group are found by the session's variable in their environment.
 * If the agent is killed, these processes run until the agent's next start.
 */
export class ProcessRuntime implements Runtime {
  readonly #options: ProcessRuntimeOptions;
  readonly #deps: RuntimeDeps;
  readonly #networks: NetworkPool | null;

  /** @param networks null: all apps use the host's network */
  constructor(options: ProcessRuntimeOptions, deps: RuntimeDeps, networks: NetworkPool | null) {
    this.#options = options;
    this.#deps = deps;
    this.#networks = networks;
  }

  /** Fetches nothing, because the program is installed on the host. */
  async fetch(): Promise<void> {}

  async openNetwork({ network }: AppSpec): Promise<AppNetwork | null> {
    if (this.#networks === null) return null;
    return network === 'none' ? openClosedNetwork(this.#deps.clock) : this.#networks.take();
  }

  async start(app: AppSpec, context: AppContext): Promise<RunningApp> {
    const { isolation } = this.#options;
    return isolation === 'none'
      ? this.#startPlain(app, context)
      : this.#startIsolated(isolation, app, context);
  }

  async #startPlain(app: AppSpec, context: AppContext): Promise<RunningApp> {
    const { user, ready } = context;
    await ready;
    const { clock, random } = this.#deps;
    const env = appEnvironment(app, context, false);
    const log = new LogRing();
    // With a session user there is no bus: a bus refuses a user without a name, and only a mount namespace can give a
    // name to the session's user.
    const address = user === null ? newBusAddress(context.dirs.run, random) : null;
    const bus = await startSessionBus(address, clock, async (argv, options) => {
      const line = [...withEnvironment('/', env), ...argv];
      const child = await startChild(asSessionUser(null, line), options);
      return { child, pid: child.pid };
    });
    try {
      const line = appLine(context.home, { ...env, ...busVariables(address) }, app.args);
      const child = await startChild([...this.#limits(user), ...asSessionUser(user, line)], {
        env: launchEnvironment(context),
        cwd: '/',
        clock,
        onOutput: (chunk) => log.add(chunk),
      });
      return new PlainApp(child, log, context, bus, clock);
    } catch (error) {
      await bus?.stop();
      throw error;
    }
  }

  async #startIsolated(isolation: 'root' | 'user', app: AppSpec, context: AppContext): Promise<RunningApp> {
    const { network, user, instance, enter, ready } = context;
    const { clock, random } = this.#deps;
    const log = new LogRing();
    const env = appEnvironment(app, context, true);
    const cgroup = makeCgroup(instance, {
      memoryBytes: this.#options.memoryMb * 1024 * 1024,
      cpus: this.#options.cpus,
    });
    const procsFiles = cgroup?.procsFiles ?? [];
    let room: Room | null = null;
    try {
      const prefix = [...(network?.enter ?? []), ...enter];
      const mounts = isolation === 'root' ? await this.#mounts(context) : this.#mountsOfUser(context);
      const asUser = isolation === 'user' ? ['--unshare-user'] : [];
      const roomOptions = [
        ...(isolation === 'root' ? ['--cap-drop', 'ALL'] : asUser),
        ...mountOptions(mounts),
      ];
      room = await openRoom(prefix, roomOptions, launchEnvironment(context), clock);
      const inRoom = [
        ...[...prefix, 'nsenter', '--target', String(room.first)],
        ...(isolation === 'user' ? ['--user', '--preserve-credentials'] : []),
        ...['--mount', '--pid', '--'],
      ];
      const sandbox = (options: readonly string[], line: readonly string[]) => ({
        prefix: inRoom,
        options: [...asUser, '--dev-bind', '/', '/', ...options],
        command: [
          ...this.#limits(user),
          ...(user === null ? [] : ['setpriv', ...userOptions(user), '--']),
          ...line,
        ],
        filter: FILTERS[confinementOf(app)],
        procsFiles,
      });
      const address = newBusAddress(context.dirs.run, random);
      // The sandbox is made while the bus starts. The app starts when the bus listens or has failed.
      const busStarted = startSessionBus(address, clock, (argv, options) =>
        startSandboxed(sandbox([], [...withEnvironment('/', env), ...argv]), options, clock),
      );
      const line = appLine(context.home, { ...env, ...busVariables(address) }, app.args);
      const sandboxed = await startSandboxed(
        sandbox(['--unshare-pid', '--proc', '/proc'], line),
        { env: launchEnvironment(context), cwd: '/', clock, onOutput: (chunk) => log.add(chunk) },
        clock,
        Promise.all([ready, busStarted]),
      );
      if (cgroup !== null) network?.countIn(cgroup.procsFiles);
      return new IsolatedApp(sandboxed, room, log, { cgroup, network }, this.#deps);
    } catch (error) {
      // Errors of the cleanup are ignored, because the caller needs the first error.
      if (room !== null) await endNamespace(room.child, clock).catch(() => undefined);
      await network?.close().catch(() => undefined);
      await removeCgroup(cgroup, this.#deps);
      throw error;
    }
  }

  async #mounts({
    dirs,
    user,
    instance,
    network,
    displaySocket,
    home,
    overlay,
  }: AppContext): Promise<SandboxMounts> {
    // A new name per app, because a former app may still have its own file mounted.
    const passwd = join(dirs.mounts, `passwd-${instance}`);
    const group = join(dirs.mounts, `group-${instance}`);
    const file = join(dirs.mounts, `resolv-${instance}`);
    const resolvConf = network?.resolvConf ?? null;
    // bwrap must replace the target of a link. If the host has no resolv.conf, or a broken link, there is no resolver
    // to hide.
    const path = resolvConf === null ? null : await realpath('/etc/resolv.conf').catch(() => null);
    await mkdir(dirs.mounts, { recursive: true });
    await Promise.all([
      writeFile(passwd, withSessionUser('/etc/passwd', user?.uid ?? 0, `:${home}:/bin/sh`)),
      writeFile(group, withSessionUser('/etc/group', user?.gid ?? 0, '')),
      path === null ? null : writeFile(file, resolvConf ?? ''),
    ]);
    const keep = keptPaths([displaySocket, dirs.scratch, PRODUCT_ROOT]);
    return {
      tmpBytes: APP_TMP_BYTES,
      ...{ passwd, group, resolver: path === null ? null : { file, path } },
      // Other homes of the same person are in the same directory, so an empty directory is mounted over it.
      ...((await hasNeighbours(home))
        ? { covered: [dirname(home)], keep: [...keep, home] }
        : { covered: [], keep: [...keep, ...keptPaths([home])] }),
      replaced: overlay === null ? [] : [{ source: overlay, path: home }],
      devices: appDevices(readdirSync('/dev')),
      hidden: HIDDEN.filter(isDirectory),
      own: OWN.filter(isDirectory),
    };
  }

  #mountsOfUser({ dirs, displaySocket, home }: AppContext): SandboxMounts {
    const { ownDirs } = this.#options;
    return {
      tmpBytes: APP_TMP_BYTES,
      ...{ passwd: null, group: null, resolver: null, devices: null, replaced: [] },
      covered: ownDirs.filter(isDirectory),
      keep: keptPaths([displaySocket, dirs.scratch, home, PRODUCT_ROOT], [...TEMPORARY, ...ownDirs]),
      hidden: HIDDEN.filter(isDirectory),
      own: ['/var/tmp'].filter(isDirectory),
    };
  }

  /** Without namespaces, a root agent still gives each session its own user, so an app never runs as root. */
  #limits(user: SessionUser | null): string[] {
    return user === null || this.#options.pids === 0
      ? []
      : ['prlimit', `--nproc=${this.#options.pids}`, '--'];
  }
}

/**
 * Directories with data that the host stores by user id and shows to that user: journals and core files (access lists
 * of systemd), and crash reports (owned by the user). Another person's former session had the same id, so an app must
 * not see them.
 */
const HIDDEN = ['/var/log/journal', '/run/log/journal', '/var/lib/systemd/coredump', '/var/crash'];
/** Directories that every user may write to, if the host has them. */
const OWN = ['/var/tmp', '/run/lock', '/dev/mqueue'];

/** A link does not count, because it leads to a directory that the app gets anyway, for example /tmp. */
function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Device files and directories that apps use: GPUs, input, sound, file systems of AppImages, cameras. */
export function appDevices(names: readonly string[]): string[] {
  return names
    .filter((name) => /^(dri|kfd|input|snd|fuse|nvidia.*|video\d+|media\d+)$/.test(name))
    .map((name) => `/dev/${name}`);
}

/**
 * An app is not permitted to create user namespaces, because it would have every capability in them. An app with
 * `systempaths_unconfined` is permitted to, because it has its own sandbox that needs them, for example Chromium's.
 */
function confinementOf(app: AppSpec): Confinement {
  return app.systempaths_unconfined === true ? 'own_sandbox' : 'no_user_namespaces';
}

/**
 * Whether other homes of the same person may be in the same directory, which `openHome` has closed to other users.
 * Other directories may also contain programs of the host, so they are not hidden.
 */
async function hasNeighbours(home: string): Promise<boolean> {
  if (keptPaths([home]).length > 0) return false;
  const { mode, uid } = await stat(dirname(home));
  return uid === 0 && (mode & 0o7777) === CLOSED_WAY_MODE;
}

/** Directories that are private to each isolated app. */
export const TEMPORARY = ['/tmp', '/var/tmp'];

/**
 * Paths that must stay reachable, although the app gets its own copy of a directory above them. Nested paths are
 * omitted.
 */
export function keptPaths(paths: readonly string[], replaced: readonly string[] = TEMPORARY): string[] {
  const below = [...new Set(paths)].filter((path) => replaced.some((dir) => path.startsWith(`${dir}/`)));
  return below.filter((path) => !below.some((other) => other !== path && path.startsWith(`${other}/`)));
}

/**
 * The host's passwd or group file, extended by a name for the session's id, because several libraries refuse a user
 * without a name.
 */
function withSessionUser(file: string, id: number, rest: string): string {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // If the host has no such file, the result is only the added line.
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
    // Without a sound server, the address is deliberately invalid, so that the app does not find another server.
    PULSE_SERVER: context.pulseServer ?? `unix:${join(dirs.run, 'no-sound')}`,
    [SESSION_VARIABLE]: context.sessionId,
    [APP_VARIABLE]: context.instance,
  };
}

/** Common part of the apps in a room and the plain apps. */
abstract class ChildApp implements RunningApp {
  readonly exited: Promise<AppExit>;
  readonly handedOver: Promise<void>;
  protected readonly child: Child;
  protected readonly clock: Clock;
  readonly #log: LogRing;

  /**
   * @param empty called when the first process has exited with status 0; resolves when no process of the app is left
   */
  constructor(child: Child, log: LogRing, empty: () => Promise<void>, clock: Clock) {
    this.child = child;
    this.clock = clock;
    this.#log = log;
    let handOver: () => void = () => undefined;
    this.handedOver = new Promise((resolve) => {
      handOver = resolve;
    });
    this.exited = child.exited.then(async ({ code }) => {
      if (code === 0) {
        handOver();
        await empty();
      }
      // A failed app has written its reason, so its output is read completely.
      if (code !== 0) await this.readToEnd();
      return { status: code };
    });
  }

  logTail(lines?: number, maxBytes?: number): string {
    return this.#log.tail(lines, maxBytes);
  }

  abstract stop(graceMs: number): Promise<void>;

  /** After the app's exit, its last output may still be in the pipe. */
  protected async readToEnd(): Promise<void> {
    await within(this.clock, DRAIN_LIMIT_MS, this.child.drained, undefined);
  }
}

/** An app in a room. */
class IsolatedApp extends ChildApp {
  readonly #room: Room;
  /** Process 1 of the app's sandbox, and the sandbox's process namespace. */
  readonly #first: number;
  readonly #namespace: string | null;
  readonly #cgroup: SessionCgroup | null;
  readonly #network: AppNetwork | null;
  readonly #deps: RuntimeDeps;
  readonly #socketWatch: SocketWatch | null;

  constructor(
    { child, pid, empty }: Sandboxed,
    room: Room,
    log: LogRing,
    { cgroup, network }: { cgroup: SessionCgroup | null; network: AppNetwork | null },
    deps: RuntimeDeps,
  ) {
    const { clock } = deps;
    super(child, log, () => empty, clock);
    this.#deps = deps;
    this.#room = room;
    this.#first = pid;
    this.#namespace = pidNamespace(pid);
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
              void endNamespace(room.child, clock).catch(() => undefined);
            },
          });
    void this.exited.then(() => this.#socketWatch?.close());
  }

  async stop(graceMs: number): Promise<void> {
    const members = this.#members();
    if (members.length > 0) {
      for (const pid of members) sendSignal(pid, 'SIGTERM');
      await within(this.clock, graceMs, this.exited, undefined);
    }
    try {
      await endNamespace(this.#room.child, this.clock);
      // Killed directly, because nsenter waits for a process of the room, and an app of an agent without root could
      // have stopped that process.
      this.child.signal('SIGKILL');
      await this.child.exited;
    } finally {
      try {
        await this.#network?.close();
      } finally {
        await removeCgroup(this.#cgroup, this.#deps);
      }
    }
    await this.readToEnd();
  }

  /** All processes of the app except process 1 of its sandbox, which ends last. */
  #members(): number[] {
    const namespace = this.#namespace;
    if (namespace === null || !this.#room.child.alive) return [];
    return listProcesses()
      .filter(({ pid }) => pid !== this.#first && pidNamespace(pid) === namespace)
      .map(({ pid }) => pid);
  }
}

/**
 * Removes the control groups of an ended app. A group that still contains a process stays and is logged. The removal is
 * tried again when the session's resources are freed.
 */
async function removeCgroup(cgroup: SessionCgroup | null, { clock, logger }: RuntimeDeps): Promise<void> {
  let left = cgroup?.dirs ?? [];
  // Repeated, because the kernel counts a reaped process as a member for a moment.
  for (let attempt = 0; attempt < 20 && left.length > 0; attempt++) {
    if (attempt > 0) await delay(clock, 10);
    left = removeCgroupDirs(left);
  }
  if (left.length > 0) logger.warn({ cgroups: left }, 'app.cgroup_left');
}

/** An app that leads a process group. */
class PlainApp extends ChildApp {
  readonly #context: AppContext;
  readonly #bus: SessionBus | null;

  constructor(child: Child, log: LogRing, context: AppContext, bus: SessionBus | null, clock: Clock) {
    super(child, log, () => this.#untilEmpty(), clock);
    this.#context = context;
    this.#bus = bus;
  }

  async stop(graceMs: number): Promise<void> {
    const members = this.#members();
    if (members.length > 0) {
      for (const pid of members) sendSignal(pid, 'SIGTERM');
      await within(this.clock, graceMs, this.exited, undefined);
    }
    await this.#bus?.stop();
    // Also after a clean exit, because background processes may still run.
    let left: number[] = [];
    const isGone = await killUntilGone(this.clock, () => {
      left = this.#all();
      for (const pid of left) sendSignal(pid, 'SIGKILL');
      return left.length === 0 && !this.child.alive;
    });
    if (!isGone) throw notEnded(left.length === 0 ? [this.child.pid] : left);
    await this.readToEnd();
  }

  async #untilEmpty(): Promise<void> {
    // Counted twice, because the environment of a process that is just starting a program cannot be read for a moment.
    for (let empty = 0; empty < 2; ) {
      empty = this.#members().length === 0 ? empty + 1 : 0;
      if (empty < 2) await delay(this.clock, PLAIN_PERIOD_MS);
    }
  }

  /** Processes of the app, without the bus and the programs that the bus activated. */
  #members(): number[] {
    const services = new Set(this.#bus === null ? [] : familyOf(this.#bus.pid));
    return this.#all().filter((pid) => !services.has(pid));
  }

  #all(): number[] {
    const { instance } = this.#context;
    return listProcesses()
      .filter(
        (row) => row.pgrp === this.child.pid || (row.pgrp !== process.pid && isStray(row.pid, instance)),
      )
      .map((row) => row.pid);
  }
}

/** Whether a process belongs to this app, although it left the app's process group. */
function isStray(pid: number, instance: string): boolean {
  return startVariable(pid, APP_VARIABLE) === instance;
}

/** Determines how this process can isolate apps. If it cannot, the log says why. */
export async function findIsolation(logger: Pick<Logger, 'warn'>): Promise<Isolation> {
  const isRoot = process.getuid?.() === 0;
  const options = isRoot
    ? ['--bind', '/', '/', '--dev', '/dev', '--unshare-ipc']
    : ['--unshare-user', '--dev-bind', '/', '/'];
  const result = await runProgram('bwrap', [...options, '--proc', '/proc', '--unshare-pid', '--', 'true']);
  if (result.kind === 'ok') return isRoot ? 'root' : 'user';
  logger.warn({ error: result.why }, 'agent.not_isolated');
  return 'none';
}

/** Group of a device file; a session's user needs it to open the file. null: the file does not exist. */
export function deviceGroup(path: string): number | null {
  try {
    return statSync(path).gid;
  } catch {
    return null;
  }
}
