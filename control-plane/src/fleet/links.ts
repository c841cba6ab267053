import { SECOND_MS } from '@footlight/platform';
import {
  AGENT_CLOSE,
  AGENT_PROTOCOL,
  HEARTBEAT_INTERVAL_MS,
  type Register,
  type RelayedSignal,
  type SessionState,
} from '@footlight/protocol/agent';
import type { WebSocket } from 'ws';
import type { Subscription } from '../platform/bus.ts';
import type { RowsToLock, Tx } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import type { ReliableEvent } from '../telemetry/index.ts';
import { FeatureSets } from './feature-sets.ts';
import type { AgentCommand, AgentHandlers, CommandResult, Fleet, SignalingToAgent } from './fleet.ts';
import { type HostChange, hostSubject } from './hosts/host-change.ts';
import { markAllOffline, markOffline } from './hosts/host-store.ts';
import { HostLog } from './link/host-log.ts';
import { AgentLink, type ImmediateMessage, type LinkDeps, type LinkOwner } from './link/link.ts';
import type { CapacityMessage, OrderedMessage, ReportMessage } from './link/report-run.ts';
import { ReportSequence } from './link/report-sequence.ts';
import { TimerWheel } from './link/timer-wheel.ts';
import { Pulse, type SampledGpu } from './reports/pulse.ts';
import { type RegistrationOutcome, register, rowsOfRegistration } from './reports/registration.ts';
import { NOTHING_STORED, type StoredCapacity, storeCapacity, untilStored } from './reports/store-capacity.ts';
import { TurnBatch } from './reports/turn-batch.ts';
import { ConfigPush } from './settings/config-push.ts';
import type { Admission, OpenNames } from './upgrade/agent-upgrade.ts';

/** Extra time for a command's answer over the bus. */
const BUS_SLACK_MS = 2 * SECOND_MS;
const DISPLACED = 'a newer connection of this node';
/** Time for agents to answer the close of a stopping control plane. */
const GOODBYE_MS = SECOND_MS;

/** Unstored events of a host at which its further reports wait. */
const MAX_UNSTORED_EVENTS = 64;

/** In-memory state of one host, in addition to its record. */
interface HostMemory {
  link: AgentLink | null;
  /** Receives commands from other features over the bus while the link is up. */
  responder: Subscription | null;
  reports: ReportSequence | null;
  /** Arrived events that are not stored yet (count). */
  unstoredEvents: number;
  gpus: readonly SampledGpu[];
  /**
   * Whether a console configuration exists; null: no capacity of this connection is stored, or the configuration
   * changed.
   */
  hasConsole: boolean | null;
  /** Number of configuration pushes. */
  pushes: number;
  lastSeenMs: number;
  /** Number of committed registrations, so that an older one detects a newer one. */
  registrations: number;
}

interface CommandRequest {
  command: AgentCommand;
  timeoutMs: number;
}

/**
 * All agent links of this process. Registers them, keeps at most one per host, dispatches their messages and sends
 * commands. The newest connection of a host wins; messages of older ones are ignored.
 */
