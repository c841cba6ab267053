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

/** A reliable message before it has its number. */
export type ReliableMessage =
  | Omit<SessionState, 'seq'>
  | Omit<SessionTraceEvent, 'seq'>
  | Omit<ImageState, 'seq'>;

interface Entry {
  seq: number;
  frame: string;
  bytes: number;
  lane: 'state' | 'image' | 'trace' | 'capture';
  /** Set on session_state. */
  sessionId: string | null;
}

/**
 * Reports that must arrive: numbered from 1 for the life of the agent process, kept until the control plane says
 * `seen`, and sent again in order after a reconnect.
 *
 * Bounded in count and bytes. When full, trace events go first, then capture results, then what a newer report
 * of the same session has replaced; the newest session_state of each session is never dropped.
 */
export class Outbox {
  #nextSeq = 1;
  #bytes = 0;
  #entries: Entry[] = [];
  /** Newest session_state per session that is still unseen, by its seq. */
  readonly #newest = new Map<string, number>();

  /** @returns the frame to send now, if the link is up */
  add(message: ReliableMessage): { seq: number; frame: string } {
    const seq = this.#nextSeq++;
    const frame = encodeAgentFrame({ ...message, seq } as AgentMessage);
    const sessionId = message.type === 'session_state' ? message.session_id : null;
    const entry: Entry = { seq, frame, bytes: Buffer.byteLength(frame), lane: laneOf(message), sessionId };
    if (sessionId !== null) this.#newest.set(sessionId, seq);
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    this.#shrink();
    return { seq, frame };
  }

  /** Forgets everything up to seq. */
  seen(seq: number): void {
    const kept = this.#entries.findIndex((entry) => entry.seq > seq);
    for (const entry of this.#entries.splice(0, kept < 0 ? this.#entries.length : kept)) this.#forget(entry);
  }

  /** What is unseen, oldest first. */
  frames(): string[] {
    return this.#entries.map((entry) => entry.frame);
  }

  get size(): number {
    return this.#entries.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Highest number given out so far; 0 before the first. */
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
 * What may be lost and is still worth having after an outage, per session: the latest 24 metric samples, sent as
 * `late`, and the latest 256 events.
 */
export class LateMessages {
  readonly #samples = new Map<string, SessionMetrics[]>();
  readonly #events = new Map<string, SessionTraceEvent[]>();

  addSample(sample: SessionMetrics): void {
    keepLatest(this.#samples, { ...sample, late: true }, LATE_METRIC_SAMPLES);
  }

  addEvent(event: SessionTraceEvent): void {
    keepLatest(this.#events, event, LOSSY_EVENTS_PER_SESSION);
  }

  /** Everything kept, oldest first per session; nothing is kept afterwards. */
  take(): (SessionMetrics | SessionTraceEvent)[] {
    const all = [...[...this.#events.values()].flat(), ...[...this.#samples.values()].flat()];
    this.#samples.clear();
    this.#events.clear();
    return all;
  }
}

function keepLatest<M extends { session_id: string }>(
  kept: Map<string, M[]>,
  message: M,
  limit: number,
): void {
  const list = kept.get(message.session_id) ?? [];
  list.push(message);
  if (list.length > limit) list.shift();
  kept.set(message.session_id, list);
}
