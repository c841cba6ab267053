import type { StreamSpec } from '@footlight/protocol/agent';
import type { Track } from 'node-datachannel';
import type { AudioPacket } from './audio-pipeline.ts';
import { isKeyframe } from './keyframe.ts';
import { type MediaClock, wallTimeOf } from './media-clock.ts';
import { RetransmitRing } from './nack-ring.ts';
import { Pacer } from './pacer.ts';
import { type PlayoutChange, PlayoutDelay } from './playout-delay.ts';
import { type ReceptionReport, type RtcpFeedback, readRtcp, roundTripMs, writeSenderReport } from './rtcp.ts';
import type { ExtensionName } from './rtp-extensions.ts';
import { RtpSender, TransportSequence } from './rtp-sender.ts';
import { AUDIO_CLOCK_HZ, AUDIO_PAYLOAD_TYPE, VIDEO_CLOCK_HZ, VIDEO_PAYLOAD_TYPE } from './sdp-offer.ts';
import { TransportFeedback } from './transport-feedback.ts';
import type { EncodedFrame } from './video-pipeline.ts';

/**
 * Media of one peer connection: RTP out, RTCP both ways.
 *
 * States: idle → ready (a path is found, keys are not) → running → idle. From ready on the picture is kept from a
 * keyframe, which start() sends at once; nothing else is sent before it, and no picture before a keyframe, since a
 * viewer could not decode it.
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
/** At most two keyframes a second for a viewer that asks. */
const KEYFRAME_INTERVAL_MS = 500;

export class PeerMedia {
  readonly #options: PeerMediaOptions;
  readonly #video: RtpSender;
  readonly #audio: RtpSender | null;
  readonly #ring: RetransmitRing;
  readonly #pacer: Pacer<PacedPacket>;
  readonly #playout: PlayoutDelay;
  readonly #transport = new TransportFeedback();
  #audioAccepted = false;
  #running = false;
  /** Since ready(): a keyframe and what followed it, oldest first; null = nothing is kept. */
  #kept: EncodedFrame[] | null = null;
  #awaitingKeyframe = true;
  #rttMs = 0;
  #jitterMs = 0;
  #rembKbps: number | null = null;
  #keyframeAskedAtMs = Number.NEGATIVE_INFINITY;
  #reports: NodeJS.Timeout | null = null;
  #repeats: NodeJS.Timeout[] = [];
  /** Whether any RTCP came from the viewer. */
  #heard = false;
  #lastVideo: { timestamp: number; capturedAtMs: number } | null = null;
  #lastAudio: { timestamp: number; capturedAtMs: number } | null = null;
  #counts: PeerMediaCounts = { frames: 0, bytes: 0, resent: 0, malformedRtcp: 0 };
  /** Told of each change of the playout delay; set by the owner. */
  onPlayoutChanged: (change: PlayoutChange) => void = () => undefined;

