import { mkdir } from 'node:fs/promises';
import type { Clock, Logger, Random, Timer } from '@footlight/platform';
import { errorText, within } from '@footlight/platform';
import type { ConfigUpdate, ControlCommand, Register, Registered } from '@footlight/protocol/agent';
import type { AgentConfig } from './config/environment.ts';
import { HostSettings } from './config/host-settings.ts';
import { ConnectorWatch } from './console/connector-watch.ts';
import { type Displays, linuxDisplays } from './console/displays.ts';
import { type ConsoleScreens, HostConsole } from './console/host-console.ts';
import { westonScreens } from './console/weston.ts';
import { type HealthServer, serveHealth } from './health/server.ts';
import { HostImages } from './images/host-images.ts';
import { AgentJobs } from './jobs/agent-jobs.ts';
import { LibraryScanner } from './library/library-scanner.ts';
import type { Verdict } from './link/ack-store.ts';
import { ControlLink, type LinkHandler } from './link/control-link.ts';
import { IdentityStore } from './link/identity.ts';
import { createEncoderWarmUp, type WarmUpHost } from './media/warm-up/encoder-warm-up.ts';
import { createMediaWorkerPool, type MediaWorkerPool } from './media/worker/worker-pool.ts';
import { withPatience } from './patience.ts';
import { storageMoved } from './probe/storage-report.ts';
import { closedAncestor } from './readiness/facts.ts';
import { Inventory } from './readiness/inventory.ts';
import { FlightRecorder } from './recorder/flight-recorder.ts';
import { RecordingFiles } from './recorder/recording-files.ts';
import { writeRecording } from './recorder/recording-writer.ts';
import { enterServiceGroup } from './runtime/cgroups.ts';
import { type AgentContainers, agentContainers } from './runtime/container/agent-containers.ts';
import { AppRuntimes } from './runtime/container/app-runtimes.ts';
import { FIRST_LOOK_MS } from './runtime/container/engine/engine-host.ts';
import { networkNamespaceProblem } from './runtime/network/app-network.ts';
import { NetworkPool } from './runtime/network/network-pool.ts';
import { removeOwnedFiles } from './runtime/owned-files.ts';
import { canIsolate, ProcessRuntime } from './runtime/process.ts';
import { gcCalls } from './sessions/home/collection/gc-calls.ts';
import { HomeCollection } from './sessions/home/collection/home-collection.ts';
import { HomeLocks } from './sessions/home/home-locks.ts';
import { takeUserAndHomes } from './sessions/home/user-and-homes.ts';
import { TraceEvents } from './sessions/reports/trace-events.ts';
import { removeLeftovers } from './sessions/resources/leftovers.ts';
import { Quarantine } from './sessions/resources/quarantine.ts';
import { STATE_DIR_BYTES } from './sessions/resources/record.ts';
import { UidPool } from './sessions/resources/uid-pool.ts';
import { UidSweep } from './sessions/resources/uid-sweep.ts';
import { type LaunchContext, Supervisor, unknownCommand } from './sessions/supervisor.ts';
import { AGENT_VERSION } from './version.ts';

/** A change of storage is reported within a minute. */
const STORAGE_CHECK_MS = 60_000;
/** Once a heartbeat, which carries the newest sample. */
const GPU_SAMPLE_MS = 5_000;
/** Time for sessions to end at a shutdown. */
const SHUTDOWN_MS = withPatience(8_000);
/**
 * Time at a shutdown for the last reports to leave; what does not leave is told by the next start as lost
 * sessions. Time at a start for what the former process reported of its jobs.
 */
const FLUSH_MS = 2_000;
const OK: Verdict = { ok: true };

export interface AgentDeps {
  clock: Clock;
  /** Default: the displays of this machine. */
  displays?: Displays;
  /** Default: weston on this machine. */
  screens?: ConsoleScreens;
  /** Removes what a session's user left on this machine. Default: wherever every user may write. */
  removeOwned?: typeof removeOwnedFiles;
  random: Random;
  logger: Logger;
}

