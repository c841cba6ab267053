import type { Clock, Logger, Random } from '@footlight/platform';
import type { StorageReport } from '@footlight/protocol/agent';
import type { AgentConfig } from './config/environment.ts';
import type { HostSettings } from './config/host-settings.ts';
import type { ConnectorWatch } from './console/connector-watch.ts';
import type { Displays } from './console/displays.ts';
import type { ConsoleScreens, HostConsole } from './console/host-console.ts';
import type { HomeScanner } from './discovery/home-scanner.ts';
import type { HostImages } from './images/host-images.ts';
import type { AgentJobs } from './jobs/agent-jobs.ts';
import type { ControlLink } from './link/control-link.ts';
import type { MediaFallback } from './media/fallback/media-fallback.ts';
import type { MediaWorkerPool } from './media/worker/worker-pool.ts';
import type { AgentMetrics } from './metrics/agent-metrics.ts';
import type { Preflights } from './preflight/preflights.ts';
import type { Inventory } from './readiness/inventory.ts';
import type { FlightRecorder } from './recorder/flight-recorder.ts';
import type { AgentContainers } from './runtime/container/agent-containers.ts';
import type { NetworkPool } from './runtime/network/network-pool.ts';
import type { HomeCollection } from './sessions/home/collection/home-collection.ts';
import type { Quarantine } from './sessions/resources/quarantine.ts';
import type { UidSweep } from './sessions/resources/uid-sweep.ts';
import type { Supervisor } from './sessions/supervisor.ts';

export interface AgentDeps {
  clock: Clock;
  /** Default: the displays of this machine. */
  displays?: Displays;
  /** Default: weston on this machine. */
  screens?: ConsoleScreens;
  random: Random;
  logger: Logger;
}

/**
 * The parts of one agent, created and connected to each other. Only the warm media worker and the network for the next
 * app are already started. Owner: the agent, which starts and closes them.
 */
export interface AgentParts {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: HostSettings;
  readonly inventory: Inventory;
  readonly displays: ConnectorWatch;
  readonly console: HostConsole;
  readonly workers: MediaWorkerPool;
  /** Starts media workers only for the warm-up job; no worker is kept ready. */
  readonly warmUps: MediaWorkerPool;
  /** null: this host has no fallback port of media. */
  readonly fallback: MediaFallback | null;
  /** null: all apps use the host's network. */
  readonly networks: NetworkPool | null;
  readonly quarantine: Quarantine;
  readonly sweep: UidSweep;
  readonly recorder: FlightRecorder;
  readonly collection: HomeCollection;
  readonly supervisor: Supervisor;
  readonly containers: AgentContainers;
  readonly link: ControlLink;
  /** null: no address for the metrics page is configured. */
  readonly metrics: AgentMetrics | null;
  readonly jobs: AgentJobs;
  readonly homeScanner: HomeScanner;
  readonly preflights: Preflights;
  /** null until the container engine was checked for the first time. */
  images: HostImages | null;
  /** File systems and free space, as in the last capacity report. */
  reportedStorage: readonly StorageReport[];
}
