import { errorText, type Timer } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import type { CaptureMade, CaptureRequest, EncoderProps } from '../worker/capture-messages.ts';
import { BurstStats } from './burst-stats.ts';
import type { MediaClock } from './media-clock.ts';

const MAX_ERROR_BYTES = 256;

export interface SessionCapturesOptions {
  clock: MediaClock;
  /** The graph of the running pipeline; null: there is no pipeline. */
  graph(): Promise<string> | null;
  /** null: the session has no encoder. */
  encoderProps(): EncoderProps | null;
  /** Current values of rate control. */
  rate(): AgentMetrics;
  answer(request: number, made: CaptureMade): void;
}

/**
 * Captures of one session in its media worker. They use measurements that the session makes anyway, and do not change
 * the pipeline.
 *
 * idle → bursting → idle; captures of other kinds than a burst are answered at once. A newer burst replaces a running
 * one, which then gets no answer. Owner: the media session; close() at its end.
 */
export class SessionCaptures {
  readonly #options: SessionCapturesOptions;
  #burst: BurstStats | null = null;
  #timer: Timer | null = null;

  constructor(options: SessionCapturesOptions) {
    this.#options = options;
  }

  /** The running burst, whose methods must be called for each frame; null: no burst is running. */
  get burst(): BurstStats | null {
    return this.#burst;
  }

  take(request: number, order: CaptureRequest): void {
    const { answer } = this.#options;
    if (order.kind === 'burst_stats') {
      this.#beginBurst(request, order);
      return;
    }
    const made = order.kind === 'pipeline_dot' ? this.#graph() : this.#props();
    made.then(
      (result) => answer(request, result),
      (error) => answer(request, { kind: 'failed', error: cutUtf8(errorText(error), MAX_ERROR_BYTES) }),
    );
  }

  close(): void {
    this.#timer?.cancel();
    this.#burst = null;
  }

  async #graph(): Promise<CaptureMade> {
    const graph = await this.#options.graph();
    if (graph === null) throw new Error('the session has no pipeline');
    return { kind: 'pipeline_dot', graph };
  }

  async #props(): Promise<CaptureMade> {
    const props = this.#options.encoderProps();
    if (props === null) throw new Error('the session has no encoder');
    return { kind: 'encoder_props', props };
  }

  #beginBurst(
    request: number,
    { windows, window_ms }: Extract<CaptureRequest, { kind: 'burst_stats' }>,
  ): void {
    const { answer, clock, rate } = this.#options;
    this.close();
    const burst = new BurstStats(clock.monotonicMs());
    this.#burst = burst;
    this.#timer = clock.setInterval(() => {
      burst.endWindow(clock.monotonicMs(), rate());
      if (burst.windows.length < windows) return;
      this.close();
      answer(request, { kind: 'burst_stats', window_ms, windows: [...burst.windows] });
    }, window_ms);
  }
}
