import type { Timer } from '@footlight/platform/timer';
import type { ClientMetrics } from '@footlight/protocol/telemetry';
import type { ShownFrame } from '../media/picture.ts';
import type { ClockRecord, Environment, StreamStats } from '../types.ts';
import { ClickToPhoton } from './delay/click-to-photon.ts';
import { type ClockFacts, DelayParts, type HostFrameTimes } from './delay/delay-parts.ts';
import { judgeDevice } from './device-health.ts';
import { FreezeDetector, Presentation } from './presentation.ts';
import { judgeQuality, type SecondFacts } from './quality.ts';
import { RefreshRate } from './refresh-rate.ts';
import { type Comparison, compare, type RawSample, readReport, StuckDetector } from './report.ts';

/** Period of the measurement. It is one second, so a count of a period is already a rate per second. */
const EVERY_MS = 1_000;
/**
 * Period of the look for a silence. The page must name a lost network within 2 s, and a look every second would find a
 * silence of a second only after up to 2 s.
 */
const LOOK_MS = 500;
/** A silence is about a second; less than two looks, because timers can be a little early. */
const SILENT_MS = 2 * LOOK_MS - 100;
/** Smaller changes of the jitter buffer's target delay are ignored as noise. */
const PLAYOUT_STEP_MS = 10;

export interface Measured {
  connection: RTCPeerConnection;
  captureTimeNegotiated: boolean;
}

export interface MeterHooks {
  measured(): Measured | null;
  targetFps(): number;
  clock(): ClockRecord | null;
  onStats(stats: StreamStats): void;
  /** called when frames were decoded in this second */
  onDecoded(): void;
  onStuck(): void;
  /** called when nothing arrived for a second, no packets and no answer to a ping */
  onSilent(): void;
  onFreeze(gapMs: number): void;
  onPlayoutChange(fromMs: number, toMs: number): void;
}

/**
 * Measures the stream every second: the browser's counters, shown frames, completed presses.
 *
 * Runs from its construction. Owns the timer of the seconds and the measurement of the refresh rate, which dispose()
 * frees. reset() starts again for another connection.
 */
export class Meter {
  readonly clicks = new ClickToPhoton();
  readonly #parts = new DelayParts();
  #environment: Pick<Environment, 'monotonicMs' | 'nowUnixMs' | 'setInterval'>;
  #hooks: MeterHooks;
  #presentation = new Presentation();
  #freezes = new FreezeDetector();
  #stuck = new StuckDetector();
  #refresh: RefreshRate;
  #timer: Timer;
  #before: RawSample | null = null;
  /** The newest byte count of the path, and when it was first read. */
  #heard: { bytes: number | undefined; atMs: number } = { bytes: undefined, atMs: 0 };
  #sampling = false;
  #encodeMs: number | null = null;
  #playoutMs: number | null = null;

  constructor(
    environment: Pick<Environment, 'monotonicMs' | 'nowUnixMs' | 'setInterval'>,
    hooks: MeterHooks,
  ) {
    this.#environment = environment;
    this.#hooks = hooks;
    this.#refresh = new RefreshRate(environment);
    this.#timer = environment.setInterval(() => void this.#sample(), LOOK_MS);
  }

  /** Starts again for another connection. */
  reset(): void {
    this.#before = null;
    this.#heard = { bytes: undefined, atMs: 0 };
    this.#encodeMs = null;
    this.#stuck.reset();
    this.#presentation.reset();
    this.interrupt();
    this.#parts.reset();
  }

  /**
   * The page was hidden or shown. Intervals that contain this moment are not counted: intervals between frames, and
   * from a press to its frame.
   */
  interrupt(): void {
    this.#presentation.forget();
    this.#freezes.reset();
    this.clicks.reset();
  }

