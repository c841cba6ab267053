import { join } from 'node:path';
import type { AppSpec } from '@footlight/protocol/agent';
import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import { APP_VARIABLE, SESSION_VARIABLE } from '../proc-table.ts';
import { APP_TMP_BYTES } from '../process.ts';
import type { AppContext } from '../runtime.ts';
import type { AppFilters } from './engine/app-filter-files.ts';
import type { ContainerOptions, HeldImage } from './engine/engine.ts';
import type { EngineFacts } from './engine/engine-facts.ts';
import { AGENT_LABEL, CONTAINER_PREFIX } from './engine/engine-names.ts';
import type { Mount } from './mount-policy.ts';

const SESSION_LABEL = 'footlight.session';
/** Path of the display's cookie in the container. The app cannot write to the path's directory. */
const COOKIE_PATH = '/run/footlight-xauthority';
/** Major number of the kernel's input devices. Source: Linux, Documentation/admin-guide/devices.txt. */
const INPUT_MAJOR = 13;

/**
 * Forbids core files, because they would contain typed text and be stored on the host. With a limit of 1 byte instead
 * of 0, the kernel does not start a crash handler either (fs/coredump.c).
 */
const NO_CORE = { Name: 'core', Soft: 1, Hard: 1 };

export interface ContainerLimits {
  /** 0: no limit; the same in the next two fields. */
  memoryMb: number;
  pids: number;
  cpus: number;
}

/** Facts and settings of this host that containers depend on. */
export interface ContainerHost {
  agentId: string;
  facts: Pick<EngineFacts, 'kind' | 'obeysRequests' | 'rootless'>;
  limits: ContainerLimits;
  /** Network of apps that do not select one. */
  network: 'none' | 'bridge' | 'host';
  ociRuntime: string | null;
  /**
   * Limits of the host that containers get instead of the engine's limits; null: containers get the engine's limits.
   */
  ulimits: readonly { Name: string; Soft: number; Hard: number }[] | null;
  /** Whether an init program is installed, which forwards signals and reaps orphaned processes. */
  hasInit: boolean;
  /** null: the engine's own system call filter is used. */
  filters: AppFilters | null;
  /** The agent's own user and group, for sessions that run as this user. */
  ownIds: { uid: number; gid: number };
  /** Directory of input devices; null: the host has no input devices. */
  inputDevices: string | null;
  /** Directory with the 32-bit libraries of the NVIDIA driver, for apps on such a GPU; null: none is set. */
  nvidiaLib32Path: string | null;
}

/** Device of an app's GPU. */
export interface ContainerGpu {
  /** Device file with links resolved, and its group; null: the GPU has no render node. */
  renderNode: { path: string; gid: number } | null;
  /** Name in the container device interface (CDI); null: not an NVIDIA GPU. */
  cdiName: string | null;
}

export interface ContainerPlan {
  app: AppSpec;
  context: AppContext;
  image: Pick<HeldImage, 'volumes' | 'workingDir'>;
  mounts: readonly Mount[];
  /** null: the app uses no GPU. */
  gpu: ContainerGpu | null;
}

export function containerName(instance: string): string {
  return `${CONTAINER_PREFIX}${instance}`;
}

/**
 * Options of an app's container, computed from facts about the host.
 *
 * An app has no capabilities and cannot gain any, and runs as the session's user. Of the host's files, it can access
 * only its display socket, its sound socket and its home. Its root is read-only, because the app could otherwise fill
 * the engine's disk; /tmp, /var/tmp and volumes of the image are in memory. Health checks of the image are disabled,
 * because they would run further programs. Source: Docker API 1.41, "Create a container".
 */
