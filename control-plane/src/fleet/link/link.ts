import { isUtf8 } from 'node:buffer';
import type { Clock, Logger, LogLevel, Timer } from '@footlight/platform';
import { TokenBucket, WindowCounter } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import {
  AGENT_CLOSE,
  AGENT_RATE_BURST,
  AGENT_RATE_PER_SECOND,
  AGENT_SEND_QUEUE_STALL_MS,
  type AgentMessage,
  type ControlCommand,
  type ControlMessage,
  encodeControlFrame,
  HANDSHAKE_STEP_MS,
  MALFORMED_LIMIT,
  MALFORMED_WINDOW_MS,
  parseAgentFrame,
  READ_DEADLINE_MS,
  type Register,
  type RelayedSignal,
  readRelayedSignal,
  relayedSignal,
} from '@footlight/protocol/agent';
import type { LogEvent } from '@footlight/protocol/telemetry';
import type { RawData, WebSocket } from 'ws';
import { sha256Hex } from '../../platform/digest.ts';
import type { CommandResult } from '../subjects.ts';
import type { AgentIdentity } from '../upgrade/agent-upgrade.ts';
import type { HostLog } from './host-log.ts';
import { PendingCommands } from './pending-commands.ts';
import { lengthOfRun, type OrderedMessage } from './report-run.ts';
import { type QueueOwner, SendQueue } from './send-queue.ts';
import type { TimerWheel } from './timer-wheel.ts';

/** Queued frames at which the socket is paused. */
const INBOX_HIGH = 512;
/**
 * Queued frames at which the socket is resumed: a quarter, so that the socket is not paused and resumed for each frame.
 */
const INBOX_LOW = 128;
/** The same limit in received bytes: 512 of the longest reports would need half a gigabyte for one agent. */
const INBOX_HIGH_BYTES = 8 * 1024 * 1024;
/** Queued bytes at which the socket is resumed. */
const INBOX_LOW_BYTES = 2 * 1024 * 1024;
/**
 * Token bucket of received bytes per agent: a burst of 16 MiB, then 4 MiB per second. The socket is paused while the
 * bucket is empty. A frame with 14,000 keys (333 kB) needs 15 ms of the only thread, so 68 such frames per second would
 * block it; this limit allows 12. Normal traffic is lower: samples of a thousand sessions have 0.4 MB per second, and
 * an agent's backlog of reports after a lost link has at most 8 MiB (BACKLOG_BYTES).
 */
const READ_BURST_BYTES = 16 * 1024 * 1024;
const READ_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** Interval at which a paused socket is checked for available bytes in the bucket. */
const REST_MS = 250;
/** Time for the far end to answer a close before the socket is terminated. */
const CLOSE_LIMIT_MS = 5_000;
/** RFC 6455, 5.5.1: a close frame has at most 125 bytes, two of them for the code. */
const MAX_REASON_BYTES = 123;
/** RFC 6455, 7.4.1: the server meets an unexpected condition. The agent reconnects after its backoff. */
const INTERNAL_ERROR = 1011;

/** Messages that are handled immediately, because they do not need the database. */
export type ImmediateMessage = Extract<AgentMessage, { type: 'heartbeat' | 'session_metrics' | 'error' }>;

/** Callbacks of a link. Only `ordered` may throw; its errors are logged. */
export interface LinkOwner {
  /** Registers the host, then sends `registered` or closes the link. */
  register(link: AgentLink, message: Register): Promise<void>;
  /** @param run messages in arrival order; the next run starts when this one has settled */
  ordered(link: AgentLink, run: readonly OrderedMessage[]): Promise<void>;
  immediate(link: AgentLink, message: ImmediateMessage): void;
  relay(link: AgentLink, signal: RelayedSignal): void;
  /** Called once when the link is closed. */
  closed(link: AgentLink): void;
  /** Called once as the last callback, when the socket is closed. */
  gone(link: AgentLink): void;
}

