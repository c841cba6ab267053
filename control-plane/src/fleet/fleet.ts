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

/** A registering host, as the reconciliation needs it. */
export interface RegisteringHost {
  hostId: string;
  /** Id of the agent process. */
  bootId: string;
  /** False: another agent process than at the last registration, so its sessions are gone. */
  sameBoot: boolean;
}

/** Load of a GPU, or of a host's sessions without a GPU. */
export interface GpuLoad {
  host_id: string;
  /** null: reserving sessions of the host without a GPU. */
  gpu_id: string | null;
  /** Sessions in assigned, starting, running or stopping. */
  active_sessions: number;
  /** Sum of the VRAM that sessions recorded, MB. */
  vram_mb_reserved: number;
}

/**
 * Callbacks of the fleet into the sessions feature, which handles agent messages about sessions. Set when the service
 * is composed.
 *
 * Calls about one host follow the order of its frames; calls about different hosts run concurrently. An exception is
 * logged and never closes the link.
 */
export interface AgentHandlers {
  /**
   * Reconciles the stored sessions with the agents' sessions inside the registration transaction (await only the
   * database). The transaction may be retried, so effects outside the database belong into `afterCommit`, which runs
   * when that agent accepts commands.
   * @param hosts each once
   * @returns one for each host, in their order
   */
  reconcile(
    tx: Tx,
    hosts: readonly { host: RegisteringHost; held: readonly HeldSession[] }[],
  ): Promise<readonly { afterCommit(): void }[]>;
  /**
   * Stores session reports before they are confirmed, all of them or (on an exception) none. Reports of other hosts'
   * sessions are dropped.
   */
  sessionStates(hostId: string, reports: readonly SessionState[]): Promise<void>;
  /**
   * For the drift check.
   * @param registeredMs time of the link's registration, monotonic ms
   * @param runningSessionIds as the agent lists them
   */
  heartbeat(hostId: string, registeredMs: number, runningSessionIds: readonly string[]): void;
  /** Applies an event of a live session. Called once for each event of either lane that is not repeated. */
  traceEvent(hostId: string, event: SessionTraceEvent): void;
  /**
   * Stores events of the reliable lane before they are confirmed, all of them or (on an exception) none. Events of
   * other hosts' sessions are dropped. Events may be repeated, also during the write.
   */
  storeEvents(source: { hostId: string; bootId: string }, events: readonly ReliableEvent[]): Promise<void>;
  metrics(hostId: string, metrics: SessionMetrics): void;
  signaling(hostId: string, signal: RelayedSignal): void;
  /** The link is lost; the host's sessions wait for it. */
  linkLost(hostId: string): void;
  /** Sends session_stop to every live session of the host, within the limits. Best effort. */
  stopSessionsOfHost(
    hostId: string,
    reason: SessionEndReason,
    limits: { parallel: number; budgetMs: number },
  ): Promise<void>;
  /** Number of live sessions of the host. */
  countLiveSessions(tx: Tx, hostId: string): Promise<number>;
  /** Number of sessions of the host in assigned, starting, running or stopping. */
  countReservingSessions(tx: Tx, hostId: string): Promise<number>;
  /**
   * Deletes the sessions of a host that is being deleted; its homes lose their host.
   * @returns homes: number of home records that lost their host
   */
  forgetHost(tx: Tx, hostId: string): Promise<{ homes: number }>;
  /** Loads of all GPUs of these hosts; GPUs without load may be missing. */
  loads(hostIds: readonly string[]): Promise<GpuLoad[]>;
}

/** What the images feature does for the fleet. Set when the service is composed. */
export interface ImageHandlers {
  /**
   * Stores what registering hosts have, inside the registration transaction, as `AgentHandlers.reconcile`. Called for
   * agents with the feature `images`; listed undefined: the agent lists nothing, and the stored rows stay.
   */
  registered(
    tx: Tx,
    hosts: readonly { host: RegisteringHost; listed: Register['images'] }[],
  ): Promise<readonly { afterCommit(): void }[]>;
  /** Stores reports before they are confirmed, all of them or (on an exception) none. */
  imageStates(hostId: string, reports: readonly ImageState[]): Promise<void>;
  linkLost(hostId: string): void;
}

/** The links of this process, for other features. Agents of any host are reached through `Agents`. */
export interface Links {
  setHandlers(handlers: AgentHandlers): void;
  /** Without these handlers reports about images are dropped. */
  setImageHandlers(handlers: ImageHandlers): void;
  /**
   * Adds a step to every later registration, after the reconciliation and in its transaction: await only the database, and
   * have no other effect, because it may be retried. It locks no row that another transaction may hold, since many hosts
   * share the transaction.
   */
  addRegistrationStep(step: (tx: Tx, hosts: readonly RegisteringHost[]) => Promise<void>): void;
  /** Logs a line that a host can cause at will, as often as `HostLog` allows for each host; its id becomes `host_id`. */
  log(level: LogLevel, hostId: string, fields: object, event: LogEvent): void;
  /** Whether this process has the host's live link. */
  holds(hostId: string): boolean;
  /** Time of the host's last frame on the monotonic clock; null: none since this process started. */
  lastSeenMonotonicMs(hostId: string): number | null;
}

/** Which hosts are connected, on all replicas. Instants on the monotonic clock of this process. */
export interface HostPresence {
  /** Reads the state of other replicas. Call before a decision that depends on the absence of a host. */
  look(): Promise<void>;
  /** The host-loss sweep pauses when the fault is probably on this side. */
  presence(): {
    /** Agents with a live connection (count). */
    connected: number;
    /** When the number of connections last rose from zero; null: never. */
    firstConnectedMonotonicMs: number | null;
  };
  /** Last sign of life; null: none since this process started. */
  lastSeenMonotonicMs(hostId: string): number | null;
  /** Number of hosts seen within the last `windowMs`. */
  seenWithin(windowMs: number): number;
  /** Whether a command would reach a host that is stored as online: the replica that had its link may be gone. */
  isReachable(hostId: string): Promise<boolean>;
}