export function containerOptions(plan: ContainerPlan, host: ContainerHost): ContainerOptions {
  const { app, context, image, mounts, gpu } = plan;
  const { limits, facts } = host;
  const user = context.user ?? { ...host.ownIds, groups: [] };
  const home = app.home?.container_path ?? DEFAULT_HOME_PATH;
  const runtimeDir = `/run/user/${user.uid}`;
  const taken = new Set([home, ...mounts.map(({ target }) => target)]);
  const memory = ['/tmp', '/var/tmp', ...image.volumes].filter((path) => !taken.has(path));
  // The container device interface usually brings only the 64-bit libraries, and many games are 32-bit programs.
  const lib32 = gpu === null || gpu.cdiName === null ? null : host.nvidiaLib32Path;
  const memoryBytes = limits.memoryMb * 1024 * 1024;
  return {
    name: containerName(context.instance),
    Image: app.image,
    ...(app.args.length > 0 ? { Cmd: app.args } : {}),
    Env: Object.entries(containerEnvironment(app, context, { home, runtimeDir, lib32 })).map((entry) =>
      entry.join('='),
    ),
    User: `${user.uid}:${user.gid}`,
    ...(image.workingDir === '' ? { WorkingDir: home } : {}),
    Hostname: 'footlight',
    Labels: { [AGENT_LABEL]: host.agentId, [SESSION_LABEL]: context.sessionId },
    AttachStdin: false,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: false,
    Tty: false,
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: [
        'no-new-privileges',
        ...(host.filters === null ? [] : [`seccomp=${filterOf(app, host.filters)}`]),
        ...(app.systempaths_unconfined === true && facts.kind === 'podman' ? ['unmask=ALL'] : []),
      ],
      ...(app.systempaths_unconfined === true && facts.kind === 'docker'
        ? { MaskedPaths: [], ReadonlyPaths: [] }
        : {}),
      ReadonlyRootfs: true,
      NetworkMode: app.network ?? host.network,
      IpcMode: 'private',
      // Maps the agent's user to the same id, because with rootless podman the agent's user owns the session's files.
      ...(context.user === null && facts.rootless && facts.kind === 'podman'
        ? { UsernsMode: 'keep-id' }
        : {}),
      GroupAdd: groupsOf(gpu).map(String),
      Init: host.hasInit,
      ...(host.ociRuntime !== null && facts.obeysRequests ? { Runtime: host.ociRuntime } : {}),
      Ulimits: [NO_CORE, ...(host.ulimits ?? [])],
      ...(memoryBytes > 0 ? { Memory: memoryBytes, MemorySwap: memoryBytes } : {}),
      ...(limits.cpus > 0 ? { NanoCpus: Math.round(limits.cpus * 1e9) } : {}),
      ...(limits.pids > 0 ? { PidsLimit: limits.pids } : {}),
      OomScoreAdj: 500,
      // Data in these directories counts towards the app's memory limit.
      ShmSize: APP_TMP_BYTES,
      Tmpfs: Object.fromEntries(
        memory.map((path) => [path, `rw,exec,nosuid,nodev,mode=1777,size=${APP_TMP_BYTES}`]),
      ),
      // The engine stores no log on disk, because the agent reads the output as a stream.
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      Mounts: [
        ...ownMounts(context, { runtimeDir }),
        ...homeMount(app, context, home),
        ...mounts.map(({ source, target, writable }) => bind(source, target, !writable)),
        ...(host.inputDevices === null ? [] : [bind(host.inputDevices, '/dev/input', true)]),
        ...(lib32 === null ? [] : [bind(lib32, lib32, true)]),
      ],
      // Allows all input devices. Each device file belongs to one session's user (input/device-access.ts), so an app
      // can open only its own.
      ...(host.inputDevices === null ? {} : { DeviceCgroupRules: [`c ${INPUT_MAJOR}:* rw`] }),
      ...gpuRequests(gpu),
    },
  };
}

/**
 * Additional groups of an app in a container: only the group of its render node. The groups that allow access to the
 * path of its home are not needed, because the home is mounted directly.
 */
export function groupsOf(gpu: ContainerGpu | null): number[] {
  const gid = gpu?.renderNode?.gid ?? 0;
  return gid === 0 ? [] : [gid];
}

function filterOf({ systempaths_unconfined }: AppSpec, { closed, ownSandbox }: AppFilters): string {
  return systempaths_unconfined === true ? ownSandbox : closed;
}

/** Environment of the container: the app's variables, then the session's. */
function containerEnvironment(
  { env }: Pick<AppSpec, 'env'>,
  context: AppContext,
  { home, runtimeDir, lib32 }: { home: string; runtimeDir: string; lib32: string | null },
): Record<string, string> {
  // A name that contains `=` would override another variable.
  const own = Object.entries(env).filter(([name]) => name !== '' && !name.includes('='));
  return {
    ...Object.fromEntries(own),
    ...(lib32 !== null && {
      LD_LIBRARY_PATH: env.LD_LIBRARY_PATH ? `${lib32}:${env.LD_LIBRARY_PATH}` : lib32,
    }),
    HOME: home,
    TMPDIR: '/tmp',
    XDG_RUNTIME_DIR: runtimeDir,
    XDG_SESSION_TYPE: 'x11',
    DISPLAY: context.display,
    XAUTHORITY: COOKIE_PATH,
    PULSE_SERVER: `unix:${join(runtimeDir, context.pulseServer === null ? 'no-sound' : 'pulse.sock')}`,
    // Cleanup finds the processes of a session by these variables.
    [SESSION_VARIABLE]: context.sessionId,
    [APP_VARIABLE]: context.instance,
  };
}

function ownMounts(context: AppContext, inside: { runtimeDir: string }): Bind[] {
  const { dirs, displaySocket } = context;
  return [
    bind(displaySocket, displaySocket, true),
    bind(dirs.xauthority, COOKIE_PATH, true),
    // Contains the socket of the sound server.
    bind(dirs.run, inside.runtimeDir, false),
  ];
}

function homeMount({ home }: AppSpec, context: AppContext, target: string): (Bind | Volume)[] {
  if (home?.provider !== 'volume') return [bind(context.home, target, false)];
  return [{ Type: 'volume', Source: home.ref, Target: target, ReadOnly: false }];
}

type Bind = ReturnType<typeof bind>;
interface Volume {
  Type: 'volume';
  Source: string;
  Target: string;
  ReadOnly: boolean;
}

function bind(source: string, target: string, readOnly: boolean) {
  return { Type: 'bind' as const, Source: source, Target: target, ReadOnly: readOnly };
}

function gpuRequests(gpu: ContainerGpu | null) {
  if (gpu === null) return {};
  const { renderNode, cdiName } = gpu;
  const path = renderNode?.path;
  return {
    ...(path === undefined
      ? {}
      : { Devices: [{ PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rw' }] }),
    ...(cdiName === null ? {} : { DeviceRequests: [{ Driver: 'cdi', DeviceIDs: [cdiName] }] }),
  };
}
