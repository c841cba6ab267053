import {
  type Clock,
  delay,
  pause,
  type Random,
  systemClock,
  systemRandom,
  type Timer,
} from '@footlight/platform';
import { backoffMs, isTerminal } from '@footlight/protocol';
import {
  AGENT_CLOSE,
  AGENT_FEATURES,
  type AgentMessage,
  type AgentSignal,
  BACKOFF_RESET_MS,
  type Capacity,
  type ControlCommand,
  type ControlMessage,
  type ControlSignaling,
  encodeAgentFrame,
  type Heartbeat,
  type HeldSession,
  type ImageEnsure,
  isCommand,
  RESTART_REDIAL_MAX_MS,
  RETRY_AFTER_MAX_MS,
  type Register,
  type Registered,
  type SessionAssign,
  type SessionCapture,
  type SessionState,
  STORED_ACKS,
} from '@footlight/protocol/agent';
import type { AgentEventType } from '@footlight/protocol/telemetry';
import type { WebSocket } from 'ws';
import { type Behaviour, honest, type PullStep, softwareCapacity } from './behaviour.ts';
import { fakeCapture } from './captures.ts';
import { dialAgentSocket, UpgradeRefused } from './dial.ts';
import { type Closed, Inbox } from './inbox.ts';
import { type Report, UnseenReports } from './reports.ts';

export interface FakeAgentOptions {
  /** http(s) base URL of the control plane. */
  url: string;
  nodeName: string;
  /** After enrollment the issued secret replaces this one. */
  credential: { secret: string } | { token: string; enrollId?: string };
  capacity?: Capacity;
  features?: readonly string[];
  /** Milliseconds between heartbeats; 0: tests send them. Default: the interval of `registered`. */
  heartbeatMs?: number;
  behaviour?: Partial<Behaviour>;
  /** Overrides of the message `register`, for handshake tests. */
  register?: Partial<Register>;
  /** Called with every frame of the signaling relay. */
  onSignaling?: (frame: ControlSignaling, agent: FakeAgent) => void;
  /** Sends nothing after `registered`: no capacity, no backlog, no heartbeats. */
  silentAfterRegistered?: boolean;
  /**
   * Time of stamps, heartbeats, delays and the backoff; pass the clock of the service under test. Time limits of waits
   * use the machine's clock, because the socket is real. Default: the machine's clock.
   */
  clock?: Clock;
  /** Source of boot ids and jitter. Default: the machine's generator. */
  random?: Random;
  /** Called with each text frame, sent and received. */
  onFrame?: (direction: 'sent' | 'received', text: string) => void;
}

/**
 * Node agent without a machine: the socket and the protocol are real, and sessions are only records.
 *
 * An object is one host. `connect` dials, enrolls or authenticates, registers and reports the capacity. `drop` breaks
 * the link and keeps the sessions. `crash` loses link and sessions and changes the boot id. Only `stay` reconnects
 * automatically. A process can run a thousand fake agents.
 *
 * Teardown: `close` and `drop` end the socket, and with it the heartbeat; the signal of `stay` ends its waits. A
 * delayed ack or launch step of an ended link is not sent.
 */
export class FakeAgent {
  readonly options: FakeAgentOptions;
  behaviour: Behaviour;
  /** `crash` changes the boot id. */
  bootId: string;
  /** Known after the first connect. */
  hostId: string | null = null;
  /** Secret from the options or from enrollment. */
  secret: string | null;
  capacity: Capacity;
  /** Running sessions, and ended sessions whose end is not confirmed. */
  readonly sessions = new Map<string, HeldSession>();
  /** Images of this host, by id. `register` contains them unless the map is empty. */
  readonly images = new Map<string, NonNullable<Register['images']>[number]>();
  /** All received commands, including repeats. */
  readonly commands: ControlCommand[] = [];
  /** Highest confirmed report number of this boot. */
  seen = 0;