export class AgentLinks implements Fleet, LinkOwner, OpenNames {
  readonly #platform: Platform;
  readonly #wheel: TimerWheel;
  readonly #batch: TurnBatch;
  readonly #pulse: Pulse;
  readonly #configs: ConfigPush;
  readonly #hostLog: HostLog;
  readonly #featureSets = new FeatureSets();
  /** Dependencies of all links. */
  readonly #linkDeps: LinkDeps;
  /** One entry per host that connected since this process started. */
  readonly #hosts = new Map<string, HostMemory>();
  readonly #open = new Set<AgentLink>();
  /** Node name → its open links without a registration (count). */
  readonly #handshakes = new Map<string, number>();
  readonly #reserved = new Map<string, symbol>();
  readonly #connectedNames = new Map<string, AgentLink>();
  #handlers: AgentHandlers | null = null;
  #connected = 0;
  #firstConnectedMs: number | null = null;
  #closing = false;
  /** Set while `close` waits for the last socket. */
  #allGone: (() => void) | null = null;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#wheel = new TimerWheel(platform.clock);
    this.#batch = new TurnBatch(platform.database);
    this.#pulse = new Pulse({ batch: this.#batch, clock: platform.clock, logger: platform.logger });
    this.#hostLog = new HostLog(platform.logger, platform.clock);
    this.#configs = new ConfigPush(platform, this.#hostLog, {
      isConnected: (hostId) => this.isConnected(hostId),
      // Only the process with the link pushes configurations.
      command: (hostId, command, timeoutMs) => this.#commandHere(hostId, command, timeoutMs),
    });
    this.#linkDeps = {
      clock: platform.clock,
      logger: platform.logger,
      hostLog: this.#hostLog,
      wheel: this.#wheel,
      owner: this,
    };
  }

  setHandlers(handlers: AgentHandlers): void {
    this.#handlers = handlers;
  }

  write<T>(rows: RowsToLock, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#batch.run(rows, work);
  }

  /** @throws when setHandlers was not called */
  get handlers(): AgentHandlers {
    if (this.#handlers === null) throw new Error('the fleet was started without handlers');
    return this.#handlers;
  }

  /** Before the first socket: marks hosts of a former process as offline. */
  async start(): Promise<void> {
    await markAllOffline(this.#platform.database);
  }

  /** Tells every agent to reconnect. No host or session changes. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const link of this.#open) link.close(AGENT_CLOSE.restarting, 'the control plane restarts');
    await this.#pulse.close();
    await this.#batch.idle();
    if (this.#open.size > 0) {
      const deadline = this.#platform.clock.setTimeout(() => {
        for (const link of this.#open) link.terminate();
      }, GOODBYE_MS);
      await new Promise<void>((resolve) => {
        this.#allGone = resolve;
      });
      deadline.cancel();
    }
    this.#wheel.close();
  }

  has(nodeName: string): boolean {
    return this.#reserved.has(nodeName) || this.#connectedNames.has(nodeName);
  }

  reserve(nodeName: string): (() => void) | null {
    if (this.has(nodeName)) return null;
    const mine = Symbol(nodeName);
    this.#reserved.set(nodeName, mine);
    return () => {
      if (this.#reserved.get(nodeName) === mine) this.#reserved.delete(nodeName);
    };
  }

  get handshakes(): number {
    return this.#handshakes.size;
  }

  /** Takes over an upgraded socket. */
  accept(socket: WebSocket, admission: Admission): void {
    const link = new AgentLink(this.#platform.random.uuid(), admission, socket, this.#linkDeps);
    this.#open.add(link);
    this.#handshakes.set(admission.nodeName, (this.#handshakes.get(admission.nodeName) ?? 0) + 1);
    if (this.#closing) link.close(AGENT_CLOSE.restarting, 'the control plane restarts');
  }

  async register(link: AgentLink, message: Register): Promise<void> {
    const { admission } = link;
    if (message.node_name !== admission.nodeName)
      return link.close(AGENT_CLOSE.malformed, 'another node_name');
    if (admission.bootId !== null && message.boot_id !== admission.bootId) {
      return link.close(AGENT_CLOSE.malformed, 'another boot_id');
    }
    const protocol = Math.min(message.protocol.max, AGENT_PROTOCOL.max);
    if (protocol < Math.max(message.protocol.min, AGENT_PROTOCOL.min)) {
      return link.close(AGENT_CLOSE.protocol_unsupported, `${AGENT_PROTOCOL.min}-${AGENT_PROTOCOL.max}`);
    }
    const displaced = admission.kind === 'known' ? await this.#displace(admission.hostId) : null;
    const outcome = await this.#batch
      .run(rowsOfRegistration(admission, message), (tx) =>
        register(
          tx,
          { database: this.#platform.database, random: this.#platform.random, handlers: this.handlers },
          { admission, connectionId: link.connectionId, message, nowMs: this.#platform.clock.nowMs() },
        ),
      )
      .catch(async (error: unknown) => {
        // The registration failed, and the older link is already closed.
        if (displaced !== null) await this.#markOffline(displaced.hostId!, displaced);
        throw error;
      });
    if (outcome.kind === 'gone') return link.close(AGENT_CLOSE.malformed, outcome.why);
    if (outcome.secret !== null) {
      void this.#platform.activity.record({
        actorUserId: null,
        action: 'host.enroll',
        targetType: 'host',
        targetId: outcome.host.id,
        details: { node_name: outcome.host.node_name },
      });
    }
    // Several connections of this host may have registered in one batch; the last committed one stays.
    const memory = this.#memory(outcome.host.id);
    memory.registrations += 1;
    const turn = memory.registrations;
    while (memory.link !== null && memory.registrations === turn) await this.#displace(outcome.host.id);
    if (memory.registrations !== turn) {
      link.close(AGENT_CLOSE.displaced, DISPLACED);
      return;
    }
    if (!link.isOpen) {
      await this.#markOffline(outcome.host.id, link);
      return;
    }
    this.#admit(link, message, outcome, protocol);
  }

  #admit(
    link: AgentLink,
    message: Register,
    outcome: RegistrationOutcome & { kind: 'registered' },
    protocol: number,
  ): void {
    const { host } = outcome;
    const { admission } = link;
    const memory = this.#memory(host.id);
    if (memory.reports?.bootId !== message.boot_id) {
      memory.reports = new ReportSequence(admission.bootId ?? message.boot_id, outcome.lastSeq);
    }
    memory.link = link;
    memory.gpus = [];
    memory.hasConsole = null;
    this.#handshakeOver(admission.nodeName);
    link.registered(host.id, this.#featureSets.of(message.features));
    this.#connectedNames.set(admission.nodeName, link);
    if (this.#connected === 0) this.#firstConnectedMs = this.#platform.clock.monotonicMs();
    this.#connected += 1;
    memory.responder = this.#answerCommands(host.id);
    link.send({
      type: 'registered',
      protocol,
      host_id: host.id,
      ...(outcome.secret !== null && { node_secret: outcome.secret }),
      heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
      session_grace_secs: this.#platform.config.sessions.graceSecs,
      server_ts: this.#platform.clock.nowMs(),
      last_seq: memory.reports.last,
    });
    this.#configs.registered(host);
    this.#safely('reconcile', host.id, outcome.afterCommit);
    this.#hostLog.line(
      'info',
      host.node_name,
      { host_id: host.id, node: host.node_name, agent_version: message.agent_version, new: outcome.isNew },
      'agent.registered',
    );
  }

  async ordered(link: AgentLink, run: readonly OrderedMessage[]): Promise<void> {
    const memory = this.#current(link);
    if (memory === null) return;
    const reports: ReportMessage[] = [];
    const handled: Promise<void>[] = [];
    for (const message of run) {
      if (message.type === 'capacity') handled.push(this.#capacity(link, memory, message));
      else reports.push(message);
    }
    if (reports.length > 0) handled.push(this.#reports(link, memory, reports));
    // Writes keep the order of their calls.
    await Promise.all(handled);
  }

  /** Handles a run of reports and confirms them by one number. */
  async #reports(link: AgentLink, memory: HostMemory, run: readonly ReportMessage[]): Promise<void> {
    const hostId = link.hostId!;
    const sequence = memory.reports!;
    const seqs = run.flatMap(({ seq }) => seq ?? []);
    if (seqs.length > 0) sequence.sendsFrom(Math.min(...seqs));
    const fresh = sequence.unhandled(run);
    const events = fresh.filter(isReliableEvent);
    // In parallel with the states, because a full disk may refuse the events and states must not wait for them.
    const eventsWrite = events.length === 0 ? null : this.#storeEvents(link, memory, events);
    const states = fresh.filter(
      (message): message is SessionState =>
        message.type === 'session_state' && sequence.isNewestState(message.session_id, message.seq),
    );
    if (states.length > 0) {
      const write = (some: readonly SessionState[]) => this.handlers.sessionStates(hostId, some);
      if (!(await untilStored(this.#platform, () => link.isOpen, states, write))) return;
    }
    for (const message of fresh) {
      if (message.type === 'session_trace_event') this.#traceEvent(hostId, message);
      else if (message.seq !== undefined) sequence.handled(message.seq);
    }
    if (memory.unstoredEvents > MAX_UNSTORED_EVENTS || events.some(isLarge)) await eventsWrite;
    if (seqs.length > 0) this.#confirm(hostId, memory, sequence);
  }

  /** Confirms events after they are stored. While the database refuses them, they wait here or on the agent. */
  async #storeEvents(link: AgentLink, memory: HostMemory, events: readonly ReliableEvent[]): Promise<void> {
    const hostId = link.hostId!;
    const sequence = memory.reports!;
    const source = { hostId, bootId: sequence.bootId };
    for (const { seq } of events) sequence.beginWrite(seq);
    memory.unstoredEvents += events.length;
    const write = (some: readonly ReliableEvent[]) => this.handlers.storeEvents(source, some);
    const isStored = await untilStored(this.#platform, () => link.isOpen, events, write);
    memory.unstoredEvents -= events.length;
    for (const { seq } of events) {
      if (isStored) sequence.handled(seq);
      else sequence.notStored(seq);
    }
    if (isStored) this.#confirm(hostId, memory, sequence);
  }

  #confirm(hostId: string, memory: HostMemory, sequence: ReportSequence): void {
    const { last } = sequence;
    // Another agent process may be connected by now, with its own numbers.
    if (last === null || memory.reports !== sequence) return;
    this.#pulse.handled(hostId, sequence.bootId, last);
    memory.link?.send({ type: 'seen', seq: last });
  }

  immediate(link: AgentLink, message: ImmediateMessage): void {
    const memory = this.#current(link);
    if (memory === null) return;
    const hostId = link.hostId!;
    switch (message.type) {
      case 'heartbeat':
        link.send({
          type: 'heartbeat_ack',
          echo: message.ts,
          server_ts: this.#platform.clock.nowMs(),
        });
        this.#pulse.heartbeat(hostId, memory.gpus, message);
        this.#safely('heartbeat', hostId, () => this.handlers.heartbeat(hostId, message.running_sessions));
        return;
      case 'session_metrics':
        this.#safely('metrics', hostId, () => this.handlers.metrics(hostId, message));
        return;
      case 'error':
        this.#hostLog.line(
          'warn',
          link.admission.nodeName,
          { host_id: hostId, code: message.code, message: message.message, ref: message.ref },
          'agent.says_error',
        );
    }
  }

  relay(link: AgentLink, signal: RelayedSignal): void {
    if (this.#current(link) === null) return;
    const hostId = link.hostId!;
    this.#safely('signaling', hostId, () => this.handlers.signaling(hostId, signal));
  }

  gone(link: AgentLink): void {
    this.#open.delete(link);
    if (this.#open.size === 0) this.#allGone?.();
  }

  closed(link: AgentLink): void {
    const hostId = link.hostId;
    if (hostId === null) this.#handshakeOver(link.admission.nodeName);
    if (hostId === null || this.#hosts.get(hostId)?.link !== link) return;
    this.#detach(hostId, link);
    if (this.#closing) return;
    void this.#markOffline(hostId, link);
    this.#safely('linkLost', hostId, () => this.handlers.linkLost(hostId));
    this.#tell({ hostId, what: 'lost' });
  }

  command(hostId: string, command: AgentCommand, timeoutMs: number): Promise<CommandResult> {
    const request: CommandRequest = { command, timeoutMs };
    return this.#platform.bus
      .request(commandSubject(hostId), request, timeoutMs + BUS_SLACK_MS)
      .then((answer) => (answer as CommandResult | null) ?? { kind: 'not_connected', sent: false });
  }

  /** Sends the stored configuration now; an offline host gets it at its next registration. */
  async pushConfig(hostId: string): Promise<void> {
    const memory = this.#hosts.get(hostId);
    if (memory !== undefined) {
      memory.pushes += 1;
      memory.hasConsole = null;
    }
    await this.#configs.push(hostId);
    this.#tell({ hostId, what: 'changed' });
  }

  sendSignaling(hostId: string, { session_id, conn, text, owed }: SignalingToAgent): boolean {
    const frame = `{"type":"signaling","session_id":"${session_id}","conn":${conn},"msg":${text}}`;
    return this.#hosts.get(hostId)?.link?.sendText(frame, owed) ?? false;
  }

  isConnected(hostId: string): boolean {
    return this.#hosts.get(hostId)?.link?.isConnected ?? false;
  }

  features(hostId: string): ReadonlySet<string> {
    return this.#hosts.get(hostId)?.link?.features ?? new Set();
  }

  lastSeenMonotonicMs(hostId: string): number | null {
    const memory = this.#hosts.get(hostId);
    if (memory === undefined) return null;
    return memory.link?.lastFrameMs ?? memory.lastSeenMs;
  }

  registeredMonotonicMs(hostId: string): number | null {
    return this.#hosts.get(hostId)?.link?.registeredMs ?? null;
  }

  presence(): { connected: number; firstConnectedMonotonicMs: number | null } {
    return { connected: this.#connected, firstConnectedMonotonicMs: this.#firstConnectedMs };
  }

  seenWithin(windowMs: number): number {
    const since = this.#platform.clock.monotonicMs() - windowMs;
    let count = 0;
    for (const memory of this.#hosts.values()) {
      if ((memory.link?.lastFrameMs ?? memory.lastSeenMs) >= since) count += 1;
    }
    return count;
  }

  /** Drops the memory of a deleted host. */
  forget(hostId: string): void {
    this.#hosts.get(hostId)?.link?.close(AGENT_CLOSE.malformed, 'the host was deleted');
    this.#configs.forget(hostId);
    this.#tell({ hostId, what: 'deleted' });
    this.#hosts.delete(hostId);
  }

  /** Writes pending heartbeats for a caller that reads them now. */
  flush(): Promise<void> {
    return this.#pulse.flush();
  }

  async #capacity(link: AgentLink, memory: HostMemory, report: CapacityMessage): Promise<void> {
    const hostId = link.hostId!;
    // After a reconnect an agent repeats its capacity; an unchanged report is not stored again.
    if (report.isRepeated && memory.hasConsole !== null) {
      this.#tell({ hostId, what: 'reported', hasConsole: memory.hasConsole });
      return;
    }
    const { pushes } = memory;
    memory.hasConsole = null;
    let stored = null as StoredCapacity | null;
    const write = async () => {
      stored = await this.#batch.run({ hosts: [hostId], gpusOfHosts: [hostId] }, (tx) =>
        storeCapacity(tx, this.#platform, hostId, report),
      );
    };
    const done = await untilStored(this.#platform, () => link.isOpen, [report], write);
    if (!done || this.#current(link) !== memory) return;
    if (stored !== null && memory.pushes === pushes) memory.hasConsole = stored.hasConsole;
    const { gpus, hasConsole } = stored ?? NOTHING_STORED;
    memory.gpus = gpus;
    this.#tell({ hostId, what: 'reported', hasConsole });
    if (link.capacityStored()) this.#safely('linkReady', hostId, () => this.handlers.linkReady(hostId));
  }

  #traceEvent(hostId: string, message: ReportMessage & { type: 'session_trace_event' }): void {
    this.#safely('traceEvent', hostId, () => this.handlers.traceEvent(hostId, message));
  }

  /** A separate function, so that the closure does not keep the registration message alive. */
  #answerCommands(hostId: string): Subscription {
    return this.#platform.bus.respond(commandSubject(hostId), (payload) => {
      const { command, timeoutMs } = payload as CommandRequest;
      return this.#commandHere(hostId, command, timeoutMs);
    });
  }

  async #commandHere(hostId: string, command: AgentCommand, timeoutMs: number): Promise<CommandResult> {
    const link = this.#hosts.get(hostId)?.link;
    if (!link?.isConnected) return { kind: 'not_connected', sent: false };
    const id = this.#platform.random.uuid();
    return link.commands.start(id, timeoutMs, () => link.send({ ...command, id }));
  }

  /** Closes the host's link for a newer connection. Other features see a lost link and a registration. */
  async #displace(hostId: string): Promise<AgentLink | null> {
    const link = this.#hosts.get(hostId)?.link ?? null;
    if (link === null) return null;
    this.#detach(hostId, link);
    this.#safely('linkLost', hostId, () => this.handlers.linkLost(hostId));
    this.#tell({ hostId, what: 'lost' });
    link.close(AGENT_CLOSE.displaced, DISPLACED);
    // Its last report may be half stored; the registration must read the result.
    await link.idle();
    return link;
  }

  #handshakeOver(nodeName: string): void {
    const left = (this.#handshakes.get(nodeName) ?? 1) - 1;
    if (left > 0) this.#handshakes.set(nodeName, left);
    else this.#handshakes.delete(nodeName);
  }

  #detach(hostId: string, link: AgentLink): void {
    const memory = this.#memory(hostId);
    memory.lastSeenMs = link.lastFrameMs;
    memory.link = null;
    memory.responder?.close();
    memory.responder = null;
    this.#pulse.forgetSamples(memory.gpus.map((gpu) => gpu.id));
    memory.gpus = [];
    this.#connected -= 1;
    if (this.#connectedNames.get(link.admission.nodeName) === link) {
      this.#connectedNames.delete(link.admission.nodeName);
    }
  }

  async #markOffline(hostId: string, link: AgentLink): Promise<void> {
    try {
      await this.#batch.run({ hosts: [hostId] }, (tx) => markOffline(tx, hostId, link.connectionId));
    } catch (error) {
      this.#platform.logger.error({ err: error, host_id: hostId }, 'host.not_marked_offline');
    }
  }

  /** @returns null: the link was displaced or closed, so its messages do not count */
  #current(link: AgentLink): HostMemory | null {
    if (link.hostId === null) return null;
    const memory = this.#hosts.get(link.hostId);
    return memory?.link === link ? memory : null;
  }

  #memory(hostId: string): HostMemory {
    let memory = this.#hosts.get(hostId);
    if (memory === undefined) {
      const lastSeenMs = this.#platform.clock.monotonicMs();
      memory = {
        link: null,
        responder: null,
        reports: null,
        unstoredEvents: 0,
        gpus: [],
        hasConsole: null,
        pushes: 0,
        lastSeenMs,
        registrations: 0,
      };
      this.#hosts.set(hostId, memory);
    }
    return memory;
  }

  #tell(change: HostChange): void {
    this.#platform.bus.publish(hostSubject, change);
  }

  /** Logs an exception of a handler; the link goes on. */
  #safely(what: string, hostId: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#platform.logger.error({ err: error, host_id: hostId, what }, 'agent.handler_failed');
    }
  }
}

const isReliableEvent = (message: ReportMessage): message is ReliableEvent =>
  message.type === 'session_trace_event' && message.seq !== undefined;

/** A capture's result has up to half a megabyte, so at most one waits. */
const isLarge = ({ event }: ReliableEvent): boolean => event.startsWith('diag.');

function commandSubject(hostId: string): string {
  return `agent.${hostId}.command`;
}
