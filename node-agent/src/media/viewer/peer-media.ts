import type { StreamSpec } from '@footlight/protocol/agent';
import type { Track } from 'node-datachannel';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import { RateWindow } from '../input/input-guard.ts';
import { Drain } from '../rate/drain.ts';
import { BandwidthEstimate, type PathView } from '../rate/estimate.ts';
import { LossShare } from '../rate/loss.ts';
import { type ProbeResult, ProbeRun } from '../rate/probe.ts';
import { PROBE_MS } from '../rate/rate-control.ts';
import { TransportFeedback } from '../rate/transport-feedback.ts';
import { type ReferenceTime, writeDelaySinceReference } from '../rtp/extended-report.ts';
import { isKeyframe } from '../rtp/keyframe.ts';
import { RetransmitRing } from '../rtp/nack-ring.ts';
import { Pacer } from '../rtp/pacer.ts';
import { type PlayoutChange, PlayoutDelay } from '../rtp/playout-delay.ts';
import {
  type PacketArrival,
  type ReceptionReport,
  type RtcpFeedback,
  readRtcp,
  roundTripMs,
  writeSenderReport,
} from '../rtp/rtcp.ts';
import { RtpSender, TransportSequence } from '../rtp/rtp-sender.ts';
import { type MediaClock, wallTimeOf } from '../session/media-clock.ts';
import type { ExtensionName } from '../webrtc/rtp-extensions.ts';
import {
  AUDIO_CLOCK_HZ,
  AUDIO_PAYLOAD_TYPE,
  VIDEO_CLOCK_HZ,
  VIDEO_PAYLOAD_TYPE,
} from '../webrtc/sdp-offer.ts';
import { LossRepair } from './loss-repair.ts';

/**
 * Media of one peer connection: RTP out, RTCP both ways.
 *
 * States: idle → ready (a path exists, keys do not) → running → idle. From ready on the picture is kept from a
 * keyframe, which start() sends at once. No picture is sent before a keyframe, because a viewer could not decode it.
 *
 * hold() stops sending until the queue on the path is empty: waiting packets are dropped before they get a number, so
 * numbers stay contiguous. Then onDrained() is called, and the next picture is a keyframe.
 */

interface OwnedTrack {
  track: Track;
  ssrc: number;
}

export interface PeerMediaOptions {
  stream: StreamSpec;
  clock: MediaClock;
  cname: string;
  random32(): number;
  video: OwnedTrack;
  audio: OwnedTrack | null;
  onKeyframeWanted(): void;
}

/** Path events for the owner; set once. */
export interface PathListener {
  /** With every feedback, and a few times a second. */
  onPath(path: PathView, nowMs: number): void;
  onDrained(nowMs: number): void;
  onProbed(result: ProbeResult, nowMs: number): void;
}

/** Sent and received since the last takeCounts(). */
export interface PeerMediaCounts {
  /** Frames, packets, and bytes before encryption; marker packets count as frames. */
  frames: number;
  bytes: number;
  resent: number;
  malformedRtcp: number;
}

interface PacedPacket {
  packet: Buffer;
  /** Whether a keyframe starts with it. */
  isStart: boolean;
  captureTimeMs: number | null;
}

const REPORT_MS = 1_000;
/**
 * Times after connecting at which another keyframe is made while no feedback about the picture has arrived: a
 * keyframe that is sent before the viewer has its keys is lost, and not every viewer requests another one.
 */
const KEYFRAME_AGAIN_MS = [150, 600] as const;
/** Frames kept for a connection without keys; the key exchange takes two round trips. */
const MAX_KEPT_FRAMES = 12;
/** Interval of the checks during a drain or probe. */
const PATH_TICK_MS = 10;
/** Time without a path event after which look() makes one. */
const SILENT_PATH_MS = 100;
/** Time since the last path event after which a sent picture makes one, which saves a wake-up. */
const PATH_WITH_PICTURE_MS = 60;
/** Padding packets per tick: enough for 8 Mbit/s without a burst. */
const MAX_PADDING_PER_TICK = 40;
/** RTCP packets of a viewer per second; a browser with heavy loss sends a tenth of that. */
const RTCP_PER_SECOND = 500;
/** Sound's share of the estimate before its own rate is known, kbit/s. */
const SOUND_KBPS = 160;