  #socket: WebSocket | null = null;
  #reports = new UnseenReports();
  #heldBack: string | null = null;
  readonly #inbox = new Inbox();
  readonly #acks = new Map<string, AgentMessage & { type: 'ack' }>();
  readonly #clock: Clock;
  readonly #random: Random;
  #heartbeat: Timer | null = null;
  #leaving: Timer | null = null;
  /** Measurements on this host. Each has a timer while its session runs and the link is open. */
  readonly #benches = new Map<string, { assign: SessionAssign; seconds: number; timer: Timer | null }>();
  /** Heartbeat numbers of heard(). The start value avoids the numbers and times that tests use. */
  #heard = 1_000_000_000;
  #closed: Promise<Closed> = Promise.resolve({ code: 0, reason: '' });

  constructor(options: FakeAgentOptions) {
    this.options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.bootId = this.#random.uuid();
    this.behaviour = { ...honest, ...options.behaviour };
    this.capacity = options.capacity ?? softwareCapacity();
    this.secret = 'secret' in options.credential ? options.credential.secret : null;
  }

  /** Close code and reason of the newest connection. */
  get closed(): Promise<Closed> {
    return this.#closed;
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === 1;
  }

  /** Number of unconfirmed reports. */
  get unseen(): number {
    return this.#reports.count;
  }

  /** Newest received frames as text, including frames unknown to this protocol version. */
  get frames(): readonly string[] {
    return this.#inbox.frames;
  }

  /** Headers of the next upgrade: the stored secret, or the enrollment token. */
  headers(): Record<string, string> {
    const common = { 'X-Service-Node': this.options.nodeName, 'X-Service-Boot': this.bootId };
    if (this.secret !== null) return { ...common, Authorization: `Bearer ${this.secret}` };
    const credential = this.options.credential as { token: string; enrollId?: string };
    return {
      ...common,
      Authorization: `Enroll ${credential.token}`,
      ...(credential.enrollId !== undefined && { 'X-Service-Enroll': credential.enrollId }),
    };
  }

