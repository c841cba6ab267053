import type { LogLevel } from '@footlight/platform';
import type { ImageState, SessionState } from '@footlight/protocol/agent';
import type { LogEvent } from '@footlight/protocol/telemetry';
import type { Platform } from '../../platform/platform.ts';
import { CONSOLE_FEATURE } from '../console/config.ts';
import type { AgentHandlers, ImageHandlers, ReliableEvent } from '../fleet.ts';
import type { HostMemory } from '../link/host-memory.ts';
import type { AgentLink } from '../link/link.ts';
import type { CapacityMessage, OrderedMessage, ReportMessage } from '../link/report-run.ts';
import type { ReportSequence } from '../link/report-sequence.ts';
import { hostSubjects } from '../subjects.ts';
import type { HeartbeatBuffer } from './heartbeat-buffer.ts';
import {
  type CapacityOfHost,
  createCapacities,
  NOTHING_STORED,
  retryUntilStored,
  type StoredCapacity,
} from './store-capacity.ts';

/** Maximum unstored events of a host; with more, its further reports wait. */
const MAX_UNSTORED_EVENTS = 64;

export interface OrderedReportsDeps {
  platform: Platform;
  heartbeats: HeartbeatBuffer;
  readonly handlers: AgentHandlers;
  readonly imageHandlers: ImageHandlers | null;
  /** @returns null: the link was displaced or closed, so its messages do not count */
  current(link: AgentLink): HostMemory | null;
  /** Logs within the host's limit of lines. */
  log(level: LogLevel, hostId: string, fields: object, event: LogEvent): void;
  /** Runs a handler whose exception is logged. */
  runHandler(what: string, hostId: string, run: () => void): void;
}

/**
 * What agents report in order: capacity, states of sessions and images, and events. Reports are stored first and
 * confirmed afterwards by one number. Owner: the links, whose memory of a host it reads and writes.
 */
export class OrderedReports {
  readonly #deps: OrderedReportsDeps;
  readonly #storeCapacity: (report: CapacityOfHost) => Promise<StoredCapacity>;

  constructor(deps: OrderedReportsDeps) {
    this.#deps = deps;
    this.#storeCapacity = createCapacities(deps.platform);
  }

  /**
   * Stores the reports of a link and confirms those that are stored.
   * @param run in the order of their arrival
   */
  async handle(link: AgentLink, memory: HostMemory, run: readonly OrderedMessage[]): Promise<void> {
    const reports: ReportMessage[] = [];
    const handled: Promise<void>[] = [];
    for (const message of run) {
      if (message.type === 'capacity') handled.push(this.#handleCapacity(link, memory, message));
      else reports.push(message);
    }
    if (reports.length > 0) handled.push(this.#handleReports(link, memory, reports));
    // Writes keep the order of their calls.
    await Promise.all(handled);
  }

  /** Handles a run of reports and confirms them by one number. */
  async #handleReports(link: AgentLink, memory: HostMemory, run: readonly ReportMessage[]): Promise<void> {
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
      const write = (some: readonly SessionState[]) => this.#deps.handlers.sessionStates(hostId, some);
      if (!(await retryUntilStored(this.#storing(link), () => link.isOpen, states, write))) return;
    }
    const images = fresh.filter((message): message is ImageState => message.type === 'image_state');
    if (images.length > 0 && this.#deps.imageHandlers !== null) {
      const handlers = this.#deps.imageHandlers;
      const write = (some: readonly ImageState[]) => handlers.imageStates(hostId, some);
      if (!(await retryUntilStored(this.#storing(link), () => link.isOpen, images, write))) return;
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
    const write = (some: readonly ReliableEvent[]) => this.#deps.handlers.storeEvents(source, some);
    const isStored = await retryUntilStored(this.#storing(link), () => link.isOpen, events, write);
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
    this.#deps.heartbeats.handled(hostId, sequence.bootId, last);
    memory.link?.send({ type: 'seen', seq: last });
  }

  async #handleCapacity(link: AgentLink, memory: HostMemory, report: CapacityMessage): Promise<void> {
    const hostId = link.hostId!;
    // After a reconnect an agent repeats its capacity; an unchanged report is not stored again.
    if (report.isRepeated && memory.hasConsole !== null) {
      this.#publishReported(link, memory.hasConsole);
      return;
    }
    const { pushes } = memory;
    memory.hasConsole = null;
    let stored = null as StoredCapacity | null;
    const write = async () => {
      stored = await this.#storeCapacity({ hostId, report });
    };
    const done = await retryUntilStored(this.#storing(link), () => link.isOpen, [report], write);
    if (!done || this.#deps.current(link) !== memory) return;
    if (stored !== null && memory.pushes === pushes) memory.hasConsole = stored.hasConsole;
    const { gpus, hasConsole } = stored ?? NOTHING_STORED;
    memory.gpus = gpus;
    this.#publishReported(link, hasConsole);
  }

  #storing(link: AgentLink): Parameters<typeof retryUntilStored>[0] {
    const { log, platform } = this.#deps;
    const failed = (error: unknown) => log('error', link.hostId!, { err: error }, 'agent.report_failed');
    return { clock: platform.clock, failed };
  }

  #traceEvent(hostId: string, message: ReportMessage & { type: 'session_trace_event' }): void {
    this.#deps.runHandler('traceEvent', hostId, () => this.#deps.handlers.traceEvent(hostId, message));
  }

  #publishReported(link: AgentLink, hasConsole: boolean): void {
    const canConsole = link.features.includes(CONSOLE_FEATURE);
    this.#deps.platform.bus.publish(hostSubjects.changed, link.hostId!, {
      what: 'reported',
      canConsole,
      hasConsole,
    });
  }
}

const isReliableEvent = (message: ReportMessage): message is ReliableEvent =>
  message.type === 'session_trace_event' && message.seq !== undefined;

/** A capture's result has up to half a megabyte, so at most one waits. */
const isLarge = ({ event }: ReliableEvent): boolean => event.startsWith('diag.');
