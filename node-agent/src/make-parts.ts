import { mkdir } from 'node:fs/promises';
import { type Clock, errorText, type Logger } from '@footlight/platform';
import { agentLinkHandler, heldImages, reportCapacity } from './agent-link-handler.ts';
import type { AgentDeps, AgentParts } from './agent-parts.ts';
import type { AgentConfig } from './config/environment.ts';
import { HostSettings } from './config/host-settings.ts';
import { ConnectorWatch } from './console/connector-watch.ts';
import { linuxDisplays } from './console/displays.ts';
import { HostConsole } from './console/host-console.ts';
import { westonScreens } from './console/weston.ts';
import { HomeScanner } from './discovery/home-scanner.ts';
import { PRODUCT_ROOT } from './install-location.ts';
import { AgentJobs } from './jobs/agent-jobs.ts';
import { ControlLink } from './link/control-link.ts';
import { IdentityStore } from './link/identity.ts';
import { MediaFallback } from './media/fallback/media-fallback.ts';
import { createEncoderWarmUp, type WarmUpHost } from './media/warm-up/encoder-warm-up.ts';
import { createMediaWorkerPool } from './media/worker/worker-pool.ts';
import type { AgentMetrics } from './metrics/agent-metrics.ts';
import { Preflights } from './preflight/preflights.ts';
import { closedAncestor } from './readiness/facts.ts';
import { Inventory } from './readiness/inventory.ts';
import { FlightRecorder } from './recorder/flight-recorder.ts';
import { RecordingFiles } from './recorder/recording-files.ts';
import { writeRecording } from './recorder/recording-writer.ts';
import { enterServiceGroup } from './runtime/cgroups.ts';
import { type AgentContainers, agentContainers } from './runtime/container/agent-containers.ts';
import { AppRuntimes } from './runtime/container/app-runtimes.ts';
import { networkNamespaceProblem } from './runtime/network/app-network.ts';
import { NetworkPool } from './runtime/network/network-pool.ts';
import { OPEN_TO_ALL } from './runtime/owned-files.ts';
import { findIsolation, ProcessRuntime, TEMPORARY } from './runtime/process.ts';
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
import { type LaunchContext, Supervisor } from './sessions/supervisor.ts';
import { AGENT_VERSION } from './version.ts';

/**
 * Removes everything that a killed agent left, then creates the parts of an agent.
 * @param requestRestart called when the control plane wants a restart
 * @throws when the state directory is unusable
 */
export async function makeAgentParts(
  config: AgentConfig,
  deps: AgentDeps,
  requestRestart: () => void,
): Promise<AgentParts> {
  const { clock, logger, random } = deps;
  await takeStateDir(config.stateDir);
  // Called before the first child process starts, so that every child process starts in a control group below the
  // service's group.
  enterServiceGroup();
  const isolation = await findIsolation(logger);
  const isolated = isolation === 'root';
  const hasNetworks = isolated && (await networkNamespaceProblem(clock)) === null;
  const range = new UidPool(config.processUids);
  const uids = process.getuid?.() === 0 ? range : null;
  const homes = new HomeLocks(clock);
  const quarantine = new Quarantine(deps);
  // An isolated app has its own private directories instead of these shared ones, so the shared directories need no
  // sweep.
  const sweep = new UidSweep({ ...deps, openToAll: isolated ? [] : OPEN_TO_ALL });
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
      clock,
      size,
      ownIpc: isolated,
      onOutput: (pid, line) => logger.debug({ worker: pid, line: errorText(line) }, 'worker.output'),
      onMalformed: (pid, why) => logger.warn({ worker: pid, why }, 'worker.malformed_message'),
    });
  const [workers, warmUps] = [poolOf(1), poolOf(0)];
  const fallback =
    config.mediaFallbackPort === null
      ? null
      : new MediaFallback({ ...deps, port: config.mediaFallbackPort, addresses: config.mediaAddresses });
  const settings = await HostSettings.open(config.stateDir, config.hostSettings, logger);
  const containers: AgentContainers = agentContainers(config, { ...deps, probed: () => inventory });
  const networks = hasNetworks
    ? new NetworkPool({ ...deps, keep: config.processRuntime, mediaPorts: config.mediaPorts })
    : null;
  const inventory: Inventory = new Inventory(config, {
    ...deps,
    isolated,
    networks: networks !== null,
    settings,
    engine: containers.engine,
    homeProblems: () => collection.problems.map(({ why }) => why),
  });
  const handler = agentLinkHandler(() => parts, requestRestart);
  const link = new ControlLink(
    { ...config, bootId: random.uuid(), agentVersion: AGENT_VERSION },
    { ...deps, identity: new IdentityStore(config.stateDir, random), handler },
  );
  const metrics = config.metricsAddress === null ? null : await openMetrics(clock);
  const jobs = new AgentJobs({ ...deps, stateDir: config.stateDir, call: (call) => link.call(call) });
  const homeScanner = new HomeScanner({ ...deps, call: (call) => link.call(call) });
  const shown = deps.displays ?? linuxDisplays();
  const console = new HostConsole(shown, screens);
  const displays = new ConnectorWatch({ displays: shown, clock, changed: () => reportCapacity(parts) });
  const recorder = recorderOf(config.stateDir, { clock, logger, link });
  const collection: HomeCollection = new HomeCollection(
    {
      stateDir: config.stateDir,
      root: () => ({ path: inventory.homeRoot, isOwn: inventory.ownsHomeRoot }),
      isSessionsGroup: (gid) => uids?.contains(gid) ?? false,
    },
    {
      ...deps,
      locks: homes,
      control: gcCalls((call) => link.call(call)),
      volumes: {
        ready: async () => void (await containers.engine.engine()),
        remove: (ref) => containers.volumes.remove(ref),
      },
      changed: () => reportCapacity(parts),
    },
  );
  const supervisor = new Supervisor(
    {
      orphanSecs: config.orphanSecs,
      context: () => launchContext(parts, isolation === 'none' ? [] : TEMPORARY),
      console,
      containers: containers.admission,
    },
    {
      ...deps,
      link: metrics?.observing(link) ?? link,
      workers,
      fallback,
      runtime: new AppRuntimes({
        process: new ProcessRuntime(
          {
            ...{ isolation, ownDirs: [config.stateDir] },
            ...{ memoryMb: config.appMemoryMb, pids: config.appPids, cpus: config.appCpus },
          },
          { clock, logger, random },
          networks,
        ),
        container: containers.runtime,
      }),
      homes,
      volumes: containers.volumes,
      uids,
      recorder,
      helpersWithoutNetwork: networks !== null,
      ownMounts: isolated,
      quarantine,
      sweep,
      stateDir: config.stateDir,
    },
  );
  jobs.register('home.gc', {
    run: async ({ signal }) => ({ state: 'succeeded', summary: { ...(await collection.run(signal)) } }),
  });
  jobs.register(
    'template.warmup',
    createEncoderWarmUp({ clock, logger, workers: warmUps, host: () => warmUpHost(parts) }),
  );
  const parts: AgentParts = {
    ...{
      config,
      clock,
      logger,
      settings,
      inventory,
      displays,
      console,
      workers,
      warmUps,
      fallback,
      networks,
    },
    ...{ quarantine, sweep, recorder, collection, supervisor, containers, link, metrics, jobs, homeScanner },
    preflights: new Preflights({
      ...{ clock, fallback },
      ...{ addresses: config.mediaAddresses, ports: config.mediaPorts },
    }),
    images: null,
    reportedStorage: [],
  };
  return parts;
}

