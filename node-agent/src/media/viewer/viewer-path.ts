import type { Clock, Timer } from '@footlight/platform';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import { Drain } from '../rate/drain.ts';
import { BandwidthEstimate, type PathView } from '../rate/estimate.ts';
import { LossShare } from '../rate/loss.ts';
import { type ProbeResult, ProbeRun } from '../rate/probe.ts';
import { PROBE_MS } from '../rate/rate-control.ts';
import { TransportFeedback } from '../rate/transport-feedback.ts';
import { type PacketArrival, type ReceptionReport, roundTripMs } from '../rtp/rtcp.ts';

/** Receives the events of a path. */
export interface PathListener {
  /** Called with every feedback, and a few times a second. */
  onPath(path: PathView, nowMs: number): void;
  onDrained(nowMs: number): void;
  onProbed(result: ProbeResult, nowMs: number): void;
}

export interface ViewerPathOptions {
  /** Bitrate of the picture at the launch, in kbit/s. */
  launchKbps: number;
  /** Whether sound is offered. */
  audio: boolean;
  clock: Clock;
  /** Sends one padding packet and reports it by sent(). @returns false: padding is not possible now */
  sendPadding(nowMs: number): boolean;
  /** Called when the queue on the path is empty, before the listener is called. */
  onDrained(): void;
}

/** Interval of the checks during a drain or probe. It is shorter than the interval of pictures (17 ms at 60 fps). */
const PATH_TICK_MS = 10;
/** Time without a path event after which poll() triggers one. */
const SILENT_PATH_MS = 100;
/**
 * Time since the last path event after which the next picture also triggers a path event, because this needs no
 * additional wake-up.
 */
const PATH_WITH_PICTURE_MS = 60;
/** Largest number of padding packets per tick: enough for 8 Mbit/s without a burst (255 bytes each, RFC 3550, 5.1). */
const MAX_PADDING_PER_TICK = 40;
/** Part of the estimate that sound uses, in kbit/s: 128 for Opus, and the headers of 100 packets a second. */
const SOUND_KBPS = 160;

/**
 * The network path to one viewer: estimates its bandwidth from feedback, stops sending until its queue is empty (hold),
 * and tests higher rates with padding (probe). Owner: the peer's media, which reports each packet and each feedback;
 * close() once.
 *
 * States: calm → holding → calm, calm → probing → calm. A hold ends a probe.
 */
export class ViewerPath {
  readonly #options: ViewerPathOptions;
  readonly #transport = new TransportFeedback();
  readonly #estimate: BandwidthEstimate;
  readonly #losses = new LossShare();
  #hasSound = false;
  #open = false;
  #drain: Drain | null = null;
  #probe: { run: ProbeRun; kbps: number } | null = null;
  #timer: Timer | null = null;
  #reportedAtMs = 0;
  #rttMs = 0;
  /** Share of lost packets, 0–1; null: not measured. */
  #lost: number | null = null;
  /** Listener of the path's events; the owner replaces it. */
  listener: PathListener = { onPath: () => undefined, onDrained: () => undefined, onProbed: () => undefined };

  constructor(options: ViewerPathOptions) {
    this.#options = options;
    this.#estimate = new BandwidthEstimate(options.launchKbps + (options.audio ? SOUND_KBPS : 0));
  }

  /** Round trip time from receiver reports, in milliseconds; 0: not measured. */
  get rttMs(): number {
    return this.#rttMs;
  }

