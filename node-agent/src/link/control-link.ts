import type { LookupFunction } from 'node:net';
import type { Clock, Logger, Random, Timer } from '@footlight/platform';
import { errorText, pause, TokenBucket } from '@footlight/platform';
import {
  AGENT_CLOSE,
  AGENT_PROTOCOL,
  AGENT_RATE_BURST,
  AGENT_RATE_PER_SECOND,
  type AgentMessage,
  type AgentSignaling,
  type Capacity,
  type ControlCommand,
  type ControlMessage,
  type ControlSignaling,
  HANDSHAKE_STEP_MS,
  type Heartbeat,
  type ImageState,
  isCommand,
  type Register,
  type Registered,
  type SessionMetrics,
  type SessionTraceEvent,
} from '@footlight/protocol/agent';
import { AckStore, type CommandAnswer } from './ack-store.ts';
import { decideCredential, decideRedial, type LinkEnd } from './backoff.ts';
import { type ClockPair, ClockPairs } from './clock-pairs.ts';
import { Connection } from './connection.ts';
import { ControlAddresses } from './control-addresses.ts';
import { type Credential, isPlainRemote } from './dial.ts';
import { callControl, type HttpAnswer, type HttpCall } from './http-call.ts';
import type { Identity, IdentityStore } from './identity.ts';
import { LossyMessages, Outbox, type ReliableMessage } from './outbox.ts';
import { type PutFile, putFile } from './put-file.ts';
import { type Resolve, shuffledLookup } from './shuffled-lookup.ts';

/** Callbacks of the link into the agent. */
export interface LinkHandler {
  /** Called at every registration; must return the current list of sessions. */
  register(): Pick<Register, 'features' | 'images' | 'sessions'>;
  capacity(): Promise<Capacity>;
  heartbeat(): Omit<Heartbeat, 'type' | 'ts' | 'clock'>;
  /** Accepts or refuses a command, without waiting for its effect. Called at most once per command id. */
  command(command: ControlCommand): Promise<CommandAnswer>;
  signaling(frame: ControlSignaling): void;
  /** Called after the registration, before the capacity is sent. */
  registered(registered: Registered): void;
  /** Called when the control plane has processed every report up to number seq. */
  seen(seq: number): void;
  linkReady(): void;
  /**
   * Called once, before the first connection attempt, for HTTP calls that must precede the registration. Never rejects.
   */
  beforeDial(): Promise<void>;
  linkLost(): void;
}

export interface LinkOptions {
  /** Replicas of one control plane; at least one. */
  controlUrls: readonly URL[];
  controlCa: string | null;
  controlFingerprint: string | null;
  enrollmentToken: string | null;
  nodeName: string;
  bootId: string;
  agentVersion: string;
}

export interface LinkDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  identity: IdentityStore;
  handler: LinkHandler;
  /** Default: the system's. Tests pass one that knows their names. */
  resolve?: Resolve;
}

/**
 * Below the control plane's own limit, so that sending a backlog does not close the connection even if the clocks
 * differ.
 */
const PACE_PER_SECOND = 0.8 * AGENT_RATE_PER_SECOND;
const PACE_BURST = 0.5 * AGENT_RATE_BURST;
/** Interval at which the pace and the socket buffer are checked. */
const PACE_PERIOD_MS = 25;

/** The agent has no stored secret and no token. */
export class NotEnrolledError extends Error {}

/**
 * The socket between this agent process and the control plane.
 *
 * States: dialing → registering (register sent) → reporting (registered, capacity pending) → ready; each of these
 * states can end in waiting, and waiting ends in dialing. Only stop() ends this cycle. Reliable reports are kept while
 * the link is down and sent again in order after the next capacity. A lost connection does not end a session.
 *
 * Reports, samples and events are sent in this order of priority, at a pace below the control plane's limit. Other
 * messages are sent at once, but count towards the pace.
 */