  /** Opens the socket, but does not register. @throws UpgradeRefused */
  async open(): Promise<void> {
    const socket = await dialAgentSocket(this.options.url, this.headers());
    this.#socket = socket;
    this.#inbox.clear();
    this.#closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        if (this.#socket === socket) this.#stopTimers();
        resolve({ code, reason: reason.toString('utf8') });
      });
    });
    socket.on('error', () => {});
    socket.on('message', (data) => this.#message((data as Buffer).toString('utf8')));
  }

  /**
   * Opens the socket, registers, and reports capacity and backlog.
   * @throws UpgradeRefused; Error with the close code when the control plane closes the socket before `registered`
   */
  async connect(): Promise<Registered> {
    await this.open();
    this.send({
      type: 'register',
      node_name: this.options.nodeName,
      agent_version: '0.0.0-fake',
      protocol: { min: 1, max: 1 },
      boot_id: this.bootId,
      features: [...(this.options.features ?? AGENT_FEATURES)],
      sessions: this.behaviour.claim([...this.sessions.values()]),
      ...(this.images.size > 0 && { images: [...this.images.values()] }),
      ...this.options.register,
    });
    const registered = await this.waitFor('registered');
    this.hostId = registered.host_id;
    if (registered.node_secret !== undefined) this.secret = registered.node_secret;
    if (registered.last_seq !== null) this.#confirmed(registered.last_seq);
    if (this.options.silentAfterRegistered !== true) {
      this.send(this.capacity);
      for (const report of this.#reports.unseen) this.#transmit(encodeAgentFrame(report));
      this.#startHeartbeat(this.options.heartbeatMs ?? registered.heartbeat_interval_ms);
      for (const id of this.#benches.keys()) this.#startBench(id);
    }
    const { leaves } = this.behaviour;
    if (leaves !== null)
      this.#leaving = this.#clock.setTimeout(() => void this[leaves.how](), leaves.afterMs);
    return registered;
  }

  /** Connects, and reconnects with a real agent's backoff until the signal aborts. */
  async stay(until: AbortSignal): Promise<void> {
    let attempt = 0;
    while (!until.aborted) {
      let waitMs = 0;
      const dialledMs = this.#clock.monotonicMs();
      try {
        await this.connect();
        if ((await this.#closed).code === AGENT_CLOSE.restarting)
          waitMs = this.#random.number() * RESTART_REDIAL_MAX_MS;
      } catch (error) {
        const asked = error instanceof UpgradeRefused ? Number(error.headers['retry-after'] ?? 0) : 0;
        waitMs = Math.min(asked * 1_000, RETRY_AFTER_MAX_MS);
      }
      if (this.#clock.monotonicMs() - dialledMs >= BACKOFF_RESET_MS) attempt = 0;
      const stepMs = backoffMs(attempt, this.#random.number());
      attempt += 1;
      await pause(this.#clock, Math.max(waitMs, stepMs), until);
    }
  }

  /** Closes the link with a close frame. */
  async close(code = 1000): Promise<void> {
    this.#socket?.close(code);
    await this.#closed;
  }

  /** Breaks the link without a close frame; the sessions continue. */
  async drop(): Promise<void> {
    this.#socket?.terminate();
    await this.#closed;
  }

  /** Stops reading from the connection. The agent can still send, but does not notice when the connection ends. */
  deafen(): void {
    this.#socket?.pause();
  }

  /** Resumes reading, starting with the unread frames. */
  hearAgain(): void {
    this.#socket?.resume();
  }

  /** Simulates a crash: link, sessions and backlog are lost, and the boot id changes. */
  async crash(): Promise<void> {
    await this.drop();
    this.sessions.clear();
    this.#benches.clear();
    this.#reports = new UnseenReports();
    this.#acks.clear();
    this.seen = 0;
    this.bootId = this.#random.uuid();
  }

  /** Sends a message unchanged. Without a connection the call does nothing. */
  send(message: AgentMessage): void {
    this.sendRaw(encodeAgentFrame(message));
  }

  /** Sends a frame. By default, a string becomes a text frame, and bytes become a binary frame. */
  sendRaw(frame: string | Buffer, binary = typeof frame !== 'string'): void {
    if (this.#socket?.readyState !== 1) return;
    this.#socket.send(frame, { binary });
    if (typeof frame === 'string') this.options.onFrame?.('sent', frame);
  }

  /** Numbers a report, keeps the report until its confirmation, and sends it according to `behaviour`. */
  report(report: Report): void {
    const frame = encodeAgentFrame(this.#reports.number(report));
    if (!this.behaviour.swallow) this.#transmit(frame);
  }

  /** Reports a session's state and records the state. */
  reportState(
    sessionId: string,
    state: SessionState['state'],
    extras: Partial<Omit<SessionState, 'type' | 'seq' | 'session_id' | 'state'>> = {},
  ): void {
    const session = this.sessions.get(sessionId);
    if (session !== undefined) {
      session.state = state;
      if (state === 'running') session.started_at ??= this.#clock.nowMs();
    }
    this.report({ type: 'session_state', session_id: sessionId, ts: this.#clock.nowMs(), state, ...extras });
    if (state === 'running') this.#startBench(sessionId);
    if (!isTerminal(state)) return;
    this.sessions.delete(sessionId);
    this.#benches.get(sessionId)?.timer?.cancel();
    this.#benches.delete(sessionId);
  }

  /** Reports the state of an image on this host and records the state. Reports of progress have no number. */
  reportImage(image_id: string, version: string, { state, ...extras }: Omit<PullStep, 'afterMs'>): void {
    if (state === 'absent') this.images.delete(image_id);
    else this.images.set(image_id, { image_id, version, state });
    const report = { type: 'image_state' as const, image_id, version, state, ...extras };
    if (extras.progress_pct === undefined) this.report(report);
    else this.send(report);
  }

  /** Reports the result of a change of app and records the running app. */
  endSwap(sessionId: string, app_id: string, outcome = this.behaviour.swap): void {
    const session = this.sessions.get(sessionId);
    if (session === undefined || outcome === null) return;
    const complete = outcome === 'complete';
    if (complete) session.app_id = app_id;
    this.report({
      type: 'session_state',
      session_id: sessionId,
      ts: this.#clock.nowMs(),
      state: 'running',
      swap: complete
        ? { app_id, result: 'complete' }
        : { app_id, result: 'rolled_back', error: outcome.rolled_back },
    });
  }

  /** Reports the result of a capture. */
  endCapture(
    command: Pick<SessionCapture, 'session_id' | 'capture_id' | 'kind'>,
    outcome = this.behaviour.capture,
  ): void {
    if (outcome === null) return;
    this.report({
      type: 'session_trace_event',
      session_id: command.session_id,
      ts: this.#clock.nowMs(),
      event: `diag.${command.kind}` as AgentEventType,
      payload: fakeCapture(command, outcome === 'result' ? null : outcome.error),
    });
  }

  /** Adds a session as if it had been launched on this host. */
  hold(session: Partial<HeldSession> & { session_id: string; app_id: string }): void {
    this.sessions.set(session.session_id, {
      state: 'running',
      started_at: this.#clock.nowMs(),
      viewer: false,
      ...session,
    });
  }

  heartbeat(overrides: Partial<Heartbeat> = {}): void {
    const live = new Set(['starting', 'running', 'stopping']);
    this.send({
      type: 'heartbeat',
      ts: this.#clock.nowMs(),
      running_sessions: [...this.sessions.values()]
        .filter((session) => live.has(session.state))
        .map((session) => session.session_id),
      ...overrides,
    });
  }

  /**
   * Sends a heartbeat and waits until the control plane has read the heartbeat, and therefore also every earlier
   * message.
   */
  async heard(overrides: Omit<Partial<Heartbeat>, 'ts'> = {}): Promise<void> {
    this.#heard += 1;
    const ts = this.#heard;
    this.heartbeat({ ...overrides, ts });
    await this.waitFor('heartbeat_ack', ({ echo }) => echo === ts);
  }

  signal(sessionId: string, conn: number, msg: AgentSignal): void {
    this.send({ type: 'signaling', session_id: sessionId, conn, msg });
  }

  /**
   * First message of a type on this connection, past or future.
   * @throws when the connection ends or the time limit passes first
   */
  waitFor<T extends ControlMessage['type']>(
    type: T,
    match?: (message: Extract<ControlMessage, { type: T }>) => boolean,
    limitMs?: number,
  ): Promise<Extract<ControlMessage, { type: T }>> {
    return this.#inbox.waitFor(type, this.#closed, match, limitMs);
  }

  #message(text: string): void {
    this.options.onFrame?.('received', text);
    const message = this.#inbox.read(text);
    if (message === null) return;
    if (message.type === 'seen') this.#confirmed(message.seq);
    if (message.type === 'signaling') this.options.onSignaling?.(message, this);
    if (isCommand(message)) void this.#command(message);
    this.#inbox.tellWaiters(message);
  }

  #confirmed(seq: number): void {
    this.seen = Math.max(this.seen, seq);
    this.#reports.seen(seq);
  }

  async #command(command: ControlCommand): Promise<void> {
    this.commands.push(command);
    if (this.behaviour.frozen) return;
    const stored = this.#acks.get(command.id);
    if (stored !== undefined) {
      this.send(stored);
      return;
    }
    if (this.behaviour.ackDelayMs > 0) await delay(this.#clock, this.behaviour.ackDelayMs);
    const answer = this.behaviour.answer(command, this.#holdsSessionOf(command));
    if (answer === 'silence') return;
    const ack: AgentMessage & { type: 'ack' } =
      answer === 'ok'
        ? {
            type: 'ack',
            id: command.id,
            ok: true,
            ...(command.type === 'preflight' && { preflight: this.behaviour.preflight }),
          }
        : {
            type: 'ack',
            id: command.id,
            ok: false,
            code: answer.code,
            error: answer.error ?? 'refused by script',
          };
    this.#acks.set(command.id, ack);
    if (this.#acks.size > STORED_ACKS) this.#acks.delete(this.#acks.keys().next().value as string);
    this.send(ack);
    if (ack.ok) await this.#obey(command);
  }

  /** Whether the command names a session that this agent has and that is not ending. */
  #holdsSessionOf(command: ControlCommand): boolean {
    const session = 'session_id' in command ? this.sessions.get(command.session_id) : undefined;
    return session !== undefined && session.state !== 'stopping' && !isTerminal(session.state);
  }

  async #obey(command: ControlCommand): Promise<void> {
    switch (command.type) {
      case 'session_assign':
        if (this.sessions.has(command.session_id)) return;
        this.hold({
          session_id: command.session_id,
          app_id: command.app_id,
          state: 'assigned',
          started_at: null,
        });
        if (command.bench !== undefined)
          this.#benches.set(command.session_id, { assign: command, seconds: 0, timer: null });
        return;
      case 'session_start':
        return this.#launch(command.session_id);
      case 'image_ensure':
      case 'image_build':
        return this.#pull(command);
      case 'image_remove':
        this.reportImage(command.image_id, '', { state: 'absent' });
        return;
      case 'session_swap_app':
        this.endSwap(command.session_id, command.app_id);
        return;
      case 'session_capture':
        return this.endCapture(command);
      case 'session_stop':
        if (this.sessions.has(command.session_id)) this.reportState(command.session_id, 'stopping');
        this.reportState(command.session_id, 'stopped', { reason: command.reason });
        return;
      case 'config_update':
        if (this.options.silentAfterRegistered !== true) this.send(this.capacity);
        return;
      case 'restart':
        await this.close(1001);
        return;
      default:
    }
  }

  /** Sends a sample of a measurement each second while its session runs. */
  #startBench(sessionId: string): void {
    const bench = this.#benches.get(sessionId);
    if (bench === undefined || bench.timer !== null || this.sessions.get(sessionId)?.state !== 'running')
      return;
    bench.timer = this.#clock.setInterval(() => {
      bench.seconds += 1;
      const metrics = this.behaviour.bench(bench.assign, bench.seconds, this.#benches.size);
      if (metrics === null) return;
      this.send({
        type: 'session_metrics',
        session_id: sessionId,
        ts: this.#clock.nowMs(),
        window_ms: 1_000,
        metrics,
      });
    }, 1_000);
  }

  async #pull({ image_id, version }: Pick<ImageEnsure, 'image_id' | 'version'>): Promise<void> {
    for (const { afterMs = 0, ...step } of this.behaviour.pull) {
      if (afterMs > 0) await delay(this.#clock, afterMs);
      this.reportImage(image_id, version, step);
    }
  }

  async #launch(sessionId: string): Promise<void> {
    if (this.sessions.get(sessionId)?.state !== 'assigned') return;
    for (const { state, afterMs = 0, ...extras } of this.behaviour.launch) {
      if (afterMs > 0) await delay(this.#clock, afterMs);
      // A stop ends the launch, so the remaining steps are not reported.
      const session = this.sessions.get(sessionId);
      if (session === undefined || session.state === 'stopping') return;
      this.reportState(sessionId, state, extras);
    }
  }

  #transmit(frame: string): void {
    if (this.behaviour.reorder && this.#heldBack === null) {
      this.#heldBack = frame;
      return;
    }
    this.sendRaw(frame);
    if (this.behaviour.duplicate) this.sendRaw(frame);
    if (this.#heldBack === null) return;
    const late = this.#heldBack;
    this.#heldBack = null;
    this.sendRaw(late);
  }

  #startHeartbeat(everyMs: number): void {
    this.#stopTimers();
    if (everyMs <= 0) return;
    this.#heartbeat = this.#clock.setInterval(() => {
      if (!this.behaviour.frozen) this.heartbeat();
    }, everyMs);
  }

  #stopTimers(): void {
    this.#heartbeat?.cancel();
    this.#leaving?.cancel();
    for (const bench of this.#benches.values()) {
      bench.timer?.cancel();
      bench.timer = null;
    }
    this.#heartbeat = null;
    this.#leaving = null;
  }
}
