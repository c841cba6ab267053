import type { Timer } from '@footlight/platform';
import type { StreamSpec } from '@footlight/protocol/agent';
import type { Track } from 'node-datachannel';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import { RateWindow } from '../input/input-guard.ts';
import { isKeyframe } from '../rtp/keyframe.ts';
import { RetransmitRing } from '../rtp/nack-ring.ts';
import { Pacer } from '../rtp/pacer.ts';
import { type PlayoutChange, PlayoutDelay } from '../rtp/playout-delay.ts';
import { type ReceptionReport, type RtcpFeedback, readRtcp } from '../rtp/rtcp.ts';
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
import { PictureGate } from './picture-gate.ts';
import { SenderReports } from './sender-reports.ts';
import { ViewerPath } from './viewer-path.ts';

interface OwnedTrack {
  track: Pick<Track, 'isOpen' | 'onMessage' | 'sendMessageBinary'>;
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

/** Numbers of sent and received packets and frames since the last takeCounts(). */
export interface PeerMediaCounts {
  /** Number of frames and packets, and bytes before encryption. A packet with the marker counts as one frame. */
  frames: number;
  bytes: number;
  resent: number;
  malformedRtcp: number;
}

interface PacedPacket {
  packet: Buffer;
  /** Whether the packet is the first of a keyframe. */
  isStart: boolean;
  captureTimeMs: number | null;
}

/**
 * Interval of sender reports. RFC 3550, 6.2: the reduced minimum in seconds is 360 divided by the bandwidth in kbit/s,
 * so it is less than a second above 360 kbit/s.
 */
const REPORT_MS = 1_000;
/**
 * Times after the connection at which another keyframe is made if no feedback about the picture has arrived. A keyframe
 * that is sent before the viewer has its keys is lost, and not every viewer requests another one.
 */
const KEYFRAME_AGAIN_MS = [150, 600] as const;
/** Limit of a viewer's RTCP packets per second. A browser with heavy loss sends a tenth of this number. */
const RTCP_PER_SECOND = 500;
/** The newest frame of a track: its RTP timestamp for this viewer, and its capture time (monotonic). */
interface Newest {
  timestamp: number;
  capturedAtMs: number;
}

/**
 * Media of one peer connection: sends RTP, and sends and receives RTCP. The gate decides which frames are sent, the
 * pacer decides when, and the path decides at which rate; LossRepair sends lost packets again.
 *
 * States: idle → ready (a path exists, keys do not) → running → idle. In the state `ready`, a keyframe and the frames
 * after it are stored, and start() sends them at once.
 *
 * hold() stops sending until the queue on the path is empty: waiting packets are dropped before they get a number, so
 * numbers stay contiguous. The next picture is a keyframe.
 */
export class PeerMedia {
  readonly path: ViewerPath;
  readonly #options: PeerMediaOptions;
  readonly #video: RtpSender;
  readonly #audio: RtpSender | null;
  readonly #repair: LossRepair;
  readonly #pacer: Pacer<PacedPacket>;
  readonly #playout: PlayoutDelay;
  readonly #gate = new PictureGate<EncodedFrame>();
  readonly #reports: SenderReports;
  readonly #rtcp = new RateWindow(RTCP_PER_SECOND);
  #audioAccepted = false;
  #running = false;
  /** Whether any RTCP packet has arrived. */
  #heard = false;
  #lastVideo: Newest | null = null;
  #lastAudio: Newest | null = null;
  #timers: Timer[] = [];
  #counts: PeerMediaCounts = { frames: 0, bytes: 0, resent: 0, malformedRtcp: 0 };
  /** Called when the playout delay changes; set by the owner. */
  onPlayoutChanged: (change: PlayoutChange) => void = () => undefined;

