import type {
  ControlCommand,
  HeldSession,
  RelayedSignal,
  SessionMetrics,
  SessionState,
  SessionTraceEvent,
} from '@footlight/protocol/agent';
import type { Tx } from '../platform/database/database.ts';
import type { RowsToLock } from '../platform/database/index.ts';
import type { ReliableEvent } from '../telemetry/index.ts';

/** The host whose agent registers, as far as the reconciliation of its sessions cares. */
export interface RegisteringHost {
  hostId: string;
  /** New for every agent process. */
  bootId: string;
  /** False: the agent process is another one than at the last registration, so what it held is gone. */
  sameBoot: boolean;
}

/** How many sessions a GPU, or a host outside its GPUs, carries. */
export interface GpuLoad {
  host_id: string;
  /** null: reserving sessions of the host that hold no GPU. */
  gpu_id: string | null;
  /** Sessions in assigned, starting, running or stopping. */
  active_sessions: number;
  /** Sum of the VRAM that sessions recorded, MB. */
  vram_mb_reserved: number;
}

/**
 * What the sessions do about what agents say and administrators want. Implemented by the sessions feature and given
 * to the fleet when the service is put together.
 *
 * Calls about one host come in the order of its frames; calls about different hosts run beside each other.
 * A handler that throws is logged and never takes the link down.
 */
export interface AgentHandlers {
  /**
   * Compares what is stored with what the agent holds, inside the registration transaction (await only the database).
   * The work may be run again, so everything outside the transaction belongs into `afterCommit`, which is called once
   * the agent may be sent commands.
   */
  reconcile(tx: Tx, host: RegisteringHost, held: readonly HeldSession[]): Promise<{ afterCommit(): void }>;
  /**
   * Awaited before the reports are confirmed to the agent; those of foreign sessions are dropped in there. Stores all of
   * them or, when it throws, none.
   */
  sessionStates(hostId: string, reports: readonly SessionState[]): Promise<void>;
  /** For the drift check; ids as the agent listed them. */
  heartbeat(hostId: string, runningSessionIds: readonly string[]): void;
  /** What an event tells about a session that lives; called once for each that is not a repeat, on either lane. */
  traceEvent(hostId: string, event: SessionTraceEvent): void;
  /**
   * Awaited before events of the reliable lane are confirmed; those of foreign sessions are dropped in there. Stores all
   * of them or, when it throws, none. The same ones may come again, also while they are being stored.
   */
  storeEvents(source: { hostId: string; bootId: string }, events: readonly ReliableEvent[]): Promise<void>;
  metrics(hostId: string, metrics: SessionMetrics): void;
  signaling(hostId: string, signal: RelayedSignal): void;
  /** The link is gone; sessions wait for the host. */
  linkLost(hostId: string): void;
  /** The first capacity of a connection is stored; the host may take placements. */
  linkReady(hostId: string): void;
  /** Sends session_stop to every session of the host that is not terminal, within the limits; best effort. */
  stopSessionsOfHost(
    hostId: string,
    reason: 'host_draining',
    limits: { parallel: number; budgetMs: number },
  ): Promise<void>;
  /** Number of sessions of the host that are not terminal. */
  countLiveSessions(tx: Tx, hostId: string): Promise<number>;
  /** Number of sessions of the host in assigned, starting, running or stopping. */
  countReservingSessions(tx: Tx, hostId: string): Promise<number>;
  /**
   * Removes what belongs to a host that is being deleted: its terminal sessions; its homes lose their host.
   * @returns homes: how many home records lost their host
   */
  forgetHost(tx: Tx, hostId: string): Promise<{ homes: number }>;
  /** Loads of all GPUs of these hosts; what carries nothing may be left out. */
  loads(hostIds: readonly string[]): Promise<GpuLoad[]>;
}

/** A command as its sender writes it: the id that pairs it with its ack is added when it is sent. */
export type AgentCommand = WithoutId<ControlCommand>;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/**
 * What became of a command.
 * ok: accepted, not finished. refused: typed refusal. timeout: no ack in time, it may still take effect.
 * not_connected: no link, or it broke before the ack; sent says whether the command had left.
 */
export type CommandResult =
  | { kind: 'ok' }
  | { kind: 'refused'; code: string; error: string }
  | { kind: 'timeout' }
  | { kind: 'not_connected'; sent: boolean };

/** A frame of the signaling relay towards the agent. text: its message, as JSON. */
export interface SignalingToAgent {
  session_id: string;
  conn: number;
  text: string;
  /** Goes out even when the queue is full. For one frame of an attached socket, its last: there are few of them. */
  owed?: boolean;
}

/** How much of the fleet is there; the host-loss sweep rests when the fault is more likely on this side. */
interface FleetPresence {
  /** Agents with a live connection. */
  connected: number;
  /** When the number of connections last left zero, monotonic milliseconds; null: never. */
  firstConnectedMonotonicMs: number | null;
}

/** What the fleet does for other features. */
export interface Fleet {
  setHandlers(handlers: AgentHandlers): void;
  /**
   * Runs a short write in the transaction that all writes of this turn share: what a thousand agents say at once is
   * one commit.
   * @param rows what `work` changes; it is locked before
   * @param work awaits only the database; may be run again after a rollback
   */
  write<T>(rows: RowsToLock, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Sends a command to the host's agent and waits for its ack; never rejects. */
  command(hostId: string, command: AgentCommand, timeoutMs: number): Promise<CommandResult>;
  /** @returns false: not connected, or the send queue is full */
  sendSignaling(hostId: string, frame: SignalingToAgent): boolean;
  /** Registered and not closed. Placements additionally need status online and detection ok in the record. */
  isConnected(hostId: string): boolean;
  /** Features of the newest register; empty when not connected. */
  features(hostId: string): ReadonlySet<string>;
  /** When the last frame of the host came, on the monotonic clock; null: not since this process started. */
  lastSeenMonotonicMs(hostId: string): number | null;
  /** When the current connection registered, on the monotonic clock; null: not connected. */
  registeredMonotonicMs(hostId: string): number | null;
  presence(): FleetPresence;
  /** Number of hosts seen within the last `windowMs`. */
  seenWithin(windowMs: number): number;
}
