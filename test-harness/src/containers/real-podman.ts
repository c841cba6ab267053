import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePort, PATIENCE_MS } from '../stack/program.ts';

const run = promisify(execFile);

/**
 * Why this machine cannot run the tests with real containers; null: it can. The preparation of the tests installs
 * missing programs, so the result is null on a prepared machine.
 */
export function noRealPodman(): string | null {
  if (process.getuid?.() !== 0) return 'skipped: podman of the tests needs root';
  const missing = ['podman', 'runc', 'docker-registry'].filter(
    (program) => spawnSync('which', [program]).status !== 0,
  );
  return missing.length === 0 ? null : `skipped: not installed: ${missing.join(', ')}`;
}

/** A podman with separate images and containers, and its API service. */
export interface RealPodman {
  /** Value of SERVICE_CONTAINER_ENGINE. */
  readonly url: string;
  readonly folder: string;
  /** Environment with which other programs' `podman` uses the same images. */
  readonly env: Readonly<Record<string, string>>;
  /** Value of SERVICE_CONTAINER_ULIMITS: the limits of this machine are below podman's defaults. */
  readonly ulimits: 'host';
  /**
   * Runs podman with the same images.
   * @returns its output
   */
  podman(...words: string[]): Promise<string>;
  /** Kills the service, as a crash would; containers keep running. */
  killService(): Promise<void>;
  startService(): Promise<void>;
  /** Stops the service (SIGSTOP), or continues it. */
  signalService(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Names of all containers, running or not. */
  containers(): Promise<string[]>;
  stop(): Promise<void>;
}

/**
 * Starts a `podman` that shares nothing with this machine's own `podman`: other directories, only registries on the
 * loopback interface, and the OCI runtime that this machine's control groups need.
 */
export async function startRealPodman(): Promise<RealPodman> {
  // Not below /tmp, which may be in memory: layers need a disk, and an overlay needs a file system that supports it.
  const folder = mkdtempSync('/srv/footlight-podman-');
  const place = (name: string) => path.join(folder, name);
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const limitOf = (row: string, most: string) =>
    Math.min(
      Number(new RegExp(`^${row} +(\\d+)`, 'm').exec(limits)?.[1] ?? Number.POSITIVE_INFINITY),
      Number(readFileSync(most, 'utf8')),
    );
  const files = limitOf('Max open files', '/proc/sys/fs/nr_open');
  const processes = limitOf('Max processes', '/proc/sys/kernel/pid_max');
  for (const name of ['root', 'run', 'tmp', 'networks']) mkdirSync(place(name), { mode: 0o711 });
  writeFileSync(
    place('containers.conf'),
    [
      '[containers]',
      // Podman's defaults are above what a machine without CAP_SYS_RESOURCE allows, and --ulimit host does not always
      // help.
      // Soft and hard limit, because `podman play kube` refuses a single number.
      `default_ulimits = ["nofile=${files}:${files}", "nproc=${processes}:${processes}"]`,
      '[engine]',
      'runtime = "runc"',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "file"',
      `tmp_dir = "${place('run/libpod')}"`,
      `volume_path = "${place('root/volumes')}"`,
      '[network]',
      `network_config_dir = "${place('networks')}"`,
      '',
    ].join('\n'),
  );
  writeFileSync(
    place('storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${place('root')}"\nrunroot = "${place('run')}"\n`,
  );
  writeFileSync(
    place('registries.conf'),
    'unqualified-search-registries = []\nshort-name-mode = "disabled"\n[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n',
  );
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    TMPDIR: place('tmp'),
    CONTAINERS_CONF: place('containers.conf'),
    CONTAINERS_STORAGE_CONF: place('storage.conf'),
    CONTAINERS_REGISTRIES_CONF: place('registries.conf'),
  };
  const socket = place('podman.sock');
  let service: ChildProcess | null = null;
  let output = '';
  const podman = async (...words: string[]) => {
    // The `conmon` of podman leaves a file `oom` in the directory in which it was started.
    const { stdout } = await run('podman', words, { env, cwd: folder, maxBuffer: 16 * 1024 * 1024 });
    return stdout.trim();
  };
  const engine: RealPodman = {
    url: `unix://${socket}`,
    folder,
    env,
    ulimits: 'host',
    podman,
    async killService() {
      const gone = service === null ? null : new Promise((resolve) => service?.once('exit', resolve));
      service?.kill('SIGKILL');
      await gone;
      service = null;
      rmSync(socket, { force: true });
    },
    signalService(signal) {
      service?.kill(signal);
    },
    async startService() {
      // With PDEATHSIG the kernel kills the service when the test run is killed.
      service = spawn(
        'setpriv',
        ['--pdeathsig', 'KILL', '--', 'podman', 'system', 'service', '--time', '0', engine.url],
        { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      for (const stream of [service.stdout, service.stderr])
        stream?.on('data', (chunk: Buffer) => {
          output = `${output}${chunk.toString()}`.slice(-4_000);
        });
      await eventually(
        `podman listens at ${socket}; it said: ${output}`,
        PATIENCE_MS,
        () => existsSync(socket) || null,
      );
    },
    containers: async () => {
      const names = await podman('ps', '--all', '--format', '{{.Names}}');
      return names === '' ? [] : names.split('\n');
    },
    async stop() {
      await podman('rm', '--all', '--force', '--time', '0', '--volumes').catch(() => undefined);
      await engine.killService();
      spawnSync('umount', ['--lazy', place('root/overlay')]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await engine.startService();
  return engine;
}

/** A registry of docker's reference implementation on the loopback interface. */
export interface RealRegistry {
  /** `127.0.0.1:port`, the first part of its images' names. */
  readonly name: string;
  readonly folder: string;
  /** Folder with the registry's data. */
  readonly dataFolder: string;
  /**
   * Changes a byte of every stored layer and manifest of at least 4 KiB; the files keep the old digest as their name,
   * so the digest no longer matches.
   */
  forge(): Promise<void>;
  /** Ends the program; images stay. */
  kill(): Promise<void>;
  /** Starts the program again at the same address. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** @param stored folder of an earlier registry's images, which is copied */
export async function startRealRegistry(stored?: string): Promise<RealRegistry> {
  const folder = mkdtempSync('/srv/footlight-registry-');
  const dataFolder = path.join(folder, 'data');
  if (stored !== undefined) cpSync(stored, dataFolder, { recursive: true });
  const port = await freePort();
  const name = `127.0.0.1:${port}`;
  const config = path.join(folder, 'config.yml');
  writeFileSync(
    config,
    JSON.stringify({
      version: '0.1',
      log: { level: 'error', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: dataFolder }, delete: { enabled: true } },
      http: { addr: name },
    }),
  );
  let kill: () => Promise<void> = async () => undefined;
  const registry: RealRegistry = {
    name,
    folder,
    dataFolder,
    async forge() {
      const blobs = path.join(dataFolder, 'docker/registry/v2/blobs');
      for (const entry of await readdir(blobs, { recursive: true })) {
        const file = path.join(blobs, entry);
        if (path.basename(file) !== 'data' || (await stat(file)).size < 4096) continue;
        const bytes = await readFile(file);
        const middle = Math.floor(bytes.length / 2);
        bytes[middle] = (bytes[middle] ?? 0) ^ 0xff;
        await writeFile(file, bytes);
      }
    },
    kill: () => kill(),
    async start() {
      // With PDEATHSIG the kernel kills the program when the test run is killed.
      const program = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'docker-registry', 'serve', config], {
        stdio: 'ignore',
      });
      const gone = new Promise((resolve) => program.once('exit', resolve));
      kill = async () => {
        program.kill('SIGKILL');
        await gone;
      };
      await eventually(
        'the registry answers',
        PATIENCE_MS,
        async () => (await fetch(`http://${name}/v2/`)).ok || null,
      );
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await registry.start();
  return registry;
}