  /** Metrics of the path; values that were not measured are missing. */
  metrics(): AgentMetrics {
    const metrics: AgentMetrics = {};
    if (this.#rttMs > 0) metrics.rtt_ms = Math.round(this.#rttMs * 10) / 10;
    if (this.#lost !== null) metrics.packet_loss = Math.round(this.#lost * 10_000) / 10_000;
    return metrics;
  }

  /** Whether sending is stopped by hold(). */
  get isHeld(): boolean {
    return this.#drain !== null;
  }

  /** State of the path for the picture, without the rate of sound. */
  get view(): PathView {
    const view = this.#estimate.view;
    return view.kbps === null ? view : { ...view, kbps: Math.max(1, view.kbps - this.#soundKbps) };
  }

  /** Rate and delay for retransmissions, including sound. */
  get repair(): { kbps: number; rttMs: number; queueingDelayMs: number } {
    const { kbps, queueingDelayMs } = this.#estimate.view;
    return { kbps: kbps ?? this.#options.launchKbps, rttMs: this.#rttMs, queueingDelayMs };
  }

  /** Sets whether the viewer accepts sound. */
  acceptSound(accepted: boolean): void {
    this.#hasSound = accepted;
  }

  /** Called when packets may be sent. */
  start(): void {
    this.#open = true;
  }

  close(): void {
    this.#open = false;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Stops sending until the queue on the path has drained. */
  hold(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#probe = null;
    this.#estimate.held();
    this.#drain = new Drain(this.#transport.backlogBytes, this.#linkKbps, this.#rttMs, nowMs);
    this.#watch();
  }

  /** Adds padding up to a rate for PROBE_MS; the listener receives the result. */
  probe(kbps: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#probe = { run: new ProbeRun(this.#estimate.view.queueingDelayMs, nowMs), kbps };
    this.#watch();
  }

  /** Called when a packet was sent. @param transportSequence null: the viewer did not accept the extension */
  sent(transportSequence: number | null, bytes: number): void {
    if (transportSequence === null) return;
    this.#transport.sent(transportSequence, this.#options.clock.monotonicMs(), bytes);
    this.#probe?.run.sent(transportSequence, bytes);
  }

  /** Called when a picture was passed to the pacer. */
  onPicture(nowMs: number): void {
    if (nowMs - this.#reportedAtMs >= PATH_WITH_PICTURE_MS) this.#report(nowMs);
  }

  onTransport(arrivals: readonly PacketArrival[], nowMs: number): void {
    const report = this.#transport.received(arrivals);
    this.#estimate.onFeedback(report.flights, nowMs);
    this.#drain?.heard(this.#transport.backlogBytes, this.#linkKbps, nowMs);
    this.#endProbe(this.#probe?.run.heard(report) ?? null, nowMs);
    this.#report(nowMs);
    this.#settleDrain(nowMs);
  }

  onRemb(bitrateKbps: number, nowMs: number): void {
    this.#estimate.onRemb(bitrateKbps);
    this.#report(nowMs);
  }

  /**
   * Handles a receiver report about the picture.
   * @returns the round trip time in milliseconds; null: the report does not contain it
   */
  onReport(report: ReceptionReport, nowMs: number): number | null {
    const rttMs = roundTripMs(report, this.#options.clock.nowMs());
    if (rttMs !== null) this.#rttMs = rttMs;
    const lost = this.#losses.report(report, nowMs);
    if (lost !== null) {
      this.#lost = lost;
      this.#estimate.onLoss(lost, nowMs);
    }
    return rttMs;
  }

  /** Called a few times a second: triggers a path event if pictures and reports did not trigger one. */
  poll(): void {
    if (this.#open) this.#reportSilence(this.#options.clock.monotonicMs());
  }

  get #soundKbps(): number {
    return this.#hasSound ? SOUND_KBPS : 0;
  }

  get #linkKbps(): number {
    const { kbps } = this.#estimate.view;
    return this.#estimate.linkKbps ?? kbps ?? this.#options.launchKbps;
  }

  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs;
    this.listener.onPath(this.view, nowMs);
  }

  #reportSilence(nowMs: number): void {
    if (nowMs - this.#reportedAtMs >= SILENT_PATH_MS) this.#report(nowMs);
  }

  /** Runs a timer only during a drain or probe, so that the process is not woken more often at other times. */
  #watch(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#open || !(this.#drain || this.#probe)) return;
    this.#timer = this.#options.clock.setTimeout(() => this.#tick(), PATH_TICK_MS);
  }

  #tick(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#settleDrain(nowMs);
    this.#pad(nowMs);
    this.#endProbe(this.#probe?.run.overdue(this.#rttMs, nowMs) ?? null, nowMs);
    this.#reportSilence(nowMs);
    this.#watch();
  }

  #settleDrain(nowMs: number): void {
    if (!this.#drain?.isOver(nowMs)) return;
    this.#drain = null;
    this.#estimate.drained(nowMs);
    this.#options.onDrained();
    this.listener.onDrained(nowMs);
  }

  /** Sends padding until the probe's rate is reached; the picture's packets are included in the rate. */
  #pad(nowMs: number): void {
    if (!this.#probe?.run.isSending) return;
    const { run, kbps } = this.#probe;
    const elapsedMs = nowMs - run.startedAtMs;
    if (elapsedMs >= PROBE_MS) {
      run.end(nowMs);
      return;
    }
    for (let count = 0; count < MAX_PADDING_PER_TICK && run.sentBytes * 8 < kbps * elapsedMs; count++) {
      if (!this.#options.sendPadding(nowMs)) return;
    }
  }

  #endProbe(result: ProbeResult | null, nowMs: number): void {
    if (!result) return;
    this.#probe = null;
    this.#estimate.onProbe(result.receivedKbps, result.clean);
    this.listener.onProbed(
      { ...result, receivedKbps: Math.max(0, result.receivedKbps - this.#soundKbps) },
      nowMs,
    );
  }
}
