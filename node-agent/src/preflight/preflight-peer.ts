import { type Clock, errorText, type Timer } from '@footlight/platform';
import { MAX_PREFLIGHT_ECHO_BYTES, MAX_PREFLIGHT_ECHOES } from '@footlight/protocol/preflight';
import * as datachannel from 'node-datachannel';
import { hostPort, iceCredentials } from '../media/fallback/offered-candidates.ts';
import { CandidateBudget, isOfferable } from '../media/webrtc/candidates.ts';
import { nativeIceServers } from '../media/webrtc/ice-servers.ts';
import type { LocalNameResolver } from '../media/webrtc/mdns.ts';
import { addRemoteCandidate, bindingOf, checkCandidate } from '../media/webrtc/native-connection.ts';
import { readAnswer } from '../media/webrtc/sdp-answer.ts';
import { answeredCandidates, usesCandidate } from './path-candidates.ts';
import type { PreflightOrder, PreflightOutcome } from './preflight-messages.ts';

/** Time to gather candidates. A STUN or TURN server that does not answer would delay the answer by half a minute. */
const GATHER_MS = 3_000;
/** Largest message that the library accepts, so that a browser cannot make it buffer more. */
const MAX_MESSAGE_BYTES = 1024;
/** States of a connection that does not come back. */
const ENDED = new Set(['disconnected', 'failed', 'closed']);

export interface PreflightPeerDeps {
  clock: Clock;
  resolver: LocalNameResolver;
  /** Called once with the answer or the refusal. */
  onOutcome(outcome: PreflightOutcome): void;
  /** Called once when the connection has ended; not after close(). */
  onEnded(): void;
}

/**
 * The host's side of one connection test: answers the browser's offer once, with all candidates of the tested path, and
 * echoes a limited number of short messages on the browser's data channel.
 *
 * gathering → answered → closed. An unusable offer, the end of the connection, a message that is too long, or too many
 * messages close it. Owner: the process of the test, which also limits its time. Teardown: timer, then channel and
 * connection.
 */
export class PreflightPeer {
  readonly #order: PreflightOrder;
  readonly #deps: PreflightPeerDeps;
  readonly #connection: datachannel.PeerConnection;
  readonly #localBudget = new CandidateBudget();
  readonly #found: string[] = [];
  /** Stored, because an unreferenced channel is closed. */
  #channel: datachannel.DataChannel | null = null;
  #gathering: Timer | null = null;
  #description: string | null = null;
  #answered = false;
  #echoes = 0;
  #closed = false;

  constructor(order: PreflightOrder, deps: PreflightPeerDeps) {
    this.#order = order;
    this.#deps = deps;
    this.#connection = new datachannel.PeerConnection('preflight', {
      iceServers: nativeIceServers(order.ice_servers),
      disableAutoNegotiation: true,
      maxMessageSize: MAX_MESSAGE_BYTES,
      ...bindingOf(order.addresses, order.ports),
    });
  }

  /** Applies the offer. The outcome follows, at once for an unusable offer. */
  start(): void {
    const offer = readAnswer(this.#order.offer);
    if (offer.kind === 'unreadable') {
      this.#refuse(offer.why);
      return;
    }
    if (offer.lines.length !== 1 || offer.lines[0]?.kind !== 'application') {
      this.#refuse('expected one data channel and no media');
      return;
    }
    this.#watch();
    try {
      this.#connection.setRemoteDescription(offer.sdp, 'offer');
      this.#connection.setLocalDescription('answer');
    } catch (error) {
      this.#refuse(errorText(error, 256));
      return;
    }
    const budget = new CandidateBudget();
    for (const candidate of offer.candidates) if (budget.take()) this.#useCandidate(candidate);
    this.#gathering = this.#deps.clock.setTimeout(() => this.#answer(), GATHER_MS);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#gathering?.cancel();
    // Deferred, because close() may be called inside a callback of the connection.
    setImmediate(() => {
      this.#channel?.close();
      this.#channel = null;
      this.#connection.close();
    });
  }

  #watch(): void {
    const connection = this.#connection;
    connection.onLocalDescription((sdp) => {
      this.#description = sdp;
    });
    connection.onLocalCandidate((candidate) => {
      const line = candidate.replace(/^a=/, '');
      if (isOfferable(line, this.#order.addresses) && this.#localBudget.take()) this.#found.push(line);
    });
    connection.onGatheringStateChange((state) => {
      if (state === 'complete') this.#answer();
    });
    connection.onStateChange((state) => {
      if (ENDED.has(state)) this.#end();
    });
    connection.onDataChannel((channel) => {
      if (this.#closed || this.#channel !== null) {
        channel.close();
        return;
      }
      this.#channel = channel;
      channel.onMessage((data) => this.#echo(channel, data));
    });
  }

  #answer(): void {
    if (this.#closed || this.#answered || this.#description === null) return;
    const read = readAnswer(this.#description);
    if (read.kind === 'unreadable') {
      this.#refuse(read.why);
      return;
    }
    this.#answered = true;
    this.#gathering?.cancel();
    const { path, fallback_port } = this.#order;
    const candidates = answeredCandidates(path, this.#found, fallback_port);
    const lines = [...candidates, 'end-of-candidates'].map((line) => `a=${line}\r\n`);
    this.#deps.onOutcome({
      type: 'answer',
      sdp: `${read.sdp.trimEnd()}\r\n${lines.join('')}`,
      connection: this.#ownConnection(this.#description),
    });
  }

  #ownConnection(sdp: string): Extract<PreflightOutcome, { type: 'answer' }>['connection'] {
    const credentials = iceCredentials(sdp);
    // All host candidates have the same port, because the WebRTC library uses one socket.
    const port = this.#found.map(hostPort).find((one) => one !== null);
    return credentials === null || port === undefined ? null : { ...credentials, port };
  }

  #refuse(why: string): void {
    this.close();
    this.#deps.onOutcome({ type: 'refused', why });
  }

  #end(): void {
    if (this.#closed) return;
    this.close();
    this.#deps.onEnded();
  }

  #echo(channel: datachannel.DataChannel, data: string | Buffer | ArrayBuffer): void {
    if (this.#closed) return;
    const message = typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer);
    this.#echoes += 1;
    if (this.#echoes > MAX_PREFLIGHT_ECHOES || Buffer.byteLength(message) > MAX_PREFLIGHT_ECHO_BYTES) {
      this.#end();
      return;
    }
    try {
      if (typeof message === 'string') channel.sendMessage(message);
      else channel.sendMessageBinary(message);
    } catch {
      // Ignored: the channel was closed in the meantime.
    }
  }

  #useCandidate(line: string): void {
    if (!usesCandidate(this.#order.path, line)) return;
    checkCandidate(line, this.#deps.resolver, (usable) => {
      if (!this.#closed) addRemoteCandidate(this.#connection, usable, '0');
    });
  }
}
