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
 * States: idle → ready (a path is found, keys are not) → running → idle. From ready on the picture is kept from a
 * keyframe, which start() sends at once; nothing else is sent before it, and no picture before a keyframe, since a
 * viewer could not decode it.
 *
 * hold() stops everything until the queue on the path is empty: what waits is dropped, before it has a number, so that
 * numbers stay contiguous; then onDrained() is told, and the next picture that leaves is a keyframe.
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

/** What the owner hears of the path; set once, by the owner. */
export interface PathListener {
  /** With every feedback, and a few times a second. */
  onPath(path: PathView, nowMs: number): void;
  onDrained(nowMs: number): void;
  onProbed(result: ProbeResult, nowMs: number): void;
}

/** What went out and came in since the last call of takeCounts(). */
export interface PeerMediaCounts {
  /** Frames, packets and bytes before protection; marker packets are frames. */
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
 * A keyframe that leaves before the other end has its keys is lost, and not every viewer asks for another. So while
 * nothing has been heard of the picture's arrival, another one is made at these times after connecting.
 */
const KEYFRAME_AGAIN_MS = [150, 600] as const;
/** Frames kept for a connection that is about to have its keys; that takes two round trips. */
const MAX_KEPT_FRAMES = 12;
/** How often a drain and a probe are looked at. */
const PATH_TICK_MS = 10;
/** After this long without a word of the path the owner hears of it at the next look. */
const SILENT_PATH_MS = 100;
/** A picture that goes out this long after the owner heard last spares the wake-up. */
const PATH_WITH_PICTURE_MS = 60;
/** Padding of one tick: enough for 8 Mbit/s, and no burst of its own. */
const MAX_PADDING_PER_TICK = 40;
/** What a viewer may say of the path in a second; a browser that loses a lot says a tenth of it. */
const RTCP_PER_SECOND = 500;
/** Kept out of the estimate for sound before its own rate is known, kbit/s. */
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
  /** Since ready(): a keyframe and what followed it, oldest first; null = nothing is kept. */
  #kept: EncodedFrame[] | null = null;
  #awaitingKeyframe = true;
  /** Newest time that the viewer said it has, and when that was heard. */
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
  /** Whether any RTCP came from the viewer. */
  #heard = false;
  #lastVideo: { timestamp: number; capturedAtMs: number } | null = null;
  #lastAudio: { timestamp: number; capturedAtMs: number } | null = null;
  #counts: PeerMediaCounts = { frames: 0, bytes: 0, resent: 0, malformedRtcp: 0 };
  /** Told of each change of the playout delay; set by the owner. */
  onPlayoutChanged: (change: PlayoutChange) => void = () => undefined;
  /** Told of the path; set by the owner. */
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

  /** What the path carries for the picture; sound has its share already. */
  get pathView(): PathView {
    const view = this.#estimate.view;
    return view.kbps === null ? view : { ...view, kbps: Math.max(1, view.kbps - this.#soundKbps) };
  }

  get #soundKbps(): number {
    return this.#audioAccepted ? SOUND_KBPS : 0;
  }

  /** Largest playout delay stamped now, milliseconds. */
  get playoutMaxMs(): number {
    return this.#playout.maxMs;
  }

  /** @param audio null when the viewer refused sound */
  accept(video: ReadonlySet<ExtensionName>, audio: ReadonlySet<ExtensionName> | null): void {
    this.#video.accept(video);
    this.#audioAccepted = audio !== null;
    if (audio) this.#audio?.accept(audio);
  }

  /** The viewer can be reached, and keys are being agreed on: the encoder need not wait for them. */
  ready(): void {
    if (this.#running || this.#kept) return;
    this.#kept = [];
    this.#options.onKeyframeWanted();
  }

  /** Keys are there on both sides. */
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

  /** To be called a few times a second: the owner hears of a path on which neither pictures go nor reports come. */
  look(): void {
    if (this.#running) this.#tellSilentPath(this.#options.clock.monotonicMs());
  }

  setRate(bitrateKbps: number): void {
    this.#pacer.setRate(bitrateKbps);
  }

  /** Sends nothing until the queue on the path has drained; onDrained() tells when. */
  hold(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#pacer.clear();
    this.#probe = null;
    this.#estimate.held();
    this.#drain = new Drain(this.#transport.backlogBytes, this.#linkKbps, this.#rttMs, nowMs);
    this.#watchPath();
  }

  /** Fills up with padding to a rate for PROBE_MS; onProbed() tells how it went. */
  probe(kbps: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#probe = { run: new ProbeRun(this.#estimate.view.queueingDelayMs, nowMs), kbps };
    this.#watchPath();
  }

  get #linkKbps(): number {
    const { kbps } = this.#estimate.view;
    return this.#estimate.linkKbps ?? kbps ?? this.#options.stream.bitrate_kbps;
  }

  /**
   * @returns the frame's RTP timestamp as this viewer sees it; null when it was not sent
   */
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
    // A newer keyframe makes the older ones useless; so does a gap, after which only a new one helps.
    if (isStart || this.#kept.length >= MAX_KEPT_FRAMES) this.#kept = [];
    if (isStart || this.#kept.length > 0) this.#kept.push(frame);
  }

  sendAudio(audio: AudioPacket): void {
    if (!this.#running || this.#drain || !this.#audio || !this.#audioAccepted) return;
    const { clock } = this.#options;
    // Sound is small and suffers most from waiting: it passes the pacer by.
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
        // While the queue drains a keyframe is due anyhow.
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

  /** Wakes up only while a drain or a probe is under way: a calm session costs no more than its pictures. */
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

  /** As much padding as the probe lacks to its rate; the picture's own packets count. */
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