export class PeerMedia {
  readonly #options: PeerMediaOptions;
  readonly #video: RtpSender;
  readonly #audio: RtpSender | null;
  readonly #repair: LossRepair;
  readonly #pacer: Pacer<PacedPacket>;
  readonly #playout: PlayoutDelay;
  readonly #transport = new TransportFeedback();
  #audioAccepted = false;
  #running = false;
  /** Since ready(): a keyframe and its followers, oldest first; null = nothing is kept. */
  #kept: EncodedFrame[] | null = null;
  #awaitingKeyframe = true;
  /** Newest time of the viewer, with its arrival. */
  #viewerTime: { time: ReferenceTime; heardAtMs: number } | null = null;
  #rttMs = 0;
  #jitterMs = 0;
  readonly #estimate: BandwidthEstimate;
  readonly #losses = new LossShare();
  #drain: Drain | null = null;
  #probe: { run: ProbeRun; kbps: number } | null = null;
  #pathTimer: NodeJS.Timeout | null = null;
  #pathToldAtMs = 0;
  #reports: NodeJS.Timeout | null = null;
  #repeats: NodeJS.Timeout[] = [];
  readonly #rtcp = new RateWindow(RTCP_PER_SECOND);
  /** Whether any RTCP arrived. */
  #heard = false;
  #lastVideo: { timestamp: number; capturedAtMs: number } | null = null;
  #lastAudio: { timestamp: number; capturedAtMs: number } | null = null;
  #counts: PeerMediaCounts = { frames: 0, bytes: 0, resent: 0, malformedRtcp: 0 };
  /** Called with each change of the playout delay; set by the owner. */
  onPlayoutChanged: (change: PlayoutChange) => void = () => undefined;
  /** Path events; set by the owner. */
  path: PathListener = { onPath: () => undefined, onDrained: () => undefined, onProbed: () => undefined };