export class ControlLink {
  readonly #options: LinkOptions;
  readonly #deps: LinkDeps;
  readonly #outbox = new Outbox();
  readonly #lossy = new LossyMessages();
  readonly #acks: AckStore;
  readonly #addresses: ControlAddresses;
  readonly #lookup: LookupFunction;
  readonly #pairs = new ClockPairs();
  #identity: Identity | null = null;
  #connection: Connection | null = null;
  #pace: TokenBucket;
  #paceTimer: Timer | null = null;
  /** Number of the last report sent on this connection. */
  #sentSeq = 0;
  #redialTimer: Timer | null = null;
  #attempt = 0;
  #unauthorizedInRow = 0;
  #enrolledAtMs: number | null = null;
  #stopped = false;
  /** Ends the wait of flush(). */
  #flushed = new AbortController();

  constructor(options: LinkOptions, deps: LinkDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#acks = new AckStore(deps.clock);
    this.#addresses = new ControlAddresses(options.controlUrls, deps.random);
    this.#lookup = shuffledLookup(deps.random, deps.resolve);
    this.#pace = this.#newPace();
  }

  /**
   * Loads the identity and starts to connect. Resolves when the first attempt is running.
   * @throws NotEnrolledError without a stored secret and without a token
   */
  async start(): Promise<void> {
    const stored = await this.#deps.identity.load();
    if (stored && stored.node_name !== this.#options.nodeName) {
      this.#deps.logger.warn(
        { stored: stored.node_name, configured: this.#options.nodeName },
        'link.identity_ignored',
      );
    } else {
      this.#identity = stored;
    }
    if (this.#credentialKind() === 'none') {
      throw new NotEnrolledError(
        'this host is not enrolled: set SERVICE_ENROLLMENT_TOKEN to a token from the admin page, or run enroll',
      );
    }
    const plain = this.#options.controlUrls.find(isPlainRemote);
    if (plain !== undefined) {
      this.#deps.logger.warn(
        {
          control_url: plain.origin,
          remedy: 'use https, and SERVICE_CONTROL_FINGERPRINT, outside a trusted network',
        },
        'link.not_encrypted',
      );
    }
    await this.#deps.handler.beforeDial();
    void this.#dial();
  }

  /** Address of the replica that the agent connects to now, or connected to last. */
  get controlUrl(): URL {
    return this.#addresses.dialed;
  }

  get connected(): boolean {
    return this.#connection?.ready ?? false;
  }

  /** null: this host is not enrolled yet. */
  get hostId(): string | null {
    return this.#identity?.host_id ?? null;
  }

  /** Clock offset with the smallest round trip on this connection; null: no offset was measured yet. */
  get clock(): ClockPair | null {
    return this.#pairs.best();
  }

  /**
   * Queues a reliable report.
   * @returns its number; after `seen` with this number or a higher one, the report is confirmed
   */
  report(message: ReliableMessage): number {
    const seq = this.#outbox.add(message);
    this.#pump();
    return seq;
  }

  /** Sends a metric sample, or stores it until the connection is back. */
  metrics(sample: SessionMetrics): void {
    this.#lossy.addSample(this.connected ? sample : { ...sample, late: true });
    this.#pump();
  }

  /** Sends a lossy event, or stores it until the connection is back. */
  event(event: SessionTraceEvent): void {
    this.#lossy.addEvent(event);
    this.#pump();
  }

  /** Sends the progress of an image; without a connection the progress is dropped. */
  imageProgress(message: ImageState): void {
    this.#post(message);
  }

  signaling(frame: AgentSignaling): void {
    this.#post(frame);
  }

  /** Whether this host has its own secret, so that it can call the control plane over HTTP. */
  get isEnrolled(): boolean {
    return this.#identity !== null;
  }

  /** Sends a new capacity report, if this agent is registered. */
  async sendCapacity(): Promise<void> {
    const connection = this.#connection;
    const capacity = await this.#deps.handler.capacity();
    if (connection?.ready && connection === this.#connection) connection.send(capacity);
  }

  /** Calls the control plane over HTTP. @throws without an identity, and when no complete answer arrives */
  async call(call: HttpCall): Promise<HttpAnswer> {
    return callControl(call, this.#callOptions(), this.#deps.clock);
  }

  /** Sends a file. @throws without an identity, and when the control plane does not accept the whole file */
  async putFile(file: PutFile): Promise<void> {
    await putFile(file, this.#callOptions(), this.#deps.clock);
  }

  /** @throws without an identity */
  #callOptions() {
    const secret = this.#identity?.node_secret;
    if (secret === undefined) throw new Error('this host is not enrolled');
    return {
      ...this.#options,
      controlUrl: this.controlUrl,
      credential: { kind: 'secret', secret } as const,
      lookup: this.#lookup,
    };
  }

  /** Waits until every report is confirmed, limitMs have passed, or the connection is lost. */
  async flush(limitMs: number): Promise<void> {
    if (!this.connected || this.#outbox.size === 0) return;
    this.#flushed = new AbortController();
    await pause(this.#deps.clock, limitMs, this.#flushed.signal);
  }

  /** Closes the connection with code 1001 and does not reconnect. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#redialTimer?.cancel();
    const connection = this.#connection;
    if (connection) await connection.leave();
  }

  #credentialKind(): 'secret' | 'enroll' | 'none' {
    return decideCredential({
      hasSecret: this.#identity !== null,
      hasToken: this.#options.enrollmentToken !== null,
      unauthorizedInRow: this.#unauthorizedInRow,
      sinceEnrollMs: this.#enrolledAtMs === null ? null : this.#deps.clock.monotonicMs() - this.#enrolledAtMs,
    });
  }

  /**
   * Starts a connection attempt. If a step before the connection fails, for example because the disk is full, another
   * attempt follows.
   */
  async #dial(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      const { delayMs, attempt } = decideRedial(
        { kind: 'unreachable' },
        this.#attempt,
        this.#deps.random.number(),
      );
      this.#attempt = attempt;
      this.#deps.logger.error(
        { error: errorText(error), redial_ms: Math.round(delayMs) },
        'link.cannot_dial',
      );
      this.#dialIn(delayMs);
    }
  }

  #dialIn(delayMs: number): void {
    if (this.#stopped) return;
    this.#redialTimer = this.#deps.clock.setTimeout(() => void this.#dial(), delayMs);
  }

  async #connect(): Promise<void> {
    if (this.#stopped) return;
    const credential = await this.#credential();
    if (this.#stopped) return;
    this.#connection = new Connection(
      {
        ...this.#options,
        controlUrl: this.#addresses.next(),
        credential,
        handshakeTimeoutMs: HANDSHAKE_STEP_MS,
        lookup: this.#lookup,
      },
      this.#deps,
      {
        registered: (registered) => this.#registered(registered),
        capacity: () => this.#deps.handler.capacity(),
        ready: () => this.#ready(),
        message: (message) => this.#message(message),
        ended: (end, wasReady) => this.#ended(end, wasReady, credential.kind === 'enroll'),
        register: () => this.#register(),
        heartbeat: () => this.#heartbeat(),
      },
    );
  }

  async #credential(): Promise<Credential> {
    const token = this.#options.enrollmentToken;
    if (this.#credentialKind() === 'enroll' && token !== null) {
      const enrollId = await this.#deps.identity.enrollId();
      this.#enrolledAtMs = this.#deps.clock.monotonicMs();
      return { kind: 'enroll', token, enrollId };
    }
    return { kind: 'secret', secret: this.#identity?.node_secret ?? '' };
  }

  #register(): Register {
    return {
      type: 'register',
      node_name: this.#options.nodeName,
      agent_version: this.#options.agentVersion,
      protocol: AGENT_PROTOCOL,
      boot_id: this.#options.bootId,
      ...this.#deps.handler.register(),
    };
  }

  #heartbeat(): Heartbeat {
    const clock = this.#pairs.best();
    return {
      type: 'heartbeat',
      ts: this.#deps.clock.nowMs(),
      ...this.#deps.handler.heartbeat(),
      ...(clock ? { clock } : {}),
    };
  }

  async #registered(registered: Registered): Promise<void> {
    this.#unauthorizedInRow = 0;
    if (registered.node_secret !== undefined) {
      const identity = {
        node_name: this.#options.nodeName,
        host_id: registered.host_id,
        node_secret: registered.node_secret,
      };
      // Stored before the next message is sent, because the control plane takes that message as proof that this agent
      // has stored its identity.
      await this.#deps.identity.save(identity);
      this.#identity = identity;
    }
    if (registered.last_seq !== null) this.#seen(registered.last_seq);
    this.#deps.handler.registered(registered);
  }

  #ready(): void {
    const connection = this.#connection;
    if (!connection) return;
    this.#addresses.worked();
    this.#sentSeq = 0;
    this.#pace = this.#newPace();
    const dropped = this.#lossy.takeDropped();
    if (dropped > 0) this.#deps.logger.warn({ dropped }, 'link.events_dropped');
    this.#pump();
    this.#deps.logger.info({ control_url: this.#addresses.dialed.origin }, 'link.ready');
    this.#deps.handler.linkReady();
  }

  #message(message: ControlMessage): void {
    if (isCommand(message)) {
      void this.#command(message);
      return;
    }
    switch (message.type) {
      case 'heartbeat_ack':
        this.#pairs.add(message.echo, message.server_ts, this.#deps.clock.nowMs());
        return;
      case 'seen':
        this.#seen(message.seq);
        return;
      case 'signaling':
        this.#deps.handler.signaling(message);
        return;
      case 'error':
        this.#deps.logger.warn(
          { code: message.code, message: message.message, ref: message.ref },
          'link.error',
        );
        return;
      case 'ack':
        if (!message.ok)
          this.#deps.logger.warn({ id: message.id, code: message.code }, 'link.refused_message');
        return;
      case 'registered':
        this.#deps.logger.warn({}, 'link.second_registered');
    }
  }

  async #command(command: ControlCommand): Promise<void> {
    const verdict = await this.#acks
      .once(command.id, () => this.#deps.handler.command(command))
      .catch((error): CommandAnswer => {
        this.#deps.logger.error({ type: command.type, error: errorText(error) }, 'command.failed');
        return { ok: false, code: 'internal', error: 'the agent could not handle this command' };
      });
    // Commands may arrive before this agent has sent its capacity; `config_update` always does.
    if (this.#connection?.registered) this.#connection.send({ type: 'ack', id: command.id, ...verdict });
  }

  #seen(seq: number): void {
    this.#outbox.seen(seq);
    if (this.#outbox.size === 0) this.#flushed.abort();
    this.#deps.handler.seen(seq);
  }

  #ended(end: LinkEnd, wasReady: boolean, enrolling: boolean): void {
    this.#connection = null;
    this.#flushed.abort();
    this.#paceTimer?.cancel();
    this.#paceTimer = null;
    this.#pairs.clear();
    if (wasReady) this.#deps.handler.linkLost();
    if (end.kind === 'refused' && end.status === 401 && !enrolling) this.#unauthorizedInRow += 1;
    if (this.#stopped) return;
    const { delayMs, attempt } = decideRedial(end, this.#attempt, this.#deps.random.number());
    this.#attempt = attempt;
    if (end.kind === 'closed' && end.code === AGENT_CLOSE.displaced) {
      this.#deps.logger.error(
        { why: 'identity in use: another agent has the secret of this node' },
        'link.displaced',
      );
    }
    this.#deps.logger.info({ ...end, redial_ms: Math.round(delayMs) }, 'link.lost');
    this.#dialIn(delayMs);
  }

  #newPace(): TokenBucket {
    return new TokenBucket(PACE_PER_SECOND, PACE_BURST, this.#deps.clock.monotonicMs());
  }

  /** Sends queued messages while the pace and the socket buffer allow it. */
  #pump(): void {
    const connection = this.#connection;
    if (!connection?.ready || this.#paceTimer) return;
    const { clock } = this.#deps;
    while (!this.#pace.isEmpty(clock.monotonicMs()) && !connection.isClogged) {
      const report = this.#outbox.next(this.#sentSeq);
      const message = report ? null : this.#lossy.next();
      if (report) {
        this.#sentSeq = report.seq;
        connection.sendFrame(report.frame);
      } else if (message) connection.send(message);
      else return;
      this.#pace.overdraw(clock.monotonicMs());
    }
    this.#paceTimer = clock.setTimeout(() => {
      this.#paceTimer = null;
      this.#pump();
    }, PACE_PERIOD_MS);
  }

  /** Sends a message at once, ahead of the queued messages. */
  #post(message: AgentMessage): void {
    if (!this.#connection?.ready) return;
    this.#pace.overdraw(this.#deps.clock.monotonicMs());
    this.#connection.send(message);
  }
}