  frame(frame: ShownFrame): void {
    if (document.hidden) {
      this.interrupt();
      return;
    }
    const { rtpTimestamp } = frame;
    if (rtpTimestamp !== null) {
      this.clicks.frame(rtpTimestamp, frame.displayMs);
      this.#parts.frame({ ...frame, rtpTimestamp });
    }
    const interval = this.#presentation.add(frame);
    if (interval !== null && this.#freezes.add(interval)) this.#hooks.onFreeze(interval);
  }

  /** The host reported a frame. Encode time 0: the host did not observe when the frame entered the encoder. */
  timed(frame: HostFrameTimes): void {
    if (frame.encode_ms > 0) this.#encodeMs = frame.encode_ms;
    this.#parts.timed(frame);
  }

  dispose(): void {
    this.#timer.cancel();
    this.#refresh.dispose();
  }

  async #sample(): Promise<void> {
    const measured = this.#hooks.measured();
    if (measured === null || this.#sampling) return;
    this.#sampling = true;
    try {
      const report = await measured.connection.getStats();
      if (this.#hooks.measured()?.connection !== measured.connection) return;
      const now = readReport(
        (report as unknown as Map<string, unknown>).values(),
        this.#environment.monotonicMs(),
      );
      this.#listen(now);
      const before = this.#before;
      if (before !== null && now.atMs - before.atMs < EVERY_MS - LOOK_MS / 2) return;
      this.#before = now;
      // These results are read in every second, so that the first report contains only one second.
      const shown = { ...this.#presentation.take(), ...this.clicks.take() };
      if (before !== null) this.#report(measured, now, compare(before, now), shown);
    } catch {
      // The result is dropped if the connection closes during the query.
    } finally {
      this.#sampling = false;
    }
  }

  /** Looks for a silence. A path on which nothing has arrived yet is not silent. */
  #listen({ pathBytes: bytes, atMs }: RawSample): void {
    if (bytes !== this.#heard.bytes) this.#heard = { bytes, atMs };
    else if (bytes && atMs - this.#heard.atMs >= SILENT_MS) this.#hooks.onSilent();
  }

  #report(measured: Measured, now: RawSample, second: Comparison, shown: ClientMetrics): void {
    const { hidden } = document;
    if ((second.decoded ?? 0) > 0) this.#hooks.onDecoded();
    if (this.#stuck.add(second, now.atMs, hidden)) this.#hooks.onStuck();
    const all: ClientMetrics = {
      ...second.metrics,
      ...shown,
      is_hidden: hidden,
      abs_capture_time_negotiated: measured.captureTimeNegotiated,
    };
    if (this.#refresh.hz !== null) all.display_refresh_hz = this.#refresh.hz;
    if (this.#encodeMs !== null) all.encode_ms = this.#encodeMs;
    this.#encodeMs = null;
    const metrics = rounded(derive(all));
    this.#watchPlayout(metrics.playout_target_ms);
    const clock = this.#hooks.clock();
    const delay = this.#parts.take(this.#clockFacts(clock, now.rtt));
    const facts: SecondFacts = {
      targetFps: this.#hooks.targetFps(),
      loss: second.loss,
      received: second.received,
      decoded: second.decoded,
      dropped: second.dropped,
      freezes: second.freezes,
      hidden,
    };
    const { health, reason } = judgeDevice(metrics, facts);
    this.#hooks.onStats({
      ts_unix_ms: Math.round(this.#environment.nowUnixMs()),
      metrics,
      client_health: health,
      client_health_reason: reason,
      codec_mime_type: now.mimeType,
      width: now.width,
      height: now.height,
      loss: second.loss,
      path: now.path,
      quality: judgeQuality(metrics, facts, health, delay),
      clock,
      delay,
    });
  }

  #clockFacts(clock: ClockRecord | null, rttSecs: number | undefined): ClockFacts | null {
    if (clock === null || rttSecs === undefined) return null;
    const originUnixMs = this.#environment.nowUnixMs() - this.#environment.monotonicMs();
    return { offsetMs: clock.client_offset_ms, originUnixMs, rttMs: rttSecs * 1000 };
  }

  #watchPlayout(target: number | boolean | undefined): void {
    if (typeof target !== 'number') return;
    const before = this.#playoutMs;
    if (before !== null && Math.abs(target - before) < PLAYOUT_STEP_MS) return;
    this.#playoutMs = target;
    if (before !== null) this.#hooks.onPlayoutChange(before, target);
  }
}

/** Splits capture-to-display into network and the rest. */
function derive(metrics: ClientMetrics): ClientMetrics {
  const { rtt_ms: rtt, jitter_buffer_ms: buffer, rvfc_capture_to_display_ms: total } = metrics;
  if (typeof rtt !== 'number') return metrics;
  const network_pacing_ms = rtt / 2;
  if (typeof buffer !== 'number' || typeof total !== 'number') return { ...metrics, network_pacing_ms };
  return { ...metrics, network_pacing_ms, decode_display_ms: total - network_pacing_ms - buffer };
}

/** Rounds to three decimals (1 µs). With all digits of every number, a post of MAX_POSTED samples would be too long. */
function rounded(metrics: ClientMetrics): ClientMetrics {
  return Object.fromEntries(
    Object.entries(metrics).map(([key, value]) => [
      key,
      typeof value === 'number' ? Number(value.toFixed(3)) : value,
    ]),
  );
}
