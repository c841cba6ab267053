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
/** Path of the display's cookie in the container, in a directory that the app cannot write. */
const COOKIE_PATH = '/run/footlight-xauthority';
/** Character devices of the kernel's input layer. Source: Linux, Documentation/admin-guide/devices.txt. */
const INPUT_MAJOR = 13;

/**
 * No core files: they would contain typed text and be stored on the host. With 1 byte instead of 0, the kernel does not
 * start a core handler either (fs/coredump.c).
 */
const NO_CORE = { Name: 'core', Soft: 1, Hard: 1 };

export interface ContainerLimits {
  /** 0 = no limit; also in the next two fields. */
  memoryMb: number;
  pids: number;
  cpus: number;
}

/** Facts and settings of this host that containers depend on. */
export interface ContainerHost {
  agentId: string;
  facts: Pick<EngineFacts, 'kind' | 'obeysRequests' | 'rootless'>;
  limits: ContainerLimits;
  /** Network of apps without a network setting. */
  network: 'none' | 'bridge' | 'host';
  ociRuntime: string | null;
  /** Limits of the host that containers get instead of the engine's; null: the engine's. */
  ulimits: readonly { Name: string; Soft: number; Hard: number }[] | null;
  /** Whether an init program exists, which forwards signals and reaps orphans. */
  hasInit: boolean;
  /** null: the engine's own filter of system calls. */
  filters: AppFilters | null;
  /** The agent's own user and group, for sessions that share them. */
  ownIds: { uid: number; gid: number };
  /** Directory of input devices; null: the host has none. */
  inputDevices: string | null;
  /** Directory with the 32-bit libraries of the NVIDIA driver, for apps on such a GPU; null: none is set. */
  nvidiaLib32Path: string | null;
}

/** Device of an app's GPU. */
export interface ContainerGpu {
  /** Device file with links resolved, and its group; null: none. */
  renderNode: { path: string; gid: number } | null;
  /** Name for the container device interface; null: no NVIDIA GPU. */
  cdiName: string | null;
}

export interface ContainerPlan {
  app: AppSpec;
  context: AppContext;
  image: Pick<HeldImage, 'volumes' | 'workingDir'>;
  mounts: readonly Mount[];
  /** null: the app uses none. */
  gpu: ContainerGpu | null;
}

export function containerName(instance: string): string {
  return `${CONTAINER_PREFIX}${instance}`;
}

/**
 * The container of an app, from facts about the host alone.
 *
 * An app has no capability and can gain none, runs as the session's user, and can access only its own display socket,
 * its sound and its home of the host. Its root is read-only, because an app could fill the engine's disk there; /tmp,
 * /var/tmp and volumes of the image are in memory. Health checks of the image are disabled, because they would run
 * further programs.
 * Source: Docker API 1.41, "Create a container".
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
      // Rootless podman: the agent's user owns the session's files.
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
      // The app's memory limit counts what it writes there.
      ShmSize: APP_TMP_BYTES,
      Tmpfs: Object.fromEntries(
        memory.map((path) => [path, `rw,exec,nosuid,nodev,mode=1777,size=${APP_TMP_BYTES}`]),
      ),
      // The engine keeps no log on disk; the output is read as a stream.
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      Mounts: [
        ...ownMounts(context, { runtimeDir }),
        ...homeMount(app, context, home),
        ...mounts.map(({ source, target, writable }) => bind(source, target, !writable)),
        ...(host.inputDevices === null ? [] : [bind(host.inputDevices, '/dev/input', true)]),
        ...(lib32 === null ? [] : [bind(lib32, lib32, true)]),
      ],
      // Device files of input belong to one session's user each (input/device-access.ts).
      ...(host.inputDevices === null ? {} : { DeviceCgroupRules: [`c ${INPUT_MAJOR}:* rw`] }),
      ...gpuRequests(gpu),
    },
  };
}

/**
 * Additional groups of an app: only the group of its render node. Groups that open the path to its home are needed only
 * without a container; in a container the home is mounted directly.
 */
export function groupsOf(gpu: ContainerGpu | null): number[] {
  const gid = gpu?.renderNode?.gid ?? 0;
  return gid === 0 ? [] : [gid];
}

function filterOf({ systempaths_unconfined }: AppSpec, { closed, ownSandbox }: AppFilters): string {
  return systempaths_unconfined === true ? ownSandbox : closed;
}

/** The app's variables, then the session's. */
function containerEnvironment(
  { env }: Pick<AppSpec, 'env'>,
  context: AppContext,
  { home, runtimeDir, lib32 }: { home: string; runtimeDir: string; lib32: string | null },
): Record<string, string> {
  // A name with `=` in it would override another variable.
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
    // The cleanup finds processes of a session by these.
    [SESSION_VARIABLE]: context.sessionId,
    [APP_VARIABLE]: context.instance,
  };
}

function ownMounts(context: AppContext, inside: { runtimeDir: string }): Bind[] {
  const { dirs, displaySocket } = context;
  return [
    bind(displaySocket, displaySocket, true),
    bind(dirs.xauthority, COOKIE_PATH, true),
    // With the socket of the sound server.
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