  constructor(options: PeerMediaOptions) {
    this.#options = options;
    const { stream, random32, video, audio, clock } = options;
    const transport = new TransportSequence(random32());
    this.#ring = new RetransmitRing(stream.bitrate_kbps);
    const identity = (ssrc: number, payloadType: number) => ({
      ssrc,
      payloadType,
      // Far from the wrap, because some receivers misjudge a roll-over among their first packets.
      firstSequence: random32() & 0x7fff,
      timestampOffset: random32(),
    });
    this.#video = new RtpSender(identity(video.ssrc, VIDEO_PAYLOAD_TYPE), transport, this.#ring);
    this.#audio = audio ? new RtpSender(identity(audio.ssrc, AUDIO_PAYLOAD_TYPE), transport, null) : null;
    this.#playout = new PlayoutDelay(stream.playout0_ms);
    this.#pacer = new Pacer<PacedPacket>({
      rateKbps: stream.bitrate_kbps,
      monotonicMs: () => clock.monotonicMs(),
      send: (paced) => this.#sendVideo(paced),
      onOverflow: () => {
        this.#awaitingKeyframe = true;
        this.#wantKeyframe();
      },
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

  /** Receiver's bandwidth estimate, kbit/s; null when it sends none. */
  get rembKbps(): number | null {
    return this.#rembKbps;
  }

  /** Largest playout delay stamped now, milliseconds. */
  get playoutMaxMs(): number {
    return this.#playout.maxMs;
  }

  /** Arrival times of sent packets, for rate control. */
  get transport(): TransportFeedback {
    return this.#transport;
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
    if (this.#reports) clearInterval(this.#reports);
    this.#reports = null;
    for (const timer of this.#repeats) clearTimeout(timer);
  }

  setRate(bitrateKbps: number): void {
    this.#pacer.setRate(bitrateKbps);
    this.#ring.setRate(bitrateKbps);
  }

  /**
   * @returns the frame's RTP timestamp as this viewer sees it; null when it was not sent
   */
  sendFrame(frame: EncodedFrame): number | null {
    if (!this.#running) {
      this.#keep(frame);
      return null;
    }
    if (this.#awaitingKeyframe) {
      if (!isKeyframe(this.#options.stream.codec, frame.packets)) return null;
      this.#awaitingKeyframe = false;
    }
    const captureTimeMs = wallTimeOf(frame.capturedAtMs, this.#options.clock);
    frame.packets.forEach((packet, index) => {
      this.#pacer.push({ packet, captureTimeMs: index === 0 ? captureTimeMs : null }, packet.length);
    });
    const timestamp = this.#video.mapTimestamp(frame.rtpTimestamp);
    this.#lastVideo = { timestamp, capturedAtMs: frame.capturedAtMs };
    this.#counts.frames++;
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
    if (!this.#running || !this.#audio || !this.#audioAccepted) return;
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
      {
        playoutDelay: this.#playoutDelay(),
        ...(paced.captureTimeMs === null ? {} : { captureTimeMs: paced.captureTimeMs }),
      },
      clock.monotonicMs(),
    );
    if (!wrapped) return;
    this.#counts.bytes += wrapped.data.length;
    this.#noteSent(wrapped.transportSequence, wrapped.data.length);
    this.#send(this.#options.video, wrapped.data);
  }

  #noteSent(transportSequence: number | null, bytes: number): void {
    if (transportSequence === null) return;
    this.#transport.sent(transportSequence, this.#options.clock.monotonicMs(), bytes);
  }

  #send(owned: OwnedTrack | null, data: Buffer): void {
    if (!owned?.track.isOpen()) return;
    try {
      owned.track.sendMessageBinary(data);
    } catch {
      // The connection closed between the check and the call; its own event follows.
    }
  }

  #onRtcp(data: Buffer): void {
    if (!this.#running) return;
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
        this.#wantKeyframe();
        return;
      case 'nack':
        if (feedback.ssrc !== this.#video.identity.ssrc) return;
        for (const { data, transportSequence } of this.#video.retransmit(feedback.lost, nowMs, this.#rttMs)) {
          this.#counts.resent++;
          this.#counts.bytes += data.length;
          this.#noteSent(transportSequence, data.length);
          this.#send(this.#options.video, data);
        }
        return;
      case 'remb':
        this.#rembKbps = feedback.bitrateKbps;
        return;
      case 'transport':
        this.#transport.received(feedback.arrivals, nowMs);
        return;
      case 'report':
        this.#onReport(feedback.report, nowMs);
        return;
    }
  }

  #onReport(report: ReceptionReport, nowMs: number): void {
    if (report.ssrc !== this.#video.identity.ssrc) return;
    const rttMs = roundTripMs(report, this.#options.clock.wallMs());
    if (rttMs !== null) this.#rttMs = rttMs;
    this.#jitterMs = (report.jitter / VIDEO_CLOCK_HZ) * 1000;
    this.#reportPlayout(this.#playout.onReport({ rttMs, jitterMs: this.#jitterMs }, nowMs));
  }

  #reportPlayout(change: PlayoutChange | null): void {
    if (change) this.onPlayoutChanged(change);
  }

  #wantKeyframe(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#keyframeAskedAtMs < KEYFRAME_INTERVAL_MS) return;
    this.#keyframeAskedAtMs = nowMs;
    this.#options.onKeyframeWanted();
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
    this.#send(owned, report);
  }
}