/**
 * The agent process: connects link, inventory, supervisor and health page.
 *
 * Start order: cleanup after a killed agent, hardware probe, warm media worker and prefetched network, first
 * connection. Stop order: sessions, reports, link, warm worker and prefetched network, health.
 */
export class Agent {
  readonly #config: AgentConfig;
  readonly #deps: AgentDeps;
  readonly #settings: HostSettings;
  readonly #inventory: Inventory;
  readonly #displays: ConnectorWatch;
  readonly #console: HostConsole;
  readonly #workers: MediaWorkerPool;
  /** Starts workers for the warm-up alone, and keeps none ready. */
  readonly #warmUps: MediaWorkerPool;
  readonly #networks: NetworkPool | null;
  readonly #quarantine: Quarantine;
  readonly #sweep: UidSweep;
  readonly #recorder: FlightRecorder;
  readonly #collection: HomeCollection;
  readonly #supervisor: Supervisor;
  readonly #containers: AgentContainers;
  readonly #link: ControlLink;
  readonly #jobs: AgentJobs;
  readonly #library: LibraryScanner;
  #health: HealthServer | null = null;
  #images: HostImages | null = null;
  #timers: Timer[] = [];
  #reportedStorage: Awaited<ReturnType<Inventory['storage']>> = [];
  #stopping: Promise<void> | null = null;
  #requestRestart: () => void = () => undefined;
  /** Settles when the control plane requested a restart. */
  readonly restartRequested: Promise<void>;

