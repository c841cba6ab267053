import { type LogLevel, SECOND_MS } from '@footlight/platform';
import {
  AGENT_CLOSE,
  type ControlCommand,
  HEARTBEAT_INTERVAL_MS,
  type Register,
  type RelayedSignal,
} from '@footlight/protocol/agent';
import type { HostLoadSample } from '@footlight/protocol/rest';
import type { LogEvent } from '@footlight/protocol/telemetry';
import type { WebSocket } from 'ws';
import { readAfterGaps } from '../platform/bus/after-gaps.ts';
import type { Subscription } from '../platform/bus/bus.ts';
import type { Tx } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import { BUS_LIMIT_MS } from './agents.ts';
import type { AgentHandlers, HostPresence, ImageHandlers, Links, RegisteringHost } from './fleet.ts';
import { connectionsOf, markAllOffline, markOffline } from './hosts/host-store.ts';
import { HostLog } from './link/host-log.ts';
import { type HostMemory, newHostMemory } from './link/host-memory.ts';
import { AgentLink, type ImmediateMessage, type LinkDeps, type LinkOwner } from './link/link.ts';
import { negotiate } from './link/negotiate.ts';
import type { OrderedMessage } from './link/report-run.ts';
import { ReportSequence } from './link/report-sequence.ts';
import { TimerWheel } from './link/timer-wheel.ts';
import { HeartbeatBuffer } from './reports/heartbeat-buffer.ts';
import { OrderedReports } from './reports/ordered-reports.ts';
import type { RegistrationFacts, RegistrationOutcome } from './reports/registration.ts';
import { createRegistrations } from './reports/registrations.ts';
import { ConfigPush } from './settings/config-push.ts';
import {
  type CommandResult,
  type HostChange,
  type HostLink,
  hostSubjects,
  type SignalToAgent,
} from './subjects.ts';
import type { AgentIdentity, OpenNames } from './upgrade/agent-upgrade.ts';

const DISPLACED = 'a newer connection of this node';
/** Time for agents to answer the close frame of a stopping control plane. */
const GOODBYE_MS = SECOND_MS;

/**
 * All agent links of this process. Registers them, keeps at most one per host, dispatches their messages and forwards
 * messages from the bus to their hosts. Only the newest connection of a host counts; messages of older connections are
 * ignored.
 *
 * States of a link:
 *
 *     reserved ──> handshake ──> registered ──> displaced
 *         └─────────────┴─────────────┴────────────┴──> closed
 *
 * - reserved: the upgrade of an enrolling node is being checked; `reserve` reserves its name until its link is closed.
 *   A known node needs no reservation; its link starts as a handshake.
 * - handshake: `accept` took the socket over; its `register` message is not stored yet.
 * - registered: the host's memory refers to the link, and this process is subscribed to the host's bus subjects.
 * - displaced: a newer connection of the host registers, so this link is closed and its later messages are dropped.
 *
 * Teardown: `leave` keeps launches away from the hosts while their last commands are sent. `close` ends the
 * subscription of changed hosts, closes every link, waits for pending writes and at most GOODBYE_MS for the sockets, and
 * stops the wheel with the timers of all links. A link that is lost or displaced ends the subscriptions of its host.
 */
