import {
  type AgentMessage,
  BACKLOG_BYTES,
  BACKLOG_MESSAGES,
  encodeAgentFrame,
  type ImageState,
  LATE_METRIC_SAMPLES,
  type SessionMetrics,
  type SessionState,
  type SessionTraceEvent,
} from '@footlight/protocol/agent';
import { LOSSY_EVENTS_PER_SESSION } from '@footlight/protocol/telemetry';

/** A reliable message before it gets its number. */
export type ReliableMessage =
  | Omit<SessionState, 'seq'>
  | Omit<SessionTraceEvent, 'seq'>
  | Omit<ImageState, 'seq'>;

interface Entry {
  seq: number;
  frame: string;
  bytes: number;
  lane: 'state' | 'image' | 'trace' | 'capture';
  /** Set for session_state; null for other messages. */
  sessionId: string | null;
}

/**
 * Reliable reports: numbered from 1 for the agent process, kept until the control plane sends `seen`, and sent again
 * in order after a reconnect.
 *
 * Bounded in count and bytes. When the outbox is full, trace events are dropped first, then capture results, then
 * reports that a newer report of the same session replaced. The newest session_state of each session is never dropped.
 */
export class Outbox {
  #nextSeq = 1;
  #bytes = 0;
  #entries: Entry[] = [];
  /** Number of the newest session_state of each session that the control plane has not confirmed. */
  readonly #newest = new Map<string, number>();

  /** Adds a message. @returns its number */
  add(message: ReliableMessage): number {
    const seq = this.#nextSeq++;
    const frame = encodeAgentFrame({ ...message, seq } as AgentMessage);
    const sessionId = message.type === 'session_state' ? message.session_id : null;
    const entry: Entry = { seq, frame, bytes: Buffer.byteLength(frame), lane: laneOf(message), sessionId };
    if (sessionId !== null) this.#newest.set(sessionId, seq);
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    this.#shrink();
    return seq;
  }

  /** Removes all messages up to number seq. */
  seen(seq: number): void {
    const kept = this.#entries.findIndex((entry) => entry.seq > seq);
    for (const entry of this.#entries.splice(0, kept < 0 ? this.#entries.length : kept)) this.#forget(entry);
  }

  /** The oldest unconfirmed report with a number above seq; null: there is no such report. */
  next(seq: number): { seq: number; frame: string } | null {
    return this.#entries.find((entry) => entry.seq > seq) ?? null;
  }

  get size(): number {
    return this.#entries.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of the last added message; 0: no message was added. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  #shrink(): void {
    while (this.#entries.length > BACKLOG_MESSAGES || this.#bytes > BACKLOG_BYTES) {
      const victim = this.#victim();
      if (victim < 0) return;
      const [entry] = this.#entries.splice(victim, 1);
      if (entry) this.#forget(entry);
    }
  }

  #victim(): number {
    for (const lane of ['trace', 'capture'] as const) {
      const index = this.#entries.findIndex((entry) => entry.lane === lane);
      if (index >= 0) return index;
    }
    return this.#entries.findIndex(
      (entry) => entry.sessionId === null || this.#newest.get(entry.sessionId) !== entry.seq,
    );
  }

  #forget(entry: Entry): void {
    this.#bytes -= entry.bytes;
    if (entry.sessionId !== null && this.#newest.get(entry.sessionId) === entry.seq) {
      this.#newest.delete(entry.sessionId);
    }
  }
}

function laneOf(message: ReliableMessage): Entry['lane'] {
  if (message.type === 'session_state') return 'state';
  if (message.type === 'image_state') return 'image';
  return message.event.startsWith('diag.') ? 'capture' : 'trace';
}

/**
 * Lossy messages that wait for the connection or for their turn. Stores the newest 24 samples and 256 events per
 * session. Samples are sent before events, and sessions alternate, so a busy session delays only its own messages.
 */
export class LossyMessages {
  readonly #samples = new Map<string, SessionMetrics[]>();
  readonly #events = new Map<string, SessionTraceEvent[]>();
  #droppedEvents = 0;

  addSample(sample: SessionMetrics): void {
    keepLatest(this.#samples, sample, LATE_METRIC_SAMPLES);
  }

  addEvent(event: SessionTraceEvent): void {
    this.#droppedEvents += keepLatest(this.#events, event, LOSSY_EVENTS_PER_SESSION);
  }

  /** Removes and returns the next message; null: no message waits. */
  next(): SessionMetrics | SessionTraceEvent | null {
    return takeTurn(this.#samples) ?? takeTurn(this.#events);
  }

  /** Number of events dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#droppedEvents;
    this.#droppedEvents = 0;
    return dropped;
  }
}

/** @returns the number of dropped messages */
function keepLatest<M extends { session_id: string }>(
  kept: Map<string, M[]>,
  message: M,
  limit: number,
): number {
  const list = kept.get(message.session_id) ?? [];
  kept.set(message.session_id, list);
  list.push(message);
  return list.splice(0, list.length - limit).length;
}

/** Removes and returns the oldest message of the session whose turn is next. */
function takeTurn<M>(kept: Map<string, M[]>): M | null {
  const [sessionId, list] = kept.entries().next().value ?? [];
  const message = list?.shift();
  if (sessionId === undefined || list === undefined || message === undefined) return null;
  kept.delete(sessionId);
  if (list.length > 0) kept.set(sessionId, list);
  return message;
}