  private constructor(
    config: AgentConfig,
    deps: AgentDeps,
    found: {
      isolated: boolean;
      /** null: apps use the host's network. */
      networks: NetworkPool | null;
      workers: MediaWorkerPool;
      warmUps: MediaWorkerPool;
      settings: HostSettings;
      screens: ConsoleScreens;
      homes: HomeLocks;
      uids: UidPool | null;
      quarantine: Quarantine;
      sweep: UidSweep;
      containers: AgentContainers;
    },
  ) {
    const { isolated, networks, settings, screens, homes, uids, quarantine, sweep, containers } = found;
    const { workers, warmUps } = found;
    this.#containers = containers;
    this.#config = config;
    this.#deps = deps;
    this.#workers = workers;
    this.#warmUps = warmUps;
    this.#networks = networks;
    this.#quarantine = quarantine;
    this.#sweep = sweep;
    this.#settings = settings;
    this.#inventory = new Inventory(config, {
      ...deps,
      isolated,
      networks: networks !== null,
      settings,
      engine: containers.engine,
      homeProblems: () => this.#collection.problems.map(({ why }) => why),
    });
    this.restartRequested = new Promise((resolve) => {
      this.#requestRestart = resolve;
    });
    this.#link = new ControlLink(
      { ...config, bootId: deps.random.uuid(), agentVersion: AGENT_VERSION },
      { ...deps, identity: new IdentityStore(config.stateDir, deps.random), handler: this.#handler() },
    );
    this.#jobs = new AgentJobs({ ...deps, stateDir: config.stateDir, call: (call) => this.#link.call(call) });
    this.#library = new LibraryScanner({ ...deps, call: (call) => this.#link.call(call) });
    const displays = deps.displays ?? linuxDisplays();
    this.#console = new HostConsole(displays, screens);
    this.#displays = new ConnectorWatch({
      displays,
      clock: deps.clock,
      changed: () => this.#report(),
    });
    const { clock, logger } = deps;
    this.#recorder = new FlightRecorder({
      clock,
      logger,
      report: (sessionId, event) =>
        new TraceEvents(sessionId, this.#link, clock).send('session.recording', { ...event }),
      files: new RecordingFiles({ stateDir: config.stateDir, logger, nowMs: () => clock.nowMs() }),
      write: (recording) => writeRecording(recording, { clock }),
      upload: (id, { file, bytes }) =>
        this.#link.putFile({
          path: `/v1/agent/recordings/${id}`,
          mediaType: 'video/mp4',
          bytes,
          body: file.createReadStream({ autoClose: false, end: bytes - 1 }),
        }),
    });
    this.#collection = new HomeCollection(
      {
        stateDir: config.stateDir,
        root: () => ({ path: this.#inventory.homeRoot, isOwn: this.#inventory.ownsHomeRoot }),
        isSessionsGroup: (gid) => uids?.contains(gid) ?? false,
      },
      {
        ...deps,
        locks: homes,
        control: gcCalls((call) => this.#link.call(call)),
        volumes: {
          ready: async () => void (await containers.engine.engine()),
          remove: (ref) => containers.volumes.remove(ref),
        },
        changed: () => this.#report(),
      },
    );
    this.#jobs.register('home.gc', {
      run: async ({ signal }) => ({
        state: 'succeeded',
        summary: { ...(await this.#collection.run(signal)) },
      }),
    });
    this.#jobs.register(
      'template.warmup',
      createEncoderWarmUp({ clock, logger, workers: warmUps, host: () => this.#warmUpHost() }),
    );
    this.#supervisor = new Supervisor(
      {
        orphanSecs: config.orphanSecs,
        context: () => this.#launchContext(),
        console: this.#console,
        containers: containers.admission,
      },
      {
        ...deps,
        link: this.#link,
        workers,
        runtime: new AppRuntimes({
          process: new ProcessRuntime(
            { isolated, memoryMb: config.appMemoryMb, pids: config.appPids, cpus: config.appCpus },
            deps.clock,
            networks,
          ),
          container: containers.runtime,
        }),
        homes,
        volumes: containers.volumes,
        uids,
        recorder: this.#recorder,
        helpersWithoutNetwork: networks !== null,
        quarantine,
        sweep,
        stateDir: config.stateDir,
      },
    );
  }

  /**
   * Starts all parts; returns when the first connection attempt runs.
   * @throws when the state directory is unusable, the health address is taken, or the host is not enrolled
   */
  static async start(config: AgentConfig, deps: AgentDeps): Promise<Agent> {
    // Users of sessions pass through it to their homes; its files belong to the agent.
    await mkdir(config.stateDir, { recursive: true, mode: 0o711 });
    const closed = process.getuid?.() === 0 ? closedAncestor(config.stateDir) : null;
    if (closed !== null) {
      throw new Error(
        `SERVICE_AGENT_STATE_DIR: sessions have users of their own, which may not pass ${closed}; chmod o+x it`,
      );
    }
    if (Buffer.byteLength(config.stateDir) > STATE_DIR_BYTES) {
      throw new Error(
        `SERVICE_AGENT_STATE_DIR: ${config.stateDir} is too long for the sockets of sessions below it; expected at most ${STATE_DIR_BYTES} bytes`,
      );
    }
    // Before the first child, so that every child starts below it.
    enterServiceGroup();
    const isolated = await canIsolate();
    const hasNetworks = isolated && (await networkNamespaceProblem(deps.clock)) === null;
    const range = new UidPool(config.processUids);
    const uids = process.getuid?.() === 0 ? range : null;
    const homes = new HomeLocks(deps.clock);
    const quarantine = new Quarantine(deps);
    const sweep = new UidSweep({ ...deps, remove: deps.removeOwned ?? removeOwnedFiles });
    const screens = deps.screens ?? westonScreens();
    await removeLeftovers(config.stateDir, {
      ...deps,
      quarantine,
      sweep,
      uids: range,
      take: (ownership) => takeUserAndHomes(ownership, uids, homes),
      reclaimConsole: () => screens.reclaim(),
    });
    const poolOf = (size: number) =>
      createMediaWorkerPool({
        clock: deps.clock,
        size,
        ownIpc: isolated,
        onOutput: (pid, line) => deps.logger.debug({ worker: pid, line: errorText(line) }, 'worker.output'),
        onMalformed: (pid, why) => deps.logger.warn({ worker: pid, why }, 'worker.malformed_message'),
      });
    const [workers, warmUps] = [poolOf(1), poolOf(0)];
    const settings = await HostSettings.open(config.stateDir, config.hostSettings, deps.logger);
    const containers = agentContainers(config, { ...deps, probed: () => agent.#inventory });
    const networks = hasNetworks
      ? new NetworkPool({ ...deps, keep: config.processRuntime, mediaPorts: config.mediaPorts })
      : null;
    const agent: Agent = new Agent(config, deps, {
      ...{ isolated, networks, workers, warmUps, settings, screens },
      ...{ homes, uids, quarantine, sweep, containers },
    });
    try {
      agent.#health = await serveHealth(config.healthHost, config.healthPort, () => ({
        sessions: agent.#supervisor.liveCount,
        connected: agent.#link.connected,
      }));
      await agent.#recorder.open();
      await agent.#jobs.open();
      // Takes the homes that a killed agent moved aside before a session can.
      await agent.#collection.open();
      await agent.#inventory.probe();
      await agent.#inventory.sampleGpus();
      // Removes containers of a killed agent before a session can begin.
      await containers.engine.look(FIRST_LOOK_MS);
      agent.#images = await HostImages.open({
        ...{ stateDir: config.stateDir, sourceHosts: config.imageSourceHosts },
        ...{ host: containers.engine, pulls: containers.pulls, clock: deps.clock, logger: deps.logger },
        report: (message) => void agent.#link.report(message),
        progress: (message) => agent.#link.imageProgress(message),
      });
      if (containers.engine.works) await agent.#images.check();
      await agent.#link.start();
      agent.#jobs.start();
      agent.#library.start();
    } catch (error) {
      await agent.#release();
      throw error;
    }
    void agent.#collection.resume();
    agent.#timers.push(
      deps.clock.setInterval(() => void agent.#checkStorage(), STORAGE_CHECK_MS),
      deps.clock.setInterval(() => void agent.#inventory.sampleGpus(), GPU_SAMPLE_MS),
    );
    return agent;
  }

  /** Whether the agent is registered with the control plane. */
  get connected(): boolean {
    return this.#link.connected;
  }

  /** The replica of the control plane that is dialed, or was last. */
  get controlUrl(): URL {
    return this.#link.controlUrl;
  }

  /** Live sessions (count). */
  get sessionCount(): number {
    return this.#supervisor.liveCount;
  }

  get healthPort(): number {
    return this.#health?.port ?? 0;
  }

  /** Ends all sessions, reports them, and releases everything. Repeatable. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop(false);
    return this.#stopping;
  }

  /** The same for a restart: sessions end without reports, because the next registration reports them. */
  stopForRestart(): Promise<void> {
    this.#stopping ??= this.#stop(true);
    return this.#stopping;
  }

  async #stop(restart: boolean): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    // Before the jobs: one of them may wait for the control plane.
    this.#collection.close();
    await Promise.all([this.#jobs.stop(), this.#library.stop()]);
    if (restart) {
      await this.#link.flush(FLUSH_MS);
      await this.#link.stop();
      await this.#supervisor.closeSilently(SHUTDOWN_MS);
    } else {
      await this.#supervisor.close('agent_shutdown', SHUTDOWN_MS);
      await this.#link.flush(FLUSH_MS);
      await this.#link.stop();
    }
    await this.#release();
  }

  async #release(): Promise<void> {
    this.#displays.close();
    this.#collection.close();
    this.#quarantine.close();
    this.#sweep.close();
    this.#recorder.close();
    this.#containers.close();
    await Promise.all([
      this.#images?.close(),
      this.#workers.close(),
      this.#warmUps.close(),
      this.#networks?.close(),
      this.#health?.close(),
      this.#settings.saved,
    ]);
  }

  #handler(): LinkHandler {
    return {
      register: () => ({
        features: [
          'tune',
          'swap',
          'display',
          'stream_resize',
          'capture',
          'recorder',
          ...(this.#config.processRuntime ? ['process_runtime'] : []),
          ...(this.#console.need() === null ? ['console'] : []),
          ...this.#imageFeatures(),
        ],
        sessions: this.#supervisor.held(),
        ...this.#heldImages(),
      }),
      capacity: async () => {
        this.#reportedStorage = await this.#inventory.storage();
        const [capacity, console_capabilities] = await Promise.all([
          this.#inventory.capacity(this.#link.clock, {
            wanted: this.#console.wanted,
            lacks: this.#console.lacks,
          }),
          this.#displays.read(),
        ]);
        return { ...capacity, console_capabilities };
      },
      heartbeat: () => ({
        running_sessions: this.#supervisor.running(),
        ...this.#inventory.heartbeat(this.#supervisor.liveByGpu()),
      }),
      command: (command) => this.#command(command),
      signaling: (frame) => this.#supervisor.signaling(frame),
      registered: (registered) => this.#registered(registered),
      seen: (seq) => this.#supervisor.seen(seq),
      linkReady: () => {
        this.#supervisor.linkUp = true;
      },
      // A registration ends the runs of the former process; what it did report must come first.
      beforeDial: () => within(this.#deps.clock, FLUSH_MS, this.#jobs.sendKept(), undefined),
      linkLost: () => {
        this.#supervisor.linkUp = false;
        // For the next registration.
        void this.#images?.check();
      },
    };
  }

  #registered({ session_grace_secs }: Registered): void {
    this.#supervisor.registered(session_grace_secs);
    this.#inventory.registered(session_grace_secs);
  }

  async #command(command: ControlCommand): Promise<Verdict> {
    switch (command.type) {
      case 'config_update':
        return this.#configUpdate(command);
      case 'restart':
        // After the ack was sent: the process must not exit before its answer.
        setImmediate(() => this.#requestRestart());
        return OK;
      case 'image_ensure':
      case 'image_build':
      case 'image_remove':
        if (this.#images === null || this.#imageFeatures().length === 0) return unknownCommand(command);
        return this.#images.command(command);
      default:
        return this.#supervisor.command(command);
    }
  }

  /** Builds need a host to fetch from. */
  #imageFeatures(): string[] {
    if (!this.#containers.engine.works) return [];
    return ['images', ...(this.#config.imageSourceHosts.length > 0 ? ['image_build'] : [])];
  }

  /** Nothing while the engine does not answer: the control plane then keeps what it knows. */
  #heldImages(): Pick<Register, 'images'> {
    const images = this.#containers.engine.works ? this.#images?.held : undefined;
    return images === undefined ? {} : { images };
  }

  #warmUpHost(): WarmUpHost {
    const { encoderFamily, encoders, settings } = this.#inventory;
    return {
      images: this.#heldImages().images?.filter(({ state }) => state === 'ready').length ?? 0,
      sessions: this.#supervisor.liveCount,
      ...{ encoderFamily, encoders, settings },
      renderNode: (gpuIndex) => this.#inventory.renderNode(gpuIndex),
    };
  }

  async #configUpdate({ settings, console_config }: ConfigUpdate): Promise<Verdict> {
    this.#console.configure(console_config);
    await this.#settings.apply(settings);
    this.#report();
    return OK;
  }

  /** Reports the current capacity; without a link the next registration does. */
  #report(): void {
    void this.#link.sendCapacity().catch((error) => {
      this.#deps.logger.error({ error: errorText(error) }, 'capacity.failed');
    });
  }

  #launchContext(): LaunchContext {
    const inventory = this.#inventory;
    return {
      processRuntime: this.#config.processRuntime,
      containerEngine: this.#containers.engine.works,
      homeRoot: inventory.homeRoot,
      ownsHomeRoot: inventory.ownsHomeRoot,
      encoderFamily: inventory.encoderFamily,
      encoders: inventory.encoders,
      gpus: inventory.gpus.map(({ index }) => index),
      settings: inventory.settings,
      media: { addresses: this.#config.mediaAddresses, ports: this.#config.mediaPorts },
      maxFileMb: this.#config.fileTransfer ? this.#config.fileTransferMaxMb : null,
      gpu: (index) => inventory.appGpu(index),
      gpuGroups: (index) => inventory.gpuGroups(index),
    };
  }

  async #checkStorage(): Promise<void> {
    const now = await this.#inventory.storage().catch(() => this.#reportedStorage);
    if (this.#link.connected && storageMoved(this.#reportedStorage, now)) this.#report();
  }
}
