import type { LogLevel } from '@footlight/platform';
import type { SessionEndReason } from '@footlight/protocol';
import type {
  HeldSession,
  ImageState,
  Register,
  RelayedSignal,
  SessionMetrics,
  SessionState,
  SessionTraceEvent,
} from '@footlight/protocol/agent';
import type { LogEvent } from '@footlight/protocol/telemetry';
import type { Tx } from '../platform/database/database.ts';

/** An event of the reliable lane with its number. */
export type ReliableEvent = SessionTraceEvent & { seq: number };

/** Facts about a registering host that the reconciliation needs. */
export interface RegisteringHost {
  hostId: string;
  /** Id of the agent process. */
  bootId: string;
  /** false: the agent process is not the one of the last registration, so the sessions of that process have ended. */
  sameBoot: boolean;
}

/** Load of one GPU, or of those sessions of a host that use no GPU. */
export interface GpuLoad {
  host_id: string;
  /** null: the load of the host's sessions without a GPU. */
  gpu_id: string | null;
  /** Sessions in state `assigned`, `starting`, `running` or `stopping`. */
  active_sessions: number;
  /** Sum of the VRAM that these sessions reserve, MB. */
  vram_mb_reserved: number;
}

/**
 * Callbacks of the fleet into the sessions feature, which handles agent messages about sessions. Set when the service
 * is composed.
 *
 * Calls about one host are made in the order of its frames; calls about different hosts run concurrently. An exception
 * is logged and never closes the link.
 */
export interface AgentHandlers {
  /**
   * Reconciles the stored sessions with the agents' sessions inside the registration transaction; it must await only
   * the database. The transaction may be retried, so all other effects belong into `afterCommit`, which runs when the
   * host's agent accepts commands.
   * @param hosts each host occurs once
   * @returns one result for each host, in the same order
   */
  reconcile(
    tx: Tx,
    hosts: readonly { host: RegisteringHost; held: readonly HeldSession[] }[],
  ): Promise<readonly { afterCommit(): void }[]>;
  /**
   * Stores session reports before they are confirmed to the agent: all of them or, on an exception, none. Reports about
   * sessions of other hosts are dropped.
   */
  sessionStates(hostId: string, reports: readonly SessionState[]): Promise<void>;
  /**
   * Passes a heartbeat to the drift check.
   * @param registeredMs time of the link's registration, monotonic ms
   * @param runningSessionIds ids that the agent reports
   */
  heartbeat(hostId: string, registeredMs: number, runningSessionIds: readonly string[]): void;
  /**
   * Applies an event of a live session. Called once for each event of the lossy and the reliable lane; repeated events
   * are skipped.
   */
  traceEvent(hostId: string, event: SessionTraceEvent): void;
  /**
   * Stores events of the reliable lane before they are confirmed to the agent: all of them or, on an exception, none.
   * Events of other hosts' sessions are dropped. The same event may be passed again, even during the write.
   */
  storeEvents(source: { hostId: string; bootId: string }, events: readonly ReliableEvent[]): Promise<void>;
  metrics(hostId: string, metrics: SessionMetrics): void;
  signaling(hostId: string, signal: RelayedSignal): void;
  /** The link is lost. The host's sessions continue and wait for a new link. */
  linkLost(hostId: string): void;
  /** Sends session_stop to every live session of the host, with the given limits. Best effort. */
  stopSessionsOfHost(
    hostId: string,
    reason: SessionEndReason,
    limits: { parallel: number; budgetMs: number },
  ): Promise<void>;
  /** Number of live sessions of the host. */
  countLiveSessions(tx: Tx, hostId: string): Promise<number>;
  /** Number of the host's sessions in state `assigned`, `starting`, `running` or `stopping`. */
  countReservingSessions(tx: Tx, hostId: string): Promise<number>;
  /**
   * Deletes the sessions of a host that is being deleted; home records of the host stay, but refer to no host.
   * @returns homes: number of home records that lost their host
   */
  forgetHost(tx: Tx, hostId: string): Promise<{ homes: number }>;
  /** Loads of all GPUs of these hosts; GPUs without load may be missing. */
  loads(hostIds: readonly string[]): Promise<GpuLoad[]>;
}

/** Callbacks of the fleet into the images feature. Set when the service is composed. */
export interface ImageHandlers {
  /**
   * Stores the images that registering hosts list, inside the registration transaction. The rules of
   * `AgentHandlers.reconcile` apply. Called for agents with the feature `images`. `listed` undefined: the agent sent no
   * list, and the stored rows stay.
   */
  registered(
    tx: Tx,
    hosts: readonly { host: RegisteringHost; listed: Register['images'] }[],
  ): Promise<readonly { afterCommit(): void }[]>;
  /** Stores reports before they are confirmed to the agent: all of them or, on an exception, none. */
  imageStates(hostId: string, reports: readonly ImageState[]): Promise<void>;
  linkLost(hostId: string): void;
}

/** The links of this process, for other features. To reach the agent of a host on any replica, use `Agents`. */
export interface Links {
  setHandlers(handlers: AgentHandlers): void;
  /** Without these handlers reports about images are dropped. */
  setImageHandlers(handlers: ImageHandlers): void;
  /**
   * Adds a step to every later registration. It runs after the reconciliation in the same transaction, so it must await
   * only the database and have no other effect: the transaction may be retried. Many hosts share the transaction, so
   * the step must not lock a row that another transaction may have locked.
   */
  addRegistrationStep(step: (tx: Tx, hosts: readonly RegisteringHost[]) => Promise<void>): void;
  /**
   * Logs a line that a host can trigger as often as it wants. `HostLog` limits the rate per host. The host's id becomes
   * `host_id`.
   */
  log(level: LogLevel, hostId: string, fields: object, event: LogEvent): void;
  /** Whether this process has the host's live link. */
  holds(hostId: string): boolean;
  /** Time of the host's last frame on the monotonic clock; null: no frame since this process started. */
  lastSeenMonotonicMs(hostId: string): number | null;
}

/** Reports which hosts are connected to any replica. All times are on the monotonic clock of this process. */
export interface HostPresence {
  /** Reads the state of other replicas. Call this before a decision that depends on the absence of a host. */
  look(): Promise<void>;
  /**
   * Facts for the host-loss sweep. It pauses when they show that the control plane is probably at fault, not the hosts.
   */
  presence(): {
    /** Agents with a live connection (count). */
    connected: number;
    /** When the number of connections last rose from zero; null: never. */
    firstConnectedMonotonicMs: number | null;
  };
  /** Time when the host was last seen; null: not since this process started. */
  lastSeenMonotonicMs(hostId: string): number | null;
  /** Number of hosts seen within the last `windowMs`. */
  seenWithin(windowMs: number): number;
  /**
   * Whether a command can reach a host that is stored as online. It cannot if the replica with the host's link has
   * stopped.
   */
  isReachable(hostId: string): Promise<boolean>;
}