export interface LinkDeps {
  clock: Clock;
  wheel: TimerWheel;
  logger: Logger;
  hostLog: HostLog;
  owner: LinkOwner;
}

/** Property of a socket that refers to its link. With it all sockets can share the same listener functions. */
const LINK = Symbol('agent link');
type LinkedSocket = WebSocket & { [LINK]: AgentLink };

function linkOf(socket: WebSocket): AgentLink {
  return (socket as LinkedSocket)[LINK];
}

/**
 * One agent's socket on the control plane. A process has up to ten thousand of them, so rarely used members are
 * allocated on demand and released when unused.
 *
 * Phases: register (waits for the first message) → registering (transaction runs) → capacity (registered, waits for the
 * first capacity) → ready → closed. Messages of the agent and the owner's `registered()` lead to the next phase. A
 * deadline, a protocol error, a newer connection of the host or the agent itself closes the link.
 *
 * Teardown, once and in this order: phase closed, deadlines cancelled, pending commands settled, inbox dropped, owner
 * notified, close frame sent, socket terminated after CLOSE_LIMIT_MS.
 */
export class AgentLink implements QueueOwner {
  /** Id of this connection in the host's record. */
  readonly connectionId: string;
  readonly identity: AgentIdentity;
  /** null until `registered()` is called. */
  hostId: string | null = null;
  features: readonly string[] = [];
  registeredMs: number | null = null;

  readonly #socket: WebSocket;
  readonly #commands: PendingCommands;
  readonly #deps: LinkDeps;
  readonly #queue: SendQueue;
  readonly #rate: TokenBucket;
  readonly #bytes: TokenBucket;
  #malformed: WindowCounter | null = null;
  #errors: WindowCounter | null = null;
  #phase: 'register' | 'registering' | 'capacity' | 'ready' | 'closed' = 'register';
  #inbox: { message: OrderedMessage; bytes: number }[] = [];
  #inboxBytes = 0;
  #processing: Promise<void> | null = null;
  #inboxIsFull = false;
  /** Runs while the socket is paused because the agent exceeded its byte rate. */
  #restTimer: Timer | null = null;
  /** Digest of the last capacity: agents report their capacity at least twice after connecting, mostly unchanged. */
  #capacityDigest: string | null = null;
  #lastFrameMs: number;
  #handshakeTimer: Timer | null = null;
  #silenceTimer: Timer | null = null;
  #stallTimer: Timer | null = null;
  #closeTimer: Timer | null = null;

  constructor(connectionId: string, identity: AgentIdentity, socket: WebSocket, deps: LinkDeps) {
    this.connectionId = connectionId;
    this.identity = identity;
    this.#socket = socket;
    this.#deps = deps;
    this.#commands = new PendingCommands(deps.wheel);
    const now = deps.clock.monotonicMs();
    this.#lastFrameMs = now;
    this.#rate = new TokenBucket(AGENT_RATE_PER_SECOND, AGENT_RATE_BURST, now);
    this.#bytes = new TokenBucket(READ_BYTES_PER_SECOND, READ_BURST_BYTES, now);
    this.#queue = new SendQueue(socket, this);
    this.#limitHandshake();
    (socket as LinkedSocket)[LINK] = this;
    const { message, ping, close, error } = AgentLink.#listeners;
    socket.on('message', message);
    socket.on('ping', ping);
    socket.on('pong', ping);
    socket.on('close', close);
    socket.on('error', error);
  }