/** Imported on demand, so that the metrics library is loaded only if a metrics page is configured. */
async function openMetrics(clock: Clock): Promise<AgentMetrics> {
  const { AgentMetrics } = await import('./metrics/agent-metrics.ts');
  return new AgentMetrics(clock);
}

/**
 * Creates the state directory. Users of sessions must be able to traverse it to reach their homes; its files belong to
 * the agent.
 * @throws when the users cannot traverse it, or its path is too long for the sockets below it
 */
async function takeStateDir(stateDir: string): Promise<void> {
  await mkdir(stateDir, { recursive: true, mode: 0o711 });
  const closed = process.getuid?.() === 0 ? closedAncestor(stateDir) : null;
  if (closed !== null) {
    throw new Error(
      `SERVICE_AGENT_STATE_DIR: sessions have users of their own, which may not pass ${closed}; chmod o+x it`,
    );
  }
  if (Buffer.byteLength(stateDir) > STATE_DIR_BYTES) {
    throw new Error(
      `SERVICE_AGENT_STATE_DIR: ${stateDir} is too long for the sockets of sessions below it; expected at most ${STATE_DIR_BYTES} bytes`,
    );
  }
}

function recorderOf(
  stateDir: string,
  { clock, logger, link }: { clock: Clock; logger: Logger; link: ControlLink },
): FlightRecorder {
  return new FlightRecorder({
    clock,
    logger,
    report: (sessionId, event) =>
      new TraceEvents(sessionId, link, clock).send('session.recording', { ...event }),
    files: new RecordingFiles({ stateDir, logger, nowMs: () => clock.nowMs() }),
    write: (recording) => writeRecording(recording, { clock }),
    upload: (id, { file, bytes }) =>
      link.putFile({
        path: `/v1/agent/recordings/${id}`,
        mediaType: 'video/mp4',
        bytes,
        body: file.createReadStream({ autoClose: false, end: bytes - 1 }),
      }),
  });
}

function warmUpHost(parts: AgentParts): WarmUpHost {
  const { inventory, supervisor } = parts;
  const { encoderFamily, encoders, settings } = inventory;
  return {
    images: heldImages(parts).images?.filter(({ state }) => state === 'ready').length ?? 0,
    sessions: supervisor.liveCount,
    ...{ encoderFamily, encoders, settings },
    renderNode: (gpuIndex) => inventory.renderNode(gpuIndex),
  };
}

/** @param hiddenDirs shared directories; each app gets private ones instead */
function launchContext(
  { config, containers, inventory }: AgentParts,
  hiddenDirs: readonly string[],
): LaunchContext {
  return {
    processRuntime: config.processRuntime,
    hidden: { dirs: hiddenDirs, except: [inventory.homeRoot, PRODUCT_ROOT] },
    containerEngine: containers.engine.works,
    homeRoot: inventory.homeRoot,
    ownsHomeRoot: inventory.ownsHomeRoot,
    encoderFamily: inventory.encoderFamily,
    encoders: inventory.encoders,
    gpus: inventory.gpus.map(({ index }) => index),
    settings: inventory.settings,
    media: {
      addresses: config.mediaAddresses,
      ports: config.mediaPorts,
      fallback_port: config.mediaFallbackPort,
    },
    maxFileMb: config.fileTransfer ? config.fileTransferMaxMb : null,
    gpu: (index) => inventory.appGpu(index),
    gpuGroups: (index) => inventory.gpuGroups(index),
  };
}