  constructor(options: PeerMediaOptions) {
    this.#options = options;
    const { stream, random32, video, audio, clock } = options;
    const transport = new TransportSequence(random32());
    const ring = new RetransmitRing(stream.bitrate_kbps);
    const identity = (ssrc: number, payloadType: number) => ({
      ssrc,
      payloadType,
      // Far below 65,535, because some receivers misjudge a wrap of the sequence numbers among their first packets.
      firstSequence: random32() & 0x7fff,
      timestampOffset: random32(),
    });
    this.#video = new RtpSender(identity(video.ssrc, VIDEO_PAYLOAD_TYPE), transport, ring);
    this.#audio = audio ? new RtpSender(identity(audio.ssrc, AUDIO_PAYLOAD_TYPE), transport, null) : null;
    this.#playout = new PlayoutDelay(stream.playout0_ms);
    this.#reports = new SenderReports(options.cname);
    this.path = new ViewerPath({
      launchKbps: stream.bitrate_kbps,
      audio: audio !== null,
      clock,
      sendPadding: (nowMs) => this.#pad(nowMs),
      onDrained: () => this.#gate.needKeyframe(),
    });
    this.#pacer = new Pacer<PacedPacket>({
      rateKbps: stream.bitrate_kbps,
      clock,
      send: (paced) => this.#sendVideo(paced),
      onOverflow: () => {
        this.#gate.needKeyframe();
        options.onKeyframeWanted();
      },
    });
    this.#repair = new LossRepair({
      sender: this.#video,
      clock,
      path: () => this.path.repair,
      isIdle: () => this.#running && !this.path.isHeld && this.#pacer.queuedBytes === 0,
      send: (packet) => this.#sendCounted(packet),
      onKeyframeWanted: options.onKeyframeWanted,
    });
    for (const owned of [video, audio]) owned?.track.onMessage((data) => this.#onRtcp(data));
  }

  /** @param audio null: the viewer refused sound */
  accept(video: ReadonlySet<ExtensionName>, audio: ReadonlySet<ExtensionName> | null): void {
    this.#video.accept(video);
    this.#audioAccepted = audio !== null;
    this.path.acceptSound(this.#audioAccepted);
    if (audio) this.#audio?.accept(audio);
  }

  /** Called when a path exists and the key exchange runs. A keyframe can be encoded during the key exchange. */
  ready(): void {
    if (this.#running || this.#gate.isKeeping) return;
    this.#gate.startKeeping();
    this.#options.onKeyframeWanted();
  }

  /** Called when both sides have keys. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.path.start();
    this.#gate.needKeyframe();
    for (const frame of this.#gate.release()) this.sendFrame(frame);
    const { clock, onKeyframeWanted } = this.#options;
    if (this.#gate.awaitsKeyframe) onKeyframeWanted();
    const unlessHeard = () => {
      if (!this.#heard) onKeyframeWanted();
    };
    this.#timers = [
      clock.setInterval(() => this.#tick(), REPORT_MS),
      ...KEYFRAME_AGAIN_MS.map((afterMs) => clock.setTimeout(unlessHeard, afterMs)),
    ];
  }

  close(): void {
    this.#running = false;
    this.#gate.release();
    this.#pacer.clear();
    this.#repair.close();
    this.path.close();
    for (const timer of this.#timers.splice(0)) timer.cancel();
  }

  setRate(bitrateKbps: number): void {
    this.#pacer.setRate(bitrateKbps);
  }

  /** Stops sending until the queue on the path has drained. */
  hold(): void {
    this.#pacer.clear();
    this.path.hold();
  }

  /** Sends a frame. @returns the frame's RTP timestamp for this viewer; null: the frame was not sent */
  sendFrame(frame: EncodedFrame): number | null {
    const isStart = isKeyframe(this.#options.stream.codec, frame.packets);
    if (!this.#running) {
      this.#gate.keep(frame, isStart);
      return null;
    }
    if (this.path.isHeld) {
      this.#gate.needKeyframe();
      return null;
    }
    if (!this.#gate.passes(isStart)) return null;
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
    this.path.onPicture(clock.monotonicMs());
    return timestamp;
  }

  /** Called instead of sendFrame() when a frame must not be sent; the next sent frame is then a keyframe. */
  skipFrame(): void {
    this.#gate.needKeyframe();
  }

  sendAudio(audio: AudioPacket): void {
    if (!this.#running || this.path.isHeld || !this.#audio || !this.#audioAccepted) return;
    const { clock } = this.#options;
    // Sound is not paced, because its packets are small and a delay is more noticeable than in the picture.
    const wrapped = this.#audio.wrap(
      audio.packet,
      { playoutDelay: this.#playoutDelay(), captureTimeMs: wallTimeOf(audio.capturedAtMs, clock) },
      clock.monotonicMs(),
    );
    if (!wrapped) return;
    this.#lastAudio = { timestamp: wrapped.timestamp, capturedAtMs: audio.capturedAtMs };
    this.path.sent(wrapped.transportSequence, wrapped.data.length);
    this.#send(this.#options.audio, wrapped.data);
  }

  /** Called when the viewer reported a freeze. */
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
    this.path.sent(wrapped.transportSequence, wrapped.data.length);
    this.#send(this.#options.video, wrapped.data);
  }

  #sendCounted({ data, transportSequence }: { data: Buffer; transportSequence: number | null }): void {
    this.#counts.bytes += data.length;
    this.path.sent(transportSequence, data.length);
    this.#send(this.#options.video, data);
  }

  /** Sends padding, but only when no picture waits. */
  #pad(nowMs: number): boolean {
    const packet = this.#pacer.queuedBytes === 0 ? this.#video.pad(nowMs) : null;
    if (packet) this.#sendCounted(packet);
    return packet !== null;
  }

  #send(owned: OwnedTrack | null, data: Buffer): void {
    try {
      owned?.track.sendMessageBinary(data);
    } catch {
      // Ignored: the track is closed, and an event of the connection follows.
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
        // During a drain no keyframe is requested, because the drain itself ends with a keyframe.
        if (!this.path.isHeld) this.#options.onKeyframeWanted();
        return;
      case 'nack':
        if (this.path.isHeld || feedback.ssrc !== this.#video.identity.ssrc) return;
        this.#counts.resent += this.#repair.onNack(feedback.lost);
        return;
      case 'remb':
        this.path.onRemb(feedback.bitrateKbps, nowMs);
        return;
      case 'transport':
        this.path.onTransport(feedback.arrivals, nowMs);
        return;
      case 'report':
        this.#onReport(feedback.report, nowMs);
        return;
      case 'time':
        this.#reports.heard(feedback.time, nowMs);
        return;
    }
  }

  #onReport(report: ReceptionReport, nowMs: number): void {
    if (report.ssrc !== this.#video.identity.ssrc) return;
    const rttMs = this.path.onReport(report, nowMs);
    const jitterMs = (report.jitter / VIDEO_CLOCK_HZ) * 1000;
    this.#reportPlayout(this.#playout.onReport({ rttMs, jitterMs }, nowMs));
  }

  #reportPlayout(change: PlayoutChange | null): void {
    if (change) this.onPlayoutChanged(change);
  }

  #tick(): void {
    this.#reportPlayout(this.#playout.onTick(this.#options.clock.monotonicMs()));
    this.#report(this.#options.video, this.#video, this.#lastVideo, VIDEO_CLOCK_HZ);
    if (this.#audio) this.#report(this.#options.audio, this.#audio, this.#lastAudio, AUDIO_CLOCK_HZ);
  }

  #report(owned: OwnedTrack | null, sender: RtpSender, newest: Newest | null, clockHz: number): void {
    if (!newest || !owned) return;
    const { clock } = this.#options;
    const { packets, payloadBytes } = sender.sent;
    const stream = { ssrc: owned.ssrc, clockHz, packets, payloadBytes, newest };
    this.#send(
      owned,
      this.#reports.write(stream, { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() }),
    );
  }
}
