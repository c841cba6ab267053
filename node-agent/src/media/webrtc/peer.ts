import { errorText, type Timer } from '@footlight/platform';
import type { StreamSpec } from '@footlight/protocol/agent';
import { CHANNELS, type ChannelName } from '@footlight/protocol/input';
import { type IceServer, NEGOTIATION_STEP_TIMEOUT_MS } from '@footlight/protocol/signal';
import * as datachannel from 'node-datachannel';
import { type FallbackAccess, FallbackOffer } from '../fallback/fallback-offer.ts';
import { NominationHold } from '../fallback/nomination-hold.ts';
import { loopbackOf } from '../fallback/offered-candidates.ts';
import type { MediaClock } from '../session/media-clock.ts';
import { PeerMedia } from '../viewer/peer-media.ts';
import { CandidateBudget, isOfferable } from './candidates.ts';
import { nativeIceServers } from './ice-servers.ts';
import type { LocalNameResolver } from './mdns.ts';
import { addRemoteCandidate, bindingOf, checkCandidate } from './native-connection.ts';
import { decideMove, type PeerEnd, type PeerFailure, type PeerState } from './peer-state.ts';
import { type AnsweredLine, judgeAnswer } from './sdp-answer.ts';
import {
  AUDIO_FMTP,
  AUDIO_PAYLOAD_TYPE,
  audioAttributes,
  CODEC_NAME,
  MIC_FMTP,
  MIC_PAYLOAD_TYPE,
  renameDataMid,
  restoreDataMid,
  VIDEO_PAYLOAD_TYPE,
  videoAttributes,
  videoFmtp,
} from './sdp-offer.ts';

/** Time that the host's candidates wait for the viewer's answer before they are sent without it. */
const CANDIDATES_WAIT_MS = 40;

/**
 * Result of a send. full: the channel is not open, or its buffer is over the limit, so the send must be repeated later.
 * refused: this viewer cannot receive the message.
 */
export type SendResult = 'sent' | 'full' | 'refused';

/** A data channel that only this side opens. */
export interface OwnChannel {
  /** Sets the listeners; call it once. onLow is called when the number of buffered bytes falls to lowBytes. */
  listen(events: {
    lowBytes: number;
    onLow(): void;
    onMessage(data: Buffer | string): void;
    onClosed(): void;
  }): void;
  /** Number of bytes in the channel's buffer. */
  readonly bufferedAmount: number;
  /** Sends a message; dropped if the channel is closed. */
  send(data: Buffer | string): void;
  close(): void;
}

export interface PeerEvents {
  onOffer(sdp: string): void;
  onCandidate(candidate: string, mid: string): void;
  onConnected(): void;
  /** Called when ICE lost the contact to the viewer; the connection may recover. */
  onInterrupted(): void;
  /** Called when the connection ended, but not after our close(). */
  onFailed(reason: PeerFailure | PeerEnd, message: string): void;
  onAnswerApplied(lines: readonly AnsweredLine[]): void;
  /** Called when the answer was refused or is a duplicate; used only for telemetry. */
  onDescriptionFailed(kind: 'rejected' | 'duplicate_answer' | 'parse', reason: string, benign: boolean): void;
  onStateChanged(kind: 'ice' | 'connection', from: string, to: string): void;
  onKeyframeWanted(): void;
  /** Called with each packet of the viewer's microphone, if the session has one. */
  onMicPacket(packet: Buffer): void;
  onChannelOpen(channel: ChannelName): void;
  onChannelClosed(channel: ChannelName): void;
  onMessage(channel: ChannelName, data: Buffer | string): void;
}

export interface PeerOptions {
  pcId: string;
  clientId: string;
  stream: StreamSpec;
  iceServers: readonly IceServer[];
  /** Addresses to offer; null: all addresses. */
  addresses: readonly string[] | null;
  ports: readonly [number, number] | null;
  /** null: this host has no fallback port. */
  fallback: FallbackAccess | null;
  /** Whether the first answer failed. The host's candidates then wait for the next answer without a time limit. */
  isCareful: boolean;
  clock: MediaClock;
  /** Returns a random unsigned 32-bit number. */
  random32(): number;
  resolver: LocalNameResolver;
  events: PeerEvents;
}