  constructor(options: PeerMediaOptions) {
    this.#options = options;
    const { stream, random32, video, audio, clock } = options;
    const transport = new TransportSequence(random32());
    const ring = new RetransmitRing(stream.bitrate_kbps);
    const identity = (ssrc: number, payloadType: number) => ({
      ssrc,
      payloadType,
      // Far from the wrap, because some receivers misjudge a roll-over among their first packets.
      firstSequence: random32() & 0x7fff,
      timestampOffset: random32(),
    });
    this.#video = new RtpSender(identity(video.ssrc, VIDEO_PAYLOAD_TYPE), transport, ring);
    this.#audio = audio ? new RtpSender(identity(audio.ssrc, AUDIO_PAYLOAD_TYPE), transport, null) : null;
    this.#playout = new PlayoutDelay(stream.playout0_ms);
    this.#estimate = new BandwidthEstimate(stream.bitrate_kbps + (audio ? SOUND_KBPS : 0));
    this.#pacer = new Pacer<PacedPacket>({
      rateKbps: stream.bitrate_kbps,
      monotonicMs: () => clock.monotonicMs(),
      send: (paced) => this.#sendVideo(paced),
      onOverflow: () => {
        this.#awaitingKeyframe = true;
        options.onKeyframeWanted();
      },
    });
    this.#repair = new LossRepair({
      sender: this.#video,
      monotonicMs: () => clock.monotonicMs(),
      path: () => {
        const { kbps, queueingDelayMs } = this.#estimate.view;
        return { kbps: kbps ?? stream.bitrate_kbps, rttMs: this.#rttMs, queueingDelayMs };
      },
      isIdle: () => this.#running && !this.#drain && this.#pacer.queuedBytes === 0,
      send: (packet) => this.#sendCounted(packet),
      onKeyframeWanted: options.onKeyframeWanted,
    });
    for (const owned of [video, audio]) owned?.track.onMessage((data) => this.#onRtcp(data));
  }

  /** Round trip from receiver reports, milliseconds; 0 = not measured. */
  get rttMs(): number {
    return this.#rttMs;
  }

  get jitterMs(): number {
    return this.#jitterMs;
  }

  /** Path facts for the picture, without the rate of sound. */
  get pathView(): PathView {
    const view = this.#estimate.view;
    return view.kbps === null ? view : { ...view, kbps: Math.max(1, view.kbps - this.#soundKbps) };
  }

  get #soundKbps(): number {
    return this.#audioAccepted ? SOUND_KBPS : 0;
  }

  /** Current largest playout delay, milliseconds. */
  get playoutMaxMs(): number {
    return this.#playout.maxMs;
  }

  /** @param audio null when the viewer refused sound */
  accept(video: ReadonlySet<ExtensionName>, audio: ReadonlySet<ExtensionName> | null): void {
    this.#video.accept(video);
    this.#audioAccepted = audio !== null;
    if (audio) this.#audio?.accept(audio);
  }

  /** A path exists and the key exchange runs: the encoder need not wait for it. */
  ready(): void {
    if (this.#running || this.#kept) return;
    this.#kept = [];
    this.#options.onKeyframeWanted();
  }

  /** Both sides have keys. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#awaitingKeyframe = true;
    const kept = this.#kept ?? [];
    this.#kept = null;
    for (const frame of kept) this.sendFrame(frame);
    if (this.#awaitingKeyframe) this.#options.onKeyframeWanted();
    this.#reports = setInterval(() => this.#tick(), REPORT_MS);
    this.#repeats = KEYFRAME_AGAIN_MS.map((afterMs) =>
      setTimeout(() => {
        if (!this.#heard) this.#options.onKeyframeWanted();
      }, afterMs),
    );
  }

  close(): void {
    this.#running = false;
    this.#kept = null;
    this.#pacer.clear();
    this.#repair.close();
    if (this.#reports) clearInterval(this.#reports);
    this.#reports = null;
    if (this.#pathTimer) clearTimeout(this.#pathTimer);
    this.#pathTimer = null;
    for (const timer of this.#repeats) clearTimeout(timer);
  }

  /** Call a few times a second: makes a path event when neither pictures nor reports do. */
  look(): void {
    if (this.#running) this.#tellSilentPath(this.#options.clock.monotonicMs());
  }

  setRate(bitrateKbps: number): void {
    this.#pacer.setRate(bitrateKbps);
  }

  /** Stops sending until the queue on the path has drained; then onDrained() is called. */
  hold(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#pacer.clear();
    this.#probe = null;
    this.#estimate.held();
    this.#drain = new Drain(this.#transport.backlogBytes, this.#linkKbps, this.#rttMs, nowMs);
    this.#watchPath();
  }

  /** Fills up with padding to a rate for PROBE_MS; onProbed() gets the result. */
  probe(kbps: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#probe = { run: new ProbeRun(this.#estimate.view.queueingDelayMs, nowMs), kbps };
    this.#watchPath();
  }

  get #linkKbps(): number {
    const { kbps } = this.#estimate.view;
    return this.#estimate.linkKbps ?? kbps ?? this.#options.stream.bitrate_kbps;
  }

  /** @returns the frame's RTP timestamp for this viewer; null when it was not sent */
  sendFrame(frame: EncodedFrame): number | null {
    if (!this.#running) {
      this.#keep(frame);
      return null;
    }
    if (this.#drain) {
      this.#awaitingKeyframe = true;
      return null;
    }
    const isStart = isKeyframe(this.#options.stream.codec, frame.packets);
    if (this.#awaitingKeyframe) {
      if (!isStart) return null;
      this.#awaitingKeyframe = false;
    }
    const { clock } = this.#options;
    const captureTimeMs = wallTimeOf(frame.capturedAtMs, clock);
    frame.packets.forEach((packet, index) => {
      const isFirst = index === 0;
      const paced = { packet, isStart: isStart && isFirst, captureTimeMs: isFirst ? captureTimeMs : null };
      this.#pacer.push(paced, packet.length);
    });
    const timestamp = this.#video.mapTimestamp(frame.rtpTimestamp);
    this.#lastVideo = { timestamp, capturedAtMs: frame.capturedAtMs };
    this.#counts.frames++;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#pathToldAtMs >= PATH_WITH_PICTURE_MS) this.#tellPath(nowMs);
    return timestamp;
  }

  #keep(frame: EncodedFrame): void {
    if (!this.#kept) return;
    const isStart = isKeyframe(this.#options.stream.codec, frame.packets);
    // A newer keyframe replaces the older frames; a gap also needs a new keyframe.
    if (isStart || this.#kept.length >= MAX_KEPT_FRAMES) this.#kept = [];
    if (isStart || this.#kept.length > 0) this.#kept.push(frame);
  }

  sendAudio(audio: AudioPacket): void {
    if (!this.#running || this.#drain || !this.#audio || !this.#audioAccepted) return;
    const { clock } = this.#options;
    // Sound bypasses the pacer, because it is small and suffers most from waiting.
    const wrapped = this.#audio.wrap(
      audio.packet,
      { playoutDelay: this.#playoutDelay(), captureTimeMs: wallTimeOf(audio.capturedAtMs, clock) },
      clock.monotonicMs(),
    );
    if (!wrapped) return;
    this.#lastAudio = { timestamp: wrapped.timestamp, capturedAtMs: audio.capturedAtMs };
    this.#noteSent(wrapped.transportSequence, wrapped.data.length);
    this.#send(this.#options.audio, wrapped.data);
  }

  /** The viewer reported a freeze. */
  onFreeze(): void {
    this.#reportPlayout(this.#playout.onFreeze(this.#options.clock.monotonicMs()));
  }

  takeCounts(): PeerMediaCounts {
    const counts = this.#counts;
    this.#counts = { frames: 0, bytes: 0, resent: 0, malformedRtcp: 0 };
    return counts;
  }

  #playoutDelay() {
    return { minMs: 0, maxMs: this.#playout.maxMs };
  }

  #sendVideo(paced: PacedPacket): void {
    const { clock } = this.#options;
    const wrapped = this.#video.wrap(
      paced.packet,
      { playoutDelay: this.#playoutDelay(), captureTimeMs: paced.captureTimeMs ?? undefined },
      clock.monotonicMs(),
    );
    if (!wrapped) return;
    this.#repair.sent(wrapped, paced.isStart);
    this.#counts.bytes += wrapped.data.length;
    this.#noteSent(wrapped.transportSequence, wrapped.data.length);
    this.#send(this.#options.video, wrapped.data);
  }

  #noteSent(transportSequence: number | null, bytes: number): void {
    if (transportSequence === null) return;
    this.#transport.sent(transportSequence, this.#options.clock.monotonicMs(), bytes);
    this.#probe?.run.sent(transportSequence, bytes);
  }

  #send(owned: OwnedTrack | null, data: Buffer): void {
    try {
      owned?.track.sendMessageBinary(data);
    } catch {
      // The track is closed; the connection's own event follows.
    }
  }

  #onRtcp(data: Buffer): void {
    if (!this.#running || !this.#rtcp.take(this.#options.clock.monotonicMs())) return;
    const { feedback, malformed } = readRtcp(data);
    this.#heard ||= feedback.length > 0;
    this.#counts.malformedRtcp += malformed;
    for (const item of feedback) this.#onFeedback(item);
  }

  #onFeedback(feedback: RtcpFeedback): void {
    const nowMs = this.#options.clock.monotonicMs();
    switch (feedback.kind) {
      case 'pli':
      case 'fir':
        // A keyframe follows the drain anyway.
        if (!this.#drain) this.#options.onKeyframeWanted();
        return;
      case 'nack':
        if (this.#drain || feedback.ssrc !== this.#video.identity.ssrc) return;
        this.#counts.resent += this.#repair.asked(feedback.lost);
        return;
      case 'remb':
        this.#estimate.onRemb(feedback.bitrateKbps);
        this.#tellPath(nowMs);
        return;
      case 'transport':
        this.#onTransport(feedback.arrivals, nowMs);
        return;
      case 'report':
        this.#onReport(feedback.report, nowMs);
        return;
      case 'time':
        this.#viewerTime = { time: feedback.time, heardAtMs: nowMs };
        return;
    }
  }

  #sendCounted({ data, transportSequence }: { data: Buffer; transportSequence: number | null }): void {
    this.#counts.bytes += data.length;
    this.#noteSent(transportSequence, data.length);
    this.#send(this.#options.video, data);
  }

  #onTransport(arrivals: readonly PacketArrival[], nowMs: number): void {
    const report = this.#transport.received(arrivals);
    this.#estimate.onFeedback(report.flights, nowMs);
    this.#drain?.heard(this.#transport.backlogBytes, this.#linkKbps, nowMs);
    this.#endProbe(this.#probe?.run.heard(report) ?? null, nowMs);
    this.#tellPath(nowMs);
    this.#settleDrain(nowMs);
  }

  #tellPath(nowMs: number): void {
    this.#pathToldAtMs = nowMs;
    this.path.onPath(this.pathView, nowMs);
  }

  /** Runs a timer only during a drain or probe, so that a calm session has no further wake-ups. */
  #watchPath(): void {
    if (this.#pathTimer) clearTimeout(this.#pathTimer);
    this.#pathTimer = null;
    if (!this.#running || !(this.#drain || this.#probe)) return;
    this.#pathTimer = setTimeout(() => this.#tickPath(), PATH_TICK_MS);
  }

  #tickPath(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#settleDrain(nowMs);
    this.#pad(nowMs);
    this.#endProbe(this.#probe?.run.overdue(this.#rttMs, nowMs) ?? null, nowMs);
    this.#tellSilentPath(nowMs);
    this.#watchPath();
  }

  #tellSilentPath(nowMs: number): void {
    if (nowMs - this.#pathToldAtMs >= SILENT_PATH_MS) this.#tellPath(nowMs);
  }

  #settleDrain(nowMs: number): void {
    if (!this.#drain?.isOver(nowMs)) return;
    this.#drain = null;
    this.#awaitingKeyframe = true;
    this.#estimate.drained(nowMs);
    this.path.onDrained(nowMs);
  }

  /** Sends the padding that the probe's rate lacks; the picture's packets count. */
  #pad(nowMs: number): void {
    if (!this.#probe?.run.isSending) return;
    const { run, kbps } = this.#probe;
    const elapsedMs = nowMs - run.startedAtMs;
    if (elapsedMs >= PROBE_MS) {
      run.end(nowMs);
      return;
    }
    for (let count = 0; count < MAX_PADDING_PER_TICK && run.sentBytes * 8 < kbps * elapsedMs; count++) {
      const packet = this.#pacer.queuedBytes === 0 ? this.#video.pad(nowMs) : null;
      if (!packet) return;
      this.#sendCounted(packet);
    }
  }

  #endProbe(result: ProbeResult | null, nowMs: number): void {
    if (!result) return;
    this.#probe = null;
    this.#estimate.onProbe(result.receivedKbps, result.clean);
    this.path.onProbed(
      { ...result, receivedKbps: Math.max(0, result.receivedKbps - this.#soundKbps) },
      nowMs,
    );
  }

  #onReport(report: ReceptionReport, nowMs: number): void {
    if (report.ssrc !== this.#video.identity.ssrc) return;
    const rttMs = roundTripMs(report, this.#options.clock.wallMs());
    if (rttMs !== null) this.#rttMs = rttMs;
    const lost = this.#losses.report(report, nowMs);
    if (lost !== null) this.#estimate.onLoss(lost, nowMs);
    this.#jitterMs = (report.jitter / VIDEO_CLOCK_HZ) * 1000;
    this.#reportPlayout(this.#playout.onReport({ rttMs, jitterMs: this.#jitterMs }, nowMs));
  }

  #reportPlayout(change: PlayoutChange | null): void {
    if (change) this.onPlayoutChanged(change);
  }

  #tick(): void {
    this.#reportPlayout(this.#playout.onTick(this.#options.clock.monotonicMs()));
    this.#report(this.#options.video, this.#video, this.#lastVideo, VIDEO_CLOCK_HZ);
    if (this.#audio) this.#report(this.#options.audio, this.#audio, this.#lastAudio, AUDIO_CLOCK_HZ);
  }

  #report(
    owned: OwnedTrack | null,
    sender: RtpSender,
    last: { timestamp: number; capturedAtMs: number } | null,
    clockHz: number,
  ): void {
    if (!last || !owned) return;
    const { clock, cname } = this.#options;
    const elapsedMs = clock.monotonicMs() - last.capturedAtMs;
    const { packets, payloadBytes } = sender.sent;
    const report = writeSenderReport({
      ssrc: owned.ssrc,
      cname,
      nowMs: clock.wallMs(),
      rtpTimestamp: (last.timestamp + Math.round((elapsedMs * clockHz) / 1000)) >>> 0,
      packets,
      payloadBytes,
    });
    const heard = this.#viewerTime;
    if (!heard) {
      this.#send(owned, report);
      return;
    }
    const delayMs = clock.monotonicMs() - heard.heardAtMs;
    this.#send(owned, Buffer.concat([report, writeDelaySinceReference(owned.ssrc, heard.time, delayMs)]));
  }
}