  /** Listeners shared by all sockets. */
  static readonly #listeners = {
    message(this: WebSocket, data: RawData, isBinary: boolean): void {
      linkOf(this).#onFrame(data as Buffer, isBinary);
    },
    ping(this: WebSocket): void {
      linkOf(this).#recordActivity();
    },
    close(this: WebSocket): void {
      linkOf(this).#onSocketClosed();
    },
    /** The library closes the socket after every error, so a log line is enough. */
    error(this: WebSocket, error: Error): void {
      const link = linkOf(this);
      link.#deps.logger.debug({ err: error, node: link.identity.nodeName }, 'agent.socket_error');
    },
  };

  get isOpen(): boolean {
    return this.#phase !== 'closed';
  }

  /** Registered and open: accepts commands. */
  get isConnected(): boolean {
    return this.#phase === 'capacity' || this.#phase === 'ready';
  }

  /** Time of the last frame, monotonic milliseconds. */
  get lastFrameMs(): number {
    return this.#lastFrameMs;
  }

  /** @returns false: closed, or the send queue is full */
  send(message: ControlMessage): boolean {
    return this.sendText(encodeControlFrame(message));
  }

  /** Sends serialized text. @param mustSend send even when the queue is full */
  sendText(frame: string, mustSend = false): boolean {
    return this.#phase !== 'closed' && this.#queue.send(frame, mustSend);
  }

  /** Sends a command and waits for its ack; never rejects. */
  command(command: ControlCommand, timeoutMs: number): Promise<CommandResult> {
    return this.#commands.start(command.id, timeoutMs, () => this.send(command));
  }

  /** The registration is committed; the message `registered` may be sent. */
  registered(hostId: string, features: readonly string[]): void {
    if (this.#phase !== 'registering') return;
    this.hostId = hostId;
    this.features = features;
    this.registeredMs = this.#deps.clock.monotonicMs();
    this.#phase = 'capacity';
    this.#limitHandshake();
  }

  /** Resolves when no handler of this link runs. */
  async idle(): Promise<void> {
    await this.#processing;
  }

  /** Closes the link from this side; later calls do nothing. Reasons are for people. */
  close(code: number, reason: string): void {
    if (this.#phase === 'closed') return;
    this.#end();
    this.#log('info', { code, reason }, 'agent.link_closed');
    this.#socket.close(code, cutUtf8(reason, MAX_REASON_BYTES));
    this.#closeTimer = this.#deps.wheel.schedule(CLOSE_LIMIT_MS, () => this.#socket.terminate());
  }

  /** Terminates the socket of a closed link whose agent does not answer; for process shutdown. */
  terminate(): void {
    this.#socket.terminate();
  }

  #onSocketClosed(): void {
    this.#closeTimer?.cancel();
    this.#end();
    this.#deps.owner.gone(this);
  }

  #end(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#handshakeStepDone();
    this.#silenceTimer?.cancel();
    this.#stallTimer?.cancel();
    this.#commands.linkLost();
    this.#inbox = [];
    this.#inboxBytes = 0;
    if (this.#isPaused) this.#socket.resume();
    this.#restTimer?.cancel();
    if (this.identity.kind === 'enrolled') this.identity.release();
    this.#deps.owner.closed(this);
  }

  #onFrame(data: Buffer, isBinary: boolean): void {
    if (this.#phase === 'closed') return;
    const now = this.#deps.clock.monotonicMs();
    this.#lastFrameMs = now;
    if (isBinary) {
      this.close(AGENT_CLOSE.binary_frame, 'binary frame');
      return;
    }
    if (!this.#rate.take(now)) {
      this.close(AGENT_CLOSE.flooded, 'too many messages');
      return;
    }
    // Frames that were already received, such as this one, are still handled during the pause.
    this.#bytes.take(now, data.length);
    if (this.#restTimer === null && this.#bytes.isEmpty(now)) this.#rest();
    const text = isUtf8(data) ? data.toString('utf8') : null;
    const relayed = text === null || !this.isConnected ? null : readRelayedSignal(text);
    if (relayed !== null) {
      this.#deps.owner.relay(this, relayed);
      return;
    }
    const frame = text === null ? { kind: 'malformed' as const, why: 'not UTF-8' } : parseAgentFrame(text);
    switch (frame.kind) {
      case 'message':
        this.#onMessage(frame.message, data);
        return;
      case 'unknown':
        this.#onUnknownMessage(frame.id);
        return;
      case 'malformed':
        this.#malformedFrame(frame, now);
        return;
    }
  }

  #onMessage(message: AgentMessage, frame: Buffer): void {
    if (this.#phase === 'register') {
      if (message.type !== 'register') {
        this.close(AGENT_CLOSE.malformed, 'register comes first');
        return;
      }
      this.#phase = 'registering';
      this.#handshakeStepDone();
      this.#processing = this.#register(message);
      return;
    }
    // A message before `registered` was sent, or a second register, is a protocol error.
    if (this.#phase === 'registering') {
      this.close(AGENT_CLOSE.malformed, 'not registered yet');
      return;
    }
    switch (message.type) {
      case 'register':
        this.#malformedFrame({ type: 'register', why: 'registered already' }, this.#lastFrameMs);
        return;
      case 'ack':
        this.#commands.acked(message);
        return;
      case 'capacity':
        this.#completeHandshake();
        this.#enqueue({ ...message, isRepeated: this.#repeatsCapacity(frame) }, frame.length);
        return;
      case 'session_state':
      case 'session_trace_event':
      case 'image_state':
        this.#enqueue(message, frame.length);
        return;
      case 'signaling':
        this.#deps.owner.relay(this, relayedSignal(message));
        return;
      case 'error':
        // Each error message writes a log line, so errors have the same limit as malformed messages.
        this.#errors ??= new WindowCounter(MALFORMED_LIMIT, MALFORMED_WINDOW_MS);
        if (this.#errors.add(this.#lastFrameMs)) return;
        this.#deps.owner.immediate(this, message);
        return;
      default:
        this.#deps.owner.immediate(this, message);
    }
  }

  /** The first capacity report ends the handshake; afterwards only the silence deadline applies. */
  #completeHandshake(): void {
    if (this.#phase !== 'capacity') return;
    this.#phase = 'ready';
    this.#handshakeStepDone();
    this.#watchSilence();
  }

  #repeatsCapacity(frame: Buffer): boolean {
    const digest = sha256Hex(frame);
    const isRepeated = digest === this.#capacityDigest;
    this.#capacityDigest = digest;
    return isRepeated;
  }

  #onUnknownMessage(id: string | undefined): void {
    if (this.#phase === 'register' || this.#phase === 'registering') {
      this.close(AGENT_CLOSE.malformed, 'register comes first');
      return;
    }
    if (id !== undefined) this.#refuse(id, 'unknown_command');
  }

  #log(level: LogLevel, fields: object, event: LogEvent): void {
    const { nodeName } = this.identity;
    this.#deps.hostLog.line(level, nodeName, { node: nodeName, host_id: this.hostId, ...fields }, event);
  }

  #malformedFrame(frame: { type?: string; id?: string; why: string }, now: number): void {
    const inHandshake =
      this.#phase === 'register' ||
      this.#phase === 'registering' ||
      (this.#phase === 'capacity' && frame.type === 'capacity');
    this.#log('warn', { type: frame.type?.slice(0, 64), why: frame.why }, 'agent.message_malformed');
    if (inHandshake) {
      this.close(AGENT_CLOSE.malformed, `malformed: ${frame.why}`);
      return;
    }
    if (frame.id !== undefined) this.#refuse(frame.id, 'invalid');
    this.#malformed ??= new WindowCounter(MALFORMED_LIMIT, MALFORMED_WINDOW_MS);
    if (this.#malformed.add(now)) this.close(AGENT_CLOSE.malformed, 'too many malformed messages');
  }

  /** Both sides answer an unknown command by an ack if it has an id, so this side also sends acks. */
  #refuse(id: string, code: 'unknown_command' | 'invalid'): void {
    if (this.isConnected) this.send({ type: 'ack', id, ok: false, code });
  }

  #enqueue(message: OrderedMessage, bytes: number): void {
    this.#inbox.push({ message, bytes });
    this.#inboxBytes += bytes;
    if (this.#inbox.length >= INBOX_HIGH || this.#inboxBytes >= INBOX_HIGH_BYTES) {
      this.#socket.pause();
      this.#inboxIsFull = true;
    }
    this.#processing ??= this.#processInbox();
  }

  async #register(message: Register): Promise<void> {
    try {
      await this.#deps.owner.register(this, message);
    } catch (error) {
      this.#log('error', { err: error }, 'agent.registration_failed');
      this.close(INTERNAL_ERROR, 'registration failed');
    }
    this.#processing = this.#inbox.length > 0 ? this.#processInbox() : null;
  }

  async #processInbox(): Promise<void> {
    while (this.#inbox.length > 0) {
      const run = this.#inbox.splice(0, lengthOfRun(this.#inbox));
      for (const { bytes } of run) this.#inboxBytes -= bytes;
      try {
        await this.#deps.owner.ordered(
          this,
          run.map(({ message }) => message),
        );
      } catch (error) {
        this.#log('error', { err: error, type: run[0]?.message.type }, 'agent.message_failed');
      }
      if (this.#inboxIsFull && this.#inbox.length <= INBOX_LOW && this.#inboxBytes <= INBOX_LOW_BYTES) {
        this.#inboxIsFull = false;
        this.#readAgain();
      }
    }
    // Release the array, whose memory has grown with the longest queue.
    this.#inbox = [];
    this.#processing = null;
  }

  get #isPaused(): boolean {
    return this.#inboxIsFull || this.#restTimer !== null;
  }

  /** Pauses the socket until the bucket contains bytes again. */
  #rest(): void {
    this.#socket.pause();
    this.#restTimer = this.#deps.wheel.schedule(REST_MS, AgentLink.#rested, this);
  }

  static #rested(link: AgentLink): void {
    link.#restTimer = null;
    if (link.#phase === 'closed') return;
    if (link.#bytes.isEmpty(link.#deps.clock.monotonicMs())) link.#rest();
    else link.#readAgain();
  }

  #readAgain(): void {
    if (this.#isPaused) return;
    // The time while the socket was paused does not count as silence.
    this.#recordActivity();
    this.#socket.resume();
  }

  #recordActivity(): void {
    this.#lastFrameMs = this.#deps.clock.monotonicMs();
  }

  #limitHandshake(): void {
    this.#handshakeTimer = this.#deps.wheel.schedule(HANDSHAKE_STEP_MS, AgentLink.#handshakeLasted, this);
  }

  static #handshakeLasted(link: AgentLink): void {
    link.close(AGENT_CLOSE.timed_out, `no ${link.#phase} within ${HANDSHAKE_STEP_MS / 1_000} s`);
  }

  #handshakeStepDone(): void {
    this.#handshakeTimer?.cancel();
    this.#handshakeTimer = null;
  }

  /**
   * Checks the age of the newest frame when it can first exceed the deadline. Restarting a timer with every frame would
   * cost more.
   */
  #watchSilence(): void {
    const silentMs = this.#deps.clock.monotonicMs() - this.#lastFrameMs;
    if (silentMs >= READ_DEADLINE_MS && !this.#isPaused) {
      this.close(AGENT_CLOSE.timed_out, `silent for ${READ_DEADLINE_MS / 1_000} s`);
      return;
    }
    const nextMs = this.#isPaused ? READ_DEADLINE_MS : READ_DEADLINE_MS - silentMs;
    this.#silenceTimer = this.#deps.wheel.schedule(nextMs, AgentLink.#silenceLasted, this);
  }

  static #silenceLasted(link: AgentLink): void {
    link.#watchSilence();
  }

  queueFull(): void {
    this.#stallTimer?.cancel();
    this.#stallTimer = this.#deps.wheel.schedule(AGENT_SEND_QUEUE_STALL_MS, () => {
      if (this.#queue.full) this.close(AGENT_CLOSE.flooded, 'the agent does not read');
    });
  }
}