/**
 * One peer connection, negotiated exactly once: the agent offers, the viewer answers.
 *
 * States: see peer-state.ts. The viewer's answer leads to the state `answered`, ICE and DTLS lead to `connected`, and
 * either side can close the connection. If the next step does not follow within 20 s, the connection is closed with
 * `ice_timeout`. Owner: Peers. Teardown: close() stops the timers and the media, then closes channels, tracks and
 * connection; no events are sent afterwards.
 *
 * The host's candidates are sent only after the viewer's answer has arrived, because they trigger the viewer's
 * connectivity checks. If such a check has already arrived when the library gets the answer, the library starts its
 * threads immediately. A nearby viewer's certificate may then arrive before the answer is stored, and is refused. If the
 * answer is late, the candidates are sent without it, because such a viewer is too far away for this race.
 */
export class Peer {
  readonly pcId: string;
  readonly clientId: string;
  readonly media: PeerMedia;
  readonly #options: PeerOptions;
  readonly #connection: datachannel.PeerConnection;
  /** Stored, because an unreferenced track is closed. */
  #mic: datachannel.Track | null = null;
  readonly #channels = new Map<ChannelName, datachannel.DataChannel>();
  readonly #own = new Set<datachannel.DataChannel>();
  readonly #remoteBudget = new CandidateBudget();
  readonly #localBudget = new CandidateBudget();
  /** Candidates of the viewer that arrived before its answer. */
  #held: string[] = [];
  /** The host's candidates that must wait; null: candidates are sent at once. */
  #unsent: { candidate: string; mid: string }[] | null = [];
  #candidatesTimer: Timer | null = null;
  readonly #fallback: FallbackOffer | null;
  #state: PeerState = 'offered';
  #duplicateReported = false;
  #dataMid = 'data';
  #timer: Timer | null = null;
  #connectionState = 'new';
  #iceState = 'new';

