import type { Timer } from '@footlight/platform';
import { reportCapacity, startPolls } from './agent-link-handler.ts';
import type { AgentDeps, AgentParts } from './agent-parts.ts';
import { type AgentConfig, isLoopback } from './config/environment.ts';
import { healthPage, type PageServer, servePage } from './health/server.ts';
import { HostImages } from './images/host-images.ts';
import { makeAgentParts } from './make-parts.ts';
import { withPatience } from './patience.ts';
import { storageMoved } from './probe/storage-report.ts';
import { FIRST_LOOK_MS } from './runtime/container/engine/engine-host.ts';

/** Interval of the check for changed storage. So a change is reported within a minute. */
const STORAGE_CHECK_MS = 60_000;
/** Equals the interval of the heartbeat, because a heartbeat contains the newest sample. */
const GPU_SAMPLE_MS = 5_000;
/** Time for sessions to end at a shutdown. */
const SHUTDOWN_MS = withPatience(8_000);
/**
 * Time limit for sending the last reports at a shutdown. A session whose last report was not sent is reported as lost
 * at the next start.
 */
const FLUSH_MS = 2_000;

/**
 * The agent process: owner of link, inventory, supervisor and health page.
 *
 * Start order: cleanup after a killed agent, hardware probe, warm media worker and network for the next app, first
 * connection. Stop order: sessions, reports, link, warm worker and prepared network, health page.
 */
export class Agent {
  readonly #parts: AgentParts;
  #health: PageServer | null = null;
  #metricsPage: PageServer | null = null;
  #timers: Timer[] = [];
  #stopping: Promise<void> | null = null;
  /** Settles when the control plane requested a restart. */
  readonly restartRequested: Promise<void>;

  private constructor(parts: AgentParts, restartRequested: Promise<void>) {
    this.#parts = parts;
    this.restartRequested = restartRequested;
  }

  /**
   * Starts all parts; resolves when the first connection attempt has begun.
   * @throws when the state directory is unusable, the health address is taken, or the host is not enrolled
   */
  static async start(config: AgentConfig, deps: AgentDeps): Promise<Agent> {
    let requestRestart: () => void = () => undefined;
    const restartRequested = new Promise<void>((resolve) => {
      requestRestart = resolve;
    });
    const parts = await makeAgentParts(config, deps, () => requestRestart());
    const agent = new Agent(parts, restartRequested);
    try {
      await agent.#start();
    } catch (error) {
      await agent.#release();
      throw error;
    }
    return agent;
  }

  async #start(): Promise<void> {
    const { config, clock, fallback, logger } = this.#parts;
    const { collection, containers, inventory, jobs, link, metrics, recorder } = this.#parts;
    const { supervisor } = this.#parts;
    const health = () => ({ sessions: supervisor.liveCount, connected: link.connected });
    this.#health = await servePage(config.healthHost, config.healthPort, healthPage(health));
    if (metrics !== null && config.metricsAddress !== null) {
      const [host, port] = config.metricsAddress;
      this.#metricsPage = await servePage(host, port, {
        path: '/metrics',
        contentType: metrics.contentType,
        loopbackOnly: isLoopback(host),
        read: () => metrics.text(health()),
      });
    }
    fallback?.start();
    await recorder.open();
    await jobs.open();
    // Locks the homes that a killed agent renamed for deletion, before a session can use them.
    await collection.open();
    await inventory.probe();
    await inventory.sampleGpus();
    // Removes containers of a killed agent before a session can begin.
    await containers.engine.look(FIRST_LOOK_MS);
    const images = await HostImages.open({
      ...{ stateDir: config.stateDir, sourceHosts: config.imageSourceHosts },
      ...{ host: containers.engine, pulls: containers.pulls, clock, logger },
      report: (message) => void link.report(message),
      progress: (message) => link.imageProgress(message),
    });
    this.#parts.images = images;
    if (containers.engine.works) await images.check();
    await link.start();
    // An agent that is not enrolled cannot poll yet. A failed first poll would delay the next poll by a minute.
    if (link.isEnrolled) startPolls(this.#parts);
    void collection.resume();
    this.#timers.push(
      clock.setInterval(() => void this.#checkStorage(), STORAGE_CHECK_MS),
      clock.setInterval(() => void inventory.sampleGpus(), GPU_SAMPLE_MS),
    );
  }

  /** Whether the agent is registered with the control plane. */
  get connected(): boolean {
    return this.#parts.link.connected;
  }

  /** Address of the replica that the agent connects to now, or connected to last. */
  get controlUrl(): URL {
    return this.#parts.link.controlUrl;
  }

  /** Number of live sessions. */
  get sessionCount(): number {
    return this.#parts.supervisor.liveCount;
  }

  get healthPort(): number {
    return this.#health?.port ?? 0;
  }

  /** Ends all sessions, reports their ends, and releases all resources. Repeatable. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop(false);
    return this.#stopping;
  }

  /** Like stop(), for a restart: sessions end without reports, because the next registration reports them as lost. */
  stopForRestart(): Promise<void> {
    this.#stopping ??= this.#stop(true);
    return this.#stopping;
  }

  async #stop(restart: boolean): Promise<void> {
    const { collection, homeScanner, jobs, link, supervisor } = this.#parts;
    for (const timer of this.#timers) timer.cancel();
    // Closed before the jobs, because the collection job may wait for the control plane and would delay the stop.
    collection.close();
    await Promise.all([jobs.stop(), homeScanner.stop()]);
    if (restart) {
      await link.flush(FLUSH_MS);
      await link.stop();
      await supervisor.closeSilently(SHUTDOWN_MS);
    } else {
      await supervisor.close('agent_shutdown', SHUTDOWN_MS);
      await link.flush(FLUSH_MS);
      await link.stop();
    }
    await this.#release();
  }

  async #release(): Promise<void> {
    const { collection, containers, displays, fallback, images, networks } = this.#parts;
    const { preflights, quarantine, recorder, settings, sweep, warmUps, workers } = this.#parts;
    displays.close();
    preflights.close();
    collection.close();
    quarantine.close();
    sweep.close();
    recorder.close();
    containers.close();
    fallback?.close();
    await Promise.all([
      images?.close(),
      workers.close(),
      warmUps.close(),
      networks?.close(),
      this.#health?.close(),
      this.#metricsPage?.close(),
      settings.saved,
    ]);
  }

  async #checkStorage(): Promise<void> {
    const { inventory, link, reportedStorage } = this.#parts;
    const now = await inventory.storage().catch(() => reportedStorage);
    if (link.connected && storageMoved(reportedStorage, now)) reportCapacity(this.#parts);
  }
}