export class AgentLinks implements Links, LinkOwner, OpenNames, HostPresence {
  readonly #platform: Platform;
  readonly #wheel: TimerWheel;
  readonly #heartbeats: HeartbeatBuffer;
  readonly #reports: OrderedReports;
  readonly #storeRegistration: (facts: RegistrationFacts) => Promise<RegistrationOutcome>;
  readonly #configs: ConfigPush;
  readonly #hostLog: HostLog;
  /** Dependencies that all links share. */
  readonly #linkDeps: LinkDeps;
  /** One entry per host that connected since this process started. */
  readonly #hosts = new Map<string, HostMemory>();
  readonly #open = new Set<AgentLink>();
  /** Node name → its open links without a registration (count). */
  readonly #handshakes = new Map<string, number>();
  readonly #reserved = new Map<string, symbol>();
  readonly #connectedNames = new Map<string, AgentLink>();
  readonly #changes: readonly Subscription[];
  #handlers: AgentHandlers | null = null;
  #imageHandlers: ImageHandlers | null = null;
  readonly #registrationSteps: ((tx: Tx, hosts: readonly RegisteringHost[]) => Promise<void>)[] = [];
  #connected = 0;
  #firstConnectedMs: number | null = null;
  #leaving = false;
  #closing = false;
  /** Set while `close` waits for the last socket. */
  #onLastClosed: (() => void) | null = null;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#wheel = new TimerWheel(platform.clock);
    this.#heartbeats = new HeartbeatBuffer(platform);
    const links = this;
    this.#reports = new OrderedReports({
      platform,
      heartbeats: this.#heartbeats,
      get handlers() {
        return links.handlers;
      },
      get imageHandlers() {
        return links.#imageHandlers;
      },
      current: (link) => this.#current(link),
      log: (level, hostId, fields, event) => this.log(level, hostId, fields, event),
      runHandler: (what, hostId, run) => this.#runHandler(what, hostId, run),
    });
    this.#storeRegistration = createRegistrations(
      () => ({
        database: platform.database,
        random: platform.random,
        handlers: this.handlers,
        imageHandlers: this.#imageHandlers,
        steps: this.#registrationSteps,
      }),
      platform.writeBatch,
    );
    this.#hostLog = new HostLog(platform.logger, platform.clock);
    this.#configs = new ConfigPush(platform, this.#hostLog, (hostId) => this.#liveLink(hostId));
    const { bus } = platform;
    const notChecked = (error: unknown): void =>
      platform.logger.error({ err: error }, 'agent.links_not_checked');
    const gaps = readAfterGaps(platform, () => this.#afterGap(), notChecked);
    this.#changes = [
      gaps,
      bus.subscribe(hostSubjects.changed, null, (change, hostId) => this.#onHostChanged(change, hostId)),
      bus.subscribeOthers(hostSubjects.changed, ({ what }, hostId) => {
        if (what !== 'reported' || !this.holds(hostId)) return;
        this.#dropOutdated([hostId]).catch((error: unknown) => {
          notChecked(error);
          gaps.readLater();
        });
      }),
    ];
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

  setImageHandlers(handlers: ImageHandlers): void {
    this.#imageHandlers = handlers;
  }

  addRegistrationStep(step: (tx: Tx, hosts: readonly RegisteringHost[]) => Promise<void>): void {
    this.#registrationSteps.push(step);
  }

  /** @throws when setHandlers was not called before */
  get handlers(): AgentHandlers {
    if (this.#handlers === null) throw new Error('the fleet was started without handlers');
    return this.#handlers;
  }

  /**
   * Called before the first socket. Without a bus, marks all hosts as offline. With a bus, hosts of other replicas stay
   * connected.
   */
  async start(): Promise<void> {
    if (this.#platform.config.bus === null) await markAllOffline(this.#platform.database);
  }

  /**
   * From this call on the hosts count as not connected, so that no replica launches a session on them. Commands are
   * still sent.
   * @returns whether there are hosts
   */
  leave(): boolean {
    this.#leaving = true;
    return this.#connected > 0;
  }

  /** Closes every link so that the agents reconnect. The status of hosts and sessions does not change. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const subscription of this.#changes) subscription.close();
    for (const link of this.#open) link.close(AGENT_CLOSE.restarting, 'the control plane restarts');
    // The hosts reconnect at once, perhaps to another replica, which continues from the stored number of their last
    // report.
    await this.#platform.periodicWriter.flush();
    await this.#platform.writeBatch.idle();
    if (this.#open.size > 0) {
      const deadline = this.#platform.clock.setTimeout(() => {
        for (const link of this.#open) link.terminate();
      }, GOODBYE_MS);
      await new Promise<void>((resolve) => {
        this.#onLastClosed = resolve;
      });
      deadline.cancel();
    }
    this.#wheel.close();
  }

  /** Closes the links of registered hosts, so that their agents connect to another replica. */
  sendAway(): void {
    for (const link of this.#open) {
      if (link.hostId !== null)
        link.close(AGENT_CLOSE.restarting, 'another control plane reaches the database');
    }
  }

  has(nodeName: string): boolean {
    return this.#reserved.has(nodeName) || this.#connectedNames.has(nodeName);
  }

  reserve(nodeName: string): (() => void) | null {
    if (this.has(nodeName)) return null;
    const reservation = Symbol(nodeName);
    this.#reserved.set(nodeName, reservation);
    return () => {
      if (this.#reserved.get(nodeName) === reservation) this.#reserved.delete(nodeName);
    };
  }

  get handshakes(): number {
    return this.#handshakes.size;
  }

  /** Takes over an upgraded socket. */
  accept(socket: WebSocket, identity: AgentIdentity): void {
    const link = new AgentLink(this.#platform.random.uuid(), identity, socket, this.#linkDeps);
    this.#open.add(link);
    this.#handshakes.set(identity.nodeName, (this.#handshakes.get(identity.nodeName) ?? 0) + 1);
    if (this.#closing) link.close(AGENT_CLOSE.restarting, 'the control plane restarts');
  }

  async register(link: AgentLink, message: Register): Promise<void> {
    const { identity } = link;
    const negotiated = negotiate(identity, message);
    if ('close' in negotiated) return link.close(AGENT_CLOSE[negotiated.close], negotiated.why);
    const displaced = identity.kind === 'known' ? await this.#displaceOlder(identity.hostId) : null;
    /** Without this registration the host has no link, because the older one is already closed. */
    const notReplaced = async (): Promise<void> => {
      if (displaced !== null) await this.#markOffline(displaced.hostId!, displaced);
    };
    const outcome = await this.#storeRegistration({
      identity,
      connectionId: link.connectionId,
      message,
      nowMs: this.#platform.clock.nowMs(),
      isOpen: () => link.isOpen,
    }).catch(async (error: unknown) => {
      await notReplaced();
      throw error;
    });
    if (outcome.kind === 'gone') {
      await notReplaced();
      return link.close(AGENT_CLOSE.malformed, outcome.why);
    }
    if (outcome.secret !== null) {
      void this.#platform.activity.record(null, 'host.enroll', outcome.host.id, {
        node_name: outcome.host.node_name,
      });
    }
    // Several connections of this host may have registered in one batch; only the last committed one stays open.
    const memory = this.#memory(outcome.host.id);
    memory.registrations += 1;
    const registration = memory.registrations;
    while (memory.link !== null && memory.registrations === registration)
      await this.#displace(outcome.host.id);
    if (memory.registrations !== registration) {
      link.close(AGENT_CLOSE.displaced, DISPLACED);
      return;
    }
    if (!link.isOpen) {
      await this.#markOffline(outcome.host.id, link);
      return;
    }
    this.#completeHandshake(link, message, outcome, negotiated.protocol);
  }

  #completeHandshake(
    link: AgentLink,
    message: Register,
    outcome: RegistrationOutcome & { kind: 'registered' },
    protocol: number,
  ): void {
    const { host } = outcome;
    const { identity } = link;
    const memory = this.#memory(host.id);
    const { reports: known } = memory;
    // Another replica may have handled reports in the meantime.
    const isNewest = this.#platform.config.bus === null || (outcome.lastSeq ?? 0) <= (known?.last ?? 0);
    const reports =
      known?.bootId === message.boot_id && isNewest
        ? known
        : new ReportSequence(identity.bootId ?? message.boot_id, outcome.lastSeq);
    memory.reports = reports;
    memory.link = link;
    memory.gpus = [];
    memory.hasConsole = null;
    this.#endHandshake(identity.nodeName);
    link.registered(host.id, message.features);
    this.#connectedNames.set(identity.nodeName, link);
    if (this.#connected === 0) this.#firstConnectedMs = this.#platform.clock.monotonicMs();
    this.#connected += 1;
    memory.subscriptions = this.#subscribe(host.id);
    link.send({
      type: 'registered',
      protocol,
      host_id: host.id,
      ...(outcome.secret !== null && { node_secret: outcome.secret }),
      heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
      session_grace_secs: this.#platform.config.sessions.graceSecs,
      server_ts: this.#platform.clock.nowMs(),
      last_seq: reports.last,
    });
    this.#configs.registered(host);
    this.#runHandler('reconcile', host.id, outcome.afterCommit);
    this.#hostLog.line(
      'info',
      host.node_name,
      { host_id: host.id, node: host.node_name, agent_version: message.agent_version, new: outcome.isNew },
      'agent.registered',
    );
  }

  async ordered(link: AgentLink, run: readonly OrderedMessage[]): Promise<void> {
    const memory = this.#current(link);
    if (memory !== null) await this.#reports.handle(link, memory, run);
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
        this.#heartbeats.heartbeat(hostId, memory.gpus, message);
        memory.load.add(message, memory.gpus, this.#platform.clock.nowMs());
        this.#runHandler('heartbeat', hostId, () =>
          this.handlers.heartbeat(hostId, link.registeredMs!, message.running_sessions),
        );
        return;
      case 'session_metrics':
        this.#runHandler('metrics', hostId, () => this.handlers.metrics(hostId, message));
        return;
      case 'error':
        this.#hostLog.line(
          'warn',
          link.identity.nodeName,
          { host_id: hostId, code: message.code, message: message.message, ref: message.ref },
          'agent.says_error',
        );
    }
  }

  relay(link: AgentLink, signal: RelayedSignal): void {
    if (this.#current(link) === null) return;
    const hostId = link.hostId!;
    this.#runHandler('signaling', hostId, () => this.handlers.signaling(hostId, signal));
  }

  gone(link: AgentLink): void {
    this.#open.delete(link);
    if (this.#open.size === 0) this.#onLastClosed?.();
  }

  closed(link: AgentLink): void {
    const hostId = link.hostId;
    if (hostId === null) this.#endHandshake(link.identity.nodeName);
    if (hostId === null || this.#hosts.get(hostId)?.link !== link) return;
    this.#detach(hostId, link);
    if (this.#closing) return;
    void this.#markOffline(hostId, link);
    this.#linkLost(hostId);
    this.#publish(hostId, { what: 'lost' });
  }

  holds(hostId: string): boolean {
    return this.#liveLink(hostId) !== null;
  }

  log(level: LogLevel, hostId: string, fields: object, event: LogEvent): void {
    this.#hostLog.line(level, hostId, { ...fields, host_id: hostId }, event);
  }

  /** Nothing to read: the state of this process's own links is always current. */
  async look(): Promise<void> {}

  /** This process marks a host as offline when it loses the link. */
  async isReachable(): Promise<boolean> {
    return true;
  }

  lastSeenMonotonicMs(hostId: string): number | null {
    const memory = this.#hosts.get(hostId);
    if (memory === undefined) return null;
    return memory.link?.lastFrameMs ?? memory.lastSeenMs;
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

  /** Methods instead of closures save memory, because each connected host has these subscriptions. */
  #subscribe(hostId: string): Subscription[] {
    const { bus } = this.#platform;
    return [
      bus.respond(hostSubjects.command, hostId, this.#answerCommand),
      bus.respond(hostSubjects.link, hostId, this.#answerLink),
      bus.respond(hostSubjects.load, hostId, this.#answerLoad),
      bus.respond(hostSubjects.release, hostId, this.#answerRelease),
      bus.subscribe(hostSubjects.signal, hostId, this.#signal),
    ];
  }

  readonly #answerCommand = async (
    { command, timeoutMs }: { command: ControlCommand; timeoutMs: number },
    hostId: string,
  ): Promise<CommandResult> => {
    // The agent must get the saved configuration before the command.
    await this.#configs.pushed(hostId);
    const link = this.#liveLink(hostId);
    return link === null ? { kind: 'not_connected', sent: false } : link.command(command, timeoutMs);
  };

  readonly #answerLink = async (_request: object, hostId: string): Promise<HostLink | null> => {
    const link = this.#liveLink(hostId);
    if (link === null || this.#leaving) return null;
    const nowMs = this.#platform.clock.monotonicMs();
    return {
      features: link.features,
      registeredMs: nowMs - link.registeredMs!,
      silentMs: nowMs - link.lastFrameMs,
    };
  };

  readonly #answerLoad = async (_request: object, hostId: string): Promise<HostLoadSample[]> =>
    this.#hosts.get(hostId)?.load.samples() ?? [];

  readonly #answerRelease = async (_request: object, hostId: string): Promise<object> => {
    const link = await this.#displace(hostId);
    if (link !== null) {
      // Store the number of the last report, because the other replica continues from it.
      await this.#platform.periodicWriter.flush();
      await this.#markOffline(hostId, link);
    }
    return {};
  };

  readonly #signal = ({ session_id, conn, text, mustSend }: SignalToAgent, hostId: string): void => {
    const frame = `{"type":"signaling","session_id":"${session_id}","conn":${conn},"msg":${text}}`;
    const link = this.#liveLink(hostId);
    if (link !== null && !link.sendText(frame, mustSend))
      this.#platform.bus.publish(hostSubjects.signalRefused, session_id, { conn });
  };

  #onHostChanged({ what }: HostChange, hostId: string): void {
    const memory = this.#hosts.get(hostId);
    if (what === 'configured') {
      if (memory !== undefined) {
        memory.pushes += 1;
        memory.hasConsole = null;
      }
      this.#configs.push(hostId);
    } else if (what === 'deleted') {
      memory?.link?.close(AGENT_CLOSE.malformed, 'the host was deleted');
      this.#configs.forget(hostId);
      this.#hosts.delete(hostId);
    }
  }

  /**
   * Closes the host's older link, here or on another replica, so that the registration reads everything that the older
   * link stored.
   */
  async #displaceOlder(hostId: string): Promise<AgentLink | null> {
    const own = await this.#displace(hostId);
    // If the other replica does not answer, it later finds the newer connection in the host's record and closes its
    // link.
    if (own === null) await this.#platform.bus.request(hostSubjects.release, hostId, {}, BUS_LIMIT_MS);
    return own;
  }

  /**
   * Closes links whose host has another connection, is marked as offline, or was deleted.
   * @throws when the database cannot be read
   */
  async #dropOutdated(hostIds: readonly string[]): Promise<void> {
    const newest = await connectionsOf(this.#platform.database.db, hostIds);
    for (const hostId of hostIds) {
      const link = this.#hosts.get(hostId)?.link ?? null;
      const connectionId = newest.get(hostId);
      if (link === null || connectionId === link.connectionId) continue;
      if (connectionId !== undefined) await this.#displace(hostId);
      // Close the link, because only a new registration sets the host online again.
      else link.close(AGENT_CLOSE.restarting, 'the host was taken for offline');
    }
  }

  /**
   * Bus messages may have been lost. Their effects are applied to each host of this replica.
   * @throws when the database cannot be read
   */
  async #afterGap(): Promise<void> {
    const hostIds = [...this.#hosts.keys()].filter((hostId) => this.holds(hostId));
    await this.#dropOutdated(hostIds);
    for (const hostId of hostIds) if (this.holds(hostId)) this.#configs.push(hostId);
  }

  /**
   * Closes the host's link for a newer connection. To other features this looks like a lost link and a new
   * registration.
   */
  async #displace(hostId: string): Promise<AgentLink | null> {
    const link = this.#hosts.get(hostId)?.link ?? null;
    if (link === null) return null;
    this.#detach(hostId, link);
    this.#linkLost(hostId);
    this.#publish(hostId, { what: 'lost' });
    link.close(AGENT_CLOSE.displaced, DISPLACED);
    // The link may still be storing its last report, and the registration must read the result.
    await link.idle();
    return link;
  }

  #endHandshake(nodeName: string): void {
    const remaining = (this.#handshakes.get(nodeName) ?? 1) - 1;
    if (remaining > 0) this.#handshakes.set(nodeName, remaining);
    else this.#handshakes.delete(nodeName);
  }

  #detach(hostId: string, link: AgentLink): void {
    const memory = this.#memory(hostId);
    memory.lastSeenMs = link.lastFrameMs;
    memory.link = null;
    for (const subscription of memory.subscriptions) subscription.close();
    memory.subscriptions = [];
    this.#heartbeats.forgetSamples(memory.gpus.map((gpu) => gpu.id));
    memory.gpus = [];
    this.#connected -= 1;
    if (this.#connectedNames.get(link.identity.nodeName) === link) {
      this.#connectedNames.delete(link.identity.nodeName);
    }
  }

  async #markOffline(hostId: string, link: AgentLink): Promise<void> {
    try {
      await this.#platform.writeBatch.run({ hosts: [hostId] }, (tx) =>
        markOffline(tx, hostId, link.connectionId),
      );
    } catch (error) {
      this.#platform.logger.error({ err: error, host_id: hostId }, 'host.not_marked_offline');
    }
  }

  /** The live link of a host in this process. */
  #liveLink(hostId: string): AgentLink | null {
    const link = this.#hosts.get(hostId)?.link ?? null;
    return link?.isConnected ? link : null;
  }

  /** @returns null: the link was displaced or closed, so its messages are ignored */
  #current(link: AgentLink): HostMemory | null {
    if (link.hostId === null) return null;
    const memory = this.#hosts.get(link.hostId);
    return memory?.link === link ? memory : null;
  }

  #memory(hostId: string): HostMemory {
    let memory = this.#hosts.get(hostId);
    if (memory === undefined) {
      memory = newHostMemory(this.#platform.clock.monotonicMs());
      this.#hosts.set(hostId, memory);
    }
    return memory;
  }

  #publish(hostId: string, change: HostChange): void {
    this.#platform.bus.publish(hostSubjects.changed, hostId, change);
  }

  #linkLost(hostId: string): void {
    this.#runHandler('linkLost', hostId, () => this.handlers.linkLost(hostId));
    this.#runHandler('linkLost', hostId, () => this.#imageHandlers?.linkLost(hostId));
  }

  /** Logs an exception of a handler; the link stays open. */
  #runHandler(what: string, hostId: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#platform.logger.error({ err: error, host_id: hostId, what }, 'agent.handler_failed');
    }
  }
}