  constructor(options: PeerOptions) {
    this.#options = options;
    this.pcId = options.pcId;
    this.clientId = options.clientId;
    this.#connection = new datachannel.PeerConnection(options.pcId, {
      iceServers: nativeIceServers(options.iceServers),
      disableAutoNegotiation: true,
      ...bindingOf(options.addresses, options.ports),
    });
    const { fallback: access, pcId, clock, addresses } = options;
    const send = (candidate: string, mid: string) => {
      if (this.#localBudget.take()) this.#sendCandidate(candidate, mid);
    };
    this.#fallback =
      access &&
      new FallbackOffer({
        ...{ access, pcId, clock, send },
        hold: (port) => new NominationHold(loopbackOf(addresses), port, (line) => this.#addRemote(line)),
      });
    this.#watchConnection();
    this.media = this.#addTracks();
    for (const name of Object.keys(CHANNELS) as ChannelName[]) this.#addChannel(name);
  }

  get state(): PeerState {
    return this.#state;
  }

  /** Creates the offer and starts to gather candidates; events send both. */
  offer(): void {
    this.#connection.setLocalDescription('offer');
    this.#arm('no answer to the offer');
  }

  /** Applies the viewer's answer; a second answer is ignored. */
  answer(sdp: string): void {
    const { events } = this.#options;
    if (this.#state !== 'offered') {
      this.#refuseDuplicate();
      return;
    }
    const verdict = judgeAnswer(sdp, CODEC_NAME[this.#options.stream.codec]);
    if (verdict.kind === 'refuse') {
      this.#refuse(verdict.cause, verdict.why);
      return;
    }
    if (verdict.kind === 'no_video') {
      events.onAnswerApplied(verdict.lines);
      this.#fail('video_rejected', 'the viewer cannot take this video');
      return;
    }
    try {
      this.#connection.setRemoteDescription(restoreDataMid(verdict.sdp, this.#dataMid), 'answer');
    } catch (error) {
      this.#refuse('rejected', errorText(error));
      return;
    }
    this.#state = 'answered';
    this.#fallback?.answered();
    this.#sendCandidates();
    this.#arm('not connected after the answer');
    this.media.accept(verdict.video, verdict.audio);
    events.onAnswerApplied(verdict.lines);
    const embedded = verdict.candidates.filter(() => this.#remoteBudget.take());
    for (const candidate of [...embedded, ...this.#held]) this.#useCandidate(candidate);
    this.#held = [];
  }

  /** @param candidate text in the signaling message; "" ends the candidates */
  candidate(candidate: string): void {
    if (this.#state === 'closed' || !this.#remoteBudget.take()) return;
    if (this.#state !== 'offered') this.#useCandidate(candidate);
    else this.#held.push(candidate);
  }

  send(channel: ChannelName, data: string | Buffer, maxBufferedBytes: number): SendResult {
    const open = this.#channels.get(channel);
    if (this.#state === 'closed' || !open?.isOpen() || open.bufferedAmount() > maxBufferedBytes)
      return 'full';
    try {
      if (typeof data === 'string') open.sendMessage(data);
      else open.sendMessageBinary(data);
      return 'sent';
    } catch {
      // The message is longer than the viewer's answer allows, or the channel was closed in the meantime.
      return 'refused';
    }
  }

  /** Opens a reliable and ordered channel with this name. @returns null: the connection is closed */
  openChannel(label: string): OwnChannel | null {
    if (this.#state === 'closed') return null;
    const channel = this.#connection.createDataChannel(label);
    this.#own.add(channel);
    const close = () => {
      if (this.#own.delete(channel)) channel.close();
    };
    return {
      listen: ({ lowBytes, onLow, onMessage, onClosed }) => {
        channel.setBufferedAmountLowThreshold(lowBytes);
        channel.onBufferedAmountLow(onLow);
        channel.onMessage((data) => onMessage(data instanceof ArrayBuffer ? Buffer.from(data) : data));
        channel.onClosed(onClosed);
      },
      get bufferedAmount() {
        return channel.bufferedAmount();
      },
      send: (data) => {
        try {
          if (!channel.isOpen()) return;
          if (typeof data === 'string') channel.sendMessage(data);
          else channel.sendMessageBinary(data);
        } catch {
          // Ignored: the channel was closed in the meantime.
        }
      },
      close: () => void setImmediate(close),
    };
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#disarm();
    this.#candidatesTimer?.cancel();
    this.#fallback?.close();
    this.media.close();
    // Deferred, because close() may be called inside a callback of the connection.
    setImmediate(() => {
      for (const channel of [...this.#channels.values(), ...this.#own]) channel.close();
      this.#channels.clear();
      this.#own.clear();
      this.#mic?.close();
      this.#mic = null;
      this.#connection.close();
    });
    // Reported here, because the library reports the state too late for the viewer's watch time.
    this.#reportState('closed');
  }

  #reportState(state: string): void {
    const from = this.#connectionState;
    this.#connectionState = state;
    if (from !== state) this.#options.events.onStateChanged('connection', from, state);
  }

  #watchConnection(): void {
    const connection = this.#connection;
    connection.onLocalDescription((sdp) => {
      if (this.#state === 'closed') return;
      const renamed = renameDataMid(sdp);
      this.#dataMid = renamed.dataMid;
      this.#fallback?.described(sdp);
      this.#options.events.onOffer(renamed.sdp);
      if (this.#options.isCareful) return;
      // Deferred, so that an answer that has already arrived is read first.
      const send = () => setImmediate(() => this.#sendCandidates());
      this.#candidatesTimer = this.#options.clock.setTimeout(send, CANDIDATES_WAIT_MS);
    });
    connection.onLocalCandidate((candidate, mid) => {
      if (this.#state === 'closed' || !isOfferable(candidate, this.#options.addresses)) return;
      if (!this.#localBudget.take()) return;
      if (this.#unsent) this.#unsent.push({ candidate, mid });
      else this.#sendCandidate(candidate, mid);
      this.#fallback?.gathered(candidate, mid);
    });
    // Other channels are closed, because all channels are negotiated in advance, and the library would buffer the data
    // of other channels without limit.
    connection.onDataChannel((channel) => channel.close());
    connection.onStateChange((state) => this.#onConnectionState(state));
    connection.onIceStateChange((state) => {
      if (this.#state === 'closed') return;
      const from = this.#iceState;
      this.#iceState = state;
      if (state === 'connected') this.media.ready();
      if (from !== state) this.#options.events.onStateChanged('ice', from, state);
    });
  }

  /** Sends all candidates found until now; later ones are sent when they are found. */
  #sendCandidates(): void {
    this.#candidatesTimer?.cancel();
    this.#candidatesTimer = null;
    if (this.#state === 'closed') return;
    const found = this.#unsent ?? [];
    this.#unsent = null;
    for (const { candidate, mid } of found) this.#sendCandidate(candidate, mid);
    this.#fallback?.begin();
  }

  #sendCandidate(candidate: string, mid: string): void {
    this.#options.events.onCandidate(candidate.replace(/^a=/, ''), mid === this.#dataMid ? 'data' : mid);
  }

  #onConnectionState(state: string): void {
    if (this.#state === 'closed') return;
    const { events } = this.#options;
    this.#reportState(state);
    const move = decideMove(this.#state, state);
    if (move === null) return;
    if (move.to === 'closed') {
      this.close();
      events.onFailed(move.end, `the peer connection ${state}`);
      return;
    }
    this.#state = move.to;
    if (move.to === 'interrupted') {
      events.onInterrupted();
      return;
    }
    this.#disarm();
    events.onConnected();
  }

  #addTracks(): PeerMedia {
    const { stream, clock, events, random32 } = this.#options;
    const cname = this.pcId;
    const video = new datachannel.Video('video', 'SendOnly');
    const fmtp = videoFmtp(stream);
    if (stream.codec === 'h264') video.addH264Codec(VIDEO_PAYLOAD_TYPE, fmtp);
    else {
      video.addVideoCodec(VIDEO_PAYLOAD_TYPE, CODEC_NAME[stream.codec], fmtp);
    }
    for (const line of videoAttributes()) video.parseSdpLine(line);
    const videoSsrc = random32() || 1;
    // Picture and sound are separate streams, because a browser would delay the faster one of a common stream.
    video.addSSRC(videoSsrc, cname, 'picture', 'video');
    const videoTrack = this.#connection.addTrack(video);
    // Both sides have keys now, but the connection counts as connected only when the data channels are open too.
    videoTrack.onOpen(() => {
      if (this.#state === 'closed') return;
      this.#fallback?.connected();
      this.media.start();
    });
    let audioTrack: datachannel.Track | null = null;
    let audioSsrc = 0;
    if (stream.audio) {
      const audio = new datachannel.Audio('audio', 'SendOnly');
      audio.addOpusCodec(AUDIO_PAYLOAD_TYPE, AUDIO_FMTP);
      for (const line of audioAttributes()) audio.parseSdpLine(line);
      audioSsrc = (videoSsrc ^ 0x5a5a5a5a) >>> 0;
      audio.addSSRC(audioSsrc, cname, 'sound', 'audio');
      audioTrack = this.#connection.addTrack(audio);
    }
    if (stream.mic) this.#mic = this.#addMicrophone();
    return new PeerMedia({
      stream,
      clock,
      cname,
      random32,
      video: { track: videoTrack, ssrc: videoSsrc },
      audio: audioTrack ? { track: audioTrack, ssrc: audioSsrc } : null,
      onKeyframeWanted: () => events.onKeyframeWanted(),
    });
  }

  #addMicrophone(): datachannel.Track {
    const mic = new datachannel.Audio('mic', 'RecvOnly');
    mic.addOpusCodec(MIC_PAYLOAD_TYPE, MIC_FMTP);
    const track = this.#connection.addTrack(mic);
    track.onMessage((packet) => {
      if (this.#state === 'connected') this.#options.events.onMicPacket(packet);
    });
    return track;
  }

  #addChannel(name: ChannelName): void {
    const spec = CHANNELS[name];
    const channel = this.#connection.createDataChannel(spec.label, {
      negotiated: true,
      id: spec.id,
      unordered: !spec.ordered,
      ...(spec.maxRetransmits === null ? {} : { maxRetransmits: spec.maxRetransmits }),
    });
    const { events } = this.#options;
    channel.onOpen(() => {
      if (this.#state !== 'closed') events.onChannelOpen(name);
    });
    channel.onClosed(() => {
      if (this.#state !== 'closed') events.onChannelClosed(name);
    });
    channel.onMessage((data) => {
      if (this.#state === 'closed') return;
      events.onMessage(name, data instanceof ArrayBuffer ? Buffer.from(data) : data);
    });
    this.#channels.set(name, channel);
  }

  #useCandidate(line: string): void {
    checkCandidate(line, this.#options.resolver, (usable) => this.#addRemote(usable));
  }

  #addRemote(line: string): void {
    if (this.#state !== 'closed') addRemoteCandidate(this.#connection, line, 'video');
  }

  /** Handles a duplicate answer; only the first one is logged. */
  #refuseDuplicate(): void {
    if (this.#state === 'closed' || this.#duplicateReported) return;
    this.#duplicateReported = true;
    this.#options.events.onDescriptionFailed('duplicate_answer', 'answered already', true);
  }

  #refuse(kind: 'rejected' | 'parse', reason: string): void {
    this.#options.events.onDescriptionFailed(kind, reason.slice(0, 256), false);
    this.#fail('answer_rejected', 'the answer cannot be used');
  }

  #fail(reason: PeerFailure, message: string): void {
    this.close();
    this.#options.events.onFailed(reason, message);
  }

  #arm(message: string): void {
    this.#disarm();
    this.#timer = this.#options.clock.setTimeout(
      () => this.#fail('ice_timeout', message),
      NEGOTIATION_STEP_TIMEOUT_MS,
    );
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
