import { type Clock, errorText, within } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import {
  type CaptureKind,
  type CaptureOrder,
  clampCapture,
  clampCaptureBudget,
  isCaptureKind,
  type SessionCapture,
} from '@footlight/protocol/agent';
import type { AgentEventType } from '@footlight/protocol/telemetry';
import type { CommandAnswer } from '../../link/ack-store.ts';
import { aborted } from '../life/aborted.ts';
import type { TraceEvents } from '../reports/trace-events.ts';
import { type Captured, failedResult, type PackedResult, packCapture } from './capture-result.ts';

/**
 * Added to the time budget of a capture: time for packing, even after a burst that used the whole budget. Chosen, not
 * measured.
 */
const SLACK_MS = 1_000;
/**
 * Number of stored ids of captures, so that a repeated capture has no second effect. It is the number of captures that
 * a session can make while an ack is stored.
 */
const REMEMBERED = 64;

const EVENTS: Readonly<Record<CaptureKind, AgentEventType>> = {
  pipeline_dot: 'diag.pipeline_dot',
  encoder_props: 'diag.encoder_props',
  burst_stats: 'diag.burst_stats',
  log_tail: 'diag.log_tail',
};

export interface CapturesOptions {
  clock: Clock;
  events: TraceEvents;
  /** Aborts when the session starts to end. */
  ended: AbortSignal;
  /** Whether a capture of this kind is possible now. */
  has(kind: CaptureKind): boolean;
  /** @throws when the capture fails */
  capture(order: CaptureOrder, limitMs: number): Promise<Captured>;
}

/**
 * Captures of one session, one at a time.
 *
 * idle → capturing → idle. Each accepted capture is answered by exactly one event. The event contains an error when the
 * capture fails, takes too long, or the session ends first. Owner: the session.
 */
export class Captures {
  readonly #options: CapturesOptions;
  /** Ids of the newest captures that were accepted. */
  readonly #taken = new Set<string>();
  #capturing = false;

  constructor(options: CapturesOptions) {
    this.#options = options;
  }

  /** Accepts or refuses a capture; an event with the result follows. */
  begin({
    capture_id,
    kind,
    budget,
    params,
  }: Omit<SessionCapture, 'type' | 'id' | 'session_id'>): CommandAnswer {
    if (this.#taken.has(capture_id)) return { ok: true };
    if (!isCaptureKind(kind))
      return { ok: false, code: 'unknown_kind', error: 'this agent does not know it' };
    if (this.#capturing) return { ok: false, code: 'busy', error: 'a capture of this session is under way' };
    if (!this.#options.has(kind))
      return { ok: false, code: 'unsupported', error: `the session has nothing to capture of ${kind} now` };
    this.#remember(capture_id);
    const { max_bytes, max_ms } = clampCaptureBudget(budget);
    void this.#run(capture_id, clampCapture(kind, params, max_ms), max_bytes, max_ms + SLACK_MS);
    return { ok: true };
  }

  /** Runs a capture and sends its event. Never rejects. */
  async #run(capture_id: string, order: CaptureOrder, maxBytes: number, limitMs: number): Promise<void> {
    const { clock, ended, events } = this.#options;
    this.#capturing = true;
    const startedAtMs = clock.monotonicMs();
    const late = failedResult(`it took longer than ${limitMs} ms`);
    const cut = aborted(ended).then(() => failedResult('the session ended'));
    const result = await within(
      clock,
      limitMs,
      Promise.race([this.#pack(order, maxBytes, limitMs), cut]),
      late,
    );
    this.#capturing = false;
    const duration_ms = Math.round(clock.monotonicMs() - startedAtMs);
    const payload = { capture_id, kind: order.kind, ...result, duration_ms };
    events.send(EVENTS[order.kind], payload as JsonObject);
  }

  async #pack(order: CaptureOrder, maxBytes: number, limitMs: number): Promise<PackedResult> {
    try {
      return await packCapture(await this.#options.capture(order, limitMs), maxBytes);
    } catch (error) {
      return failedResult(errorText(error));
    }
  }

  #remember(captureId: string): void {
    this.#taken.add(captureId);
    for (const oldest of this.#taken) {
      if (this.#taken.size <= REMEMBERED) break;
      this.#taken.delete(oldest);
    }
  }
}
