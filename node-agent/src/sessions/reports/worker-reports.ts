import type { Clock, Logger } from '@footlight/platform';
import { TokenBucket } from '@footlight/platform';
import { agentSignal, type SessionMetrics, sessionMetricsSchema } from '@footlight/protocol/agent';
import { isReliableEvent } from '@footlight/protocol/telemetry';
import type { WorkerMessage } from '../../media/worker/worker-messages.ts';
import type { SessionLink } from './session-link.ts';
import type { TraceEvents } from './trace-events.ts';

type Said<T extends WorkerMessage['type']> = Extract<WorkerMessage, { type: T }>;
type Kind = 'lossy_event' | 'reliable_event' | 'metrics' | 'signaling' | 'log' | 'input_device';

/** Limits of a worker's messages: long-term rate per second, and burst. */
const BUDGETS: Record<Kind, readonly [perSecond: number, burst: number]> = {
  lossy_event: [10, 128],
  reliable_event: [5, 64],
  metrics: [2, 10],
  // Enough for several offers with all their candidates.
  signaling: [50, 200],
  log: [10, 128],
  // Limit of reported input devices, because each is logged. A worker creates at most 16 per minute.
  input_device: [1, 32],
};
/**
 * Largest size of the fields of one log line in bytes of JSON, because a worker could otherwise fill the host's log
 * with few lines.
 */
const LOG_FIELDS_BYTES = 4_096;
/**
 * Shortest interval between reports of the same problem, because a worker that repeats a line could fill the log. Six
 * lines per minute still show that the problem continues.
 */
const REPORT_PERIOD_MS = 10_000;

export interface WorkerReportsOptions {
  sessionId: string;
  link: Pick<SessionLink, 'metrics' | 'signaling'>;
  events: TraceEvents;
  clock: Clock;
  logger: Logger;
}

/**
 * Forwards a media worker's messages to the control plane. A worker runs as the session's user and receives data from
 * the network. A worker or viewer must not overload the link that all sessions of the host share, so malformed messages
 * and messages over a limit are dropped. Lossy events have a separate limit, so that a flood of them does not cause
 * reliable events to be dropped. Dropped messages are counted in the log.
 */
export class WorkerReports {
  readonly #options: WorkerReportsOptions;
  readonly #budgets: Record<Kind, TokenBucket>;
  #dropped: Partial<Record<Kind, number>> = {};
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: WorkerReportsOptions) {
    this.#options = options;
    const budget = (kind: Kind) => new TokenBucket(...BUDGETS[kind], options.clock.monotonicMs());
    this.#budgets = {
      lossy_event: budget('lossy_event'),
      reliable_event: budget('reliable_event'),
      metrics: budget('metrics'),
      signaling: budget('signaling'),
      log: budget('log'),
      input_device: budget('input_device'),
    };
  }

  event({ event, ts, payload }: Said<'event'>): void {
    // Dropped, because only the agent writes recordings and may report their results.
    if (event === 'session.recording') return;
    if (this.#allows(isReliableEvent(event) ? 'reliable_event' : 'lossy_event'))
      this.#options.events.send(event, payload, ts);
  }

  /**
   * @param readState returns values that the session adds; called only if the message is forwarded, because it may scan
   * all processes
   */
  metrics(
    { ts, window_ms, metrics }: Said<'metrics'>,
    readState: () => Pick<SessionMetrics, 'app_launch_state' | 'idle_ends_in_s'>,
  ): void {
    if (!this.#allows('metrics')) return;
    const { sessionId: session_id, link } = this.#options;
    const parsed = sessionMetricsSchema.safeParse({
      type: 'session_metrics',
      session_id,
      ts,
      window_ms,
      metrics,
      ...readState(),
    });
    if (parsed.success) link.metrics(parsed.data);
  }

  signal({ conn, msg }: Said<'signal'>): void {
    if (!this.#allows('signaling')) return;
    const { sessionId: session_id, link } = this.#options;
    const parsed = agentSignal.safeParse(msg);
    if (parsed.success) link.signaling({ type: 'signaling', session_id, conn, msg: parsed.data });
  }

  log({ level, event, fields }: Said<'log'>, worker: number): void {
    if (!this.#allows('log')) return;
    const bytes = Buffer.byteLength(JSON.stringify(fields));
    const kept = bytes <= LOG_FIELDS_BYTES ? fields : { oversize_bytes: bytes };
    this.#options.logger[level]({ ...kept, worker }, event);
  }

  /** Whether the limit permits the look-up of another device that the worker has created. */
  takeInputDevice(): boolean {
    return this.#allows('input_device');
  }

  /** Called at the end; logs the number of dropped messages. */
  close(): void {
    this.#reportDropped();
  }

  #allows(kind: Kind): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#budgets[kind].take(nowMs)) return true;
    this.#dropped[kind] = (this.#dropped[kind] ?? 0) + 1;
    if (nowMs - this.#reportedAtMs >= REPORT_PERIOD_MS) this.#reportDropped();
    return false;
  }

  #reportDropped(): void {
    if (Object.keys(this.#dropped).length === 0) return;
    this.#reportedAtMs = this.#options.clock.monotonicMs();
    this.#options.logger.warn({ dropped: this.#dropped }, 'session.worker_messages_dropped');
    this.#dropped = {};
  }
}
