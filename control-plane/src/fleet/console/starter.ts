import { SECOND_MS, type Timer } from '@footlight/platform';
import type { SessionEndReason } from '@footlight/protocol';
import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import type { Subscription } from '../../platform/bus/bus.ts';
import { fromJson } from '../../platform/database/codec.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Agents } from '../agents.ts';
import type { Links } from '../fleet.ts';
import { hostById } from '../hosts/host-store.ts';
import { type HostChange, hostSubjects } from '../subjects.ts';
import {
  type ConsoleAttempts,
  type ConsoleStep,
  decideConsole,
  ended,
  NO_ATTEMPTS,
  refused,
  reported,
} from './auto-start.ts';
import { CONSOLE_FEATURE, NO_CAPABILITIES } from './config.ts';

/** Delay until a failed decision is repeated. Without the retry, possibly no later change would trigger a decision. */
const RETRY_MS = 5 * SECOND_MS;

export interface ConsoleLaunch {
  hostId: string;
  userId: string;
  appId: string;
  topology: 'local_only' | 'dual_output';
}

/** A session that was launched for a console. */
export interface ConsoleSession {
  id: string;
  isStopping: boolean;
  /** Time from launch to end (ms); null while the session lives. */
  livedMs: number | null;
}

/** Session operations for consoles. */
export interface ConsoleSessions {
  /** The newest console session of a host, ended or not; null: the host never had one. */
  newest(hostId: string): Promise<ConsoleSession | null>;
  /** Launches with all checks except the check of free VRAM. @returns the session's id @throws ApiError the refusal */
  launch(request: ConsoleLaunch): Promise<string>;
  /** Stops a session. An offline host gets the command when it reconnects. */
  stop(sessionId: string, reason: SessionEndReason): Promise<void>;
  /** Calls `changed` after each state change of the session. */
  watch(sessionId: string, changed: () => void): Subscription;
}

interface Display {
  /** The agent has reported on the current connection. */
  isReported: boolean;
  attempts: ConsoleAttempts;
  /** The last live session, stored so that its end is counted only once. */
  sessionId: string | null;
  watch: { sessionId: string; subscription: Subscription } | null;
  timer: Timer | null;
  /** Runs the decisions of this host one after the other. */
  queue: Promise<void>;
}

/**
 * Starts and ends console sessions by the rule in auto-start.ts. It decides again at each capacity report, at each
 * change of a configuration or session, and after each wait. Decisions for one host are serialized; different hosts do
 * not wait for each other. With several replicas, the replica with the host's link decides.
 *
 * Owns one entry with timer and subscriptions for each host with a console, until `close`.
 */
export class ConsoleStarter {
  readonly #platform: Platform;
  readonly #agents: Agents;
  readonly #links: Pick<Links, 'holds'>;
  readonly #sessions: ConsoleSessions;
  readonly #displays = new Map<string, Display>();
  readonly #hostChanges: Subscription;
  #closed = false;

  constructor(platform: Platform, agents: Agents, links: Pick<Links, 'holds'>, sessions: ConsoleSessions) {
    this.#platform = platform;
    this.#agents = agents;
    this.#links = links;
    this.#sessions = sessions;
    this.#hostChanges = platform.bus.subscribe(hostSubjects.changed, null, (change, hostId) =>
      this.#onHostChange(hostId, change),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#hostChanges.close();
    for (const display of this.#displays.values()) this.#release(display);
    await Promise.all([...this.#displays.values()].map(({ queue }) => queue));
  }

  #onHostChange(hostId: string, change: HostChange): void {
    const { what } = change;
    const isElsewhere = what === 'reported' && !this.#links.holds(hostId);
    if (what === 'deleted' || isElsewhere) {
      const gone = this.#displays.get(hostId);
      if (gone !== undefined) this.#release(gone);
      this.#displays.delete(hostId);
      return;
    }
    const known = this.#displays.get(hostId);
    if (what === 'lost') {
      // Ignored while this replica has the host's link, because another replica may have lost an older link.
      if (known !== undefined && !this.#links.holds(hostId)) known.isReported = false;
      return;
    }
    // Most hosts have no console, and a reconnecting fleet must not cause one query per host.
    if (known === undefined && !(what === 'reported' && change.canConsole)) return;
    const display = known ?? this.#add(hostId);
    if (what === 'reported') {
      display.isReported = true;
      display.attempts = reported(display.attempts);
      // Without a configuration no session was started. A configuration that is stored later triggers its own decision.
      if (!change.hasConsole) return;
    }
    this.#enqueue(hostId, display);
  }

  #add(hostId: string): Display {
    const display: Display = {
      isReported: false,
      attempts: NO_ATTEMPTS,
      sessionId: null,
      watch: null,
      timer: null,
      queue: Promise.resolve(),
    };
    this.#displays.set(hostId, display);
    return display;
  }

  #enqueue(hostId: string, display: Display): void {
    display.queue = display.queue
      .then(() => (this.#closed ? undefined : this.#decide(hostId, display)))
      .catch((error: unknown) => {
        const { clock, logger } = this.#platform;
        logger.error({ err: error, host_id: hostId }, 'console.decision_failed');
        this.#enqueueAt(hostId, display, clock.monotonicMs() + RETRY_MS);
      });
  }

  async #decide(hostId: string, display: Display): Promise<void> {
    display.timer?.cancel();
    display.timer = null;
    const host = await hostById(this.#platform.database.db, hostId);
    // Without a configuration no session was started, so there is nothing to decide.
    if (host === undefined || host.console_config === null) return;
    const session = await this.#sessions.newest(hostId);
    const link = await this.#agents.link(hostId);
    const nowMs = this.#platform.clock.monotonicMs();
    if (session !== null && session.livedMs !== null && session.id === display.sessionId) {
      display.attempts = ended(display.attempts, session.livedMs, nowMs);
    }
    const live = session !== null && session.livedMs === null ? session : null;
    display.sessionId = live?.id ?? null;
    const facts = {
      ...consoleSettings(host),
      isReported: display.isReported && link !== null,
      isPlaceable:
        host.status === 'online' &&
        host.capacity_detection === 'ok' &&
        (link?.features.includes(CONSOLE_FEATURE) ?? false),
      sessionId: live?.id ?? null,
      isStopping: live?.isStopping ?? false,
    };
    await this.#apply(hostId, display, decideConsole(facts, display.attempts, nowMs), nowMs);
    this.#follow(hostId, display);
  }

  /** Watches a live session, so that its end triggers the next decision. */
  #follow(hostId: string, display: Display): void {
    const { sessionId } = display;
    const isGone = this.#closed || this.#displays.get(hostId) !== display;
    if (isGone || display.watch?.sessionId === sessionId) return;
    display.watch?.subscription.close();
    display.watch = null;
    if (sessionId === null) return;
    const subscription = this.#sessions.watch(sessionId, () => this.#enqueue(hostId, display));
    display.watch = { sessionId, subscription };
    // The session may have ended between the decision and the subscription.
    this.#enqueue(hostId, display);
  }

  async #apply(hostId: string, display: Display, step: ConsoleStep, nowMs: number): Promise<void> {
    const { logger } = this.#platform;
    switch (step.kind) {
      case 'rest':
        logger.debug({ host_id: hostId, why: step.why }, 'console.rests');
        return;
      case 'wait':
        this.#enqueueAt(hostId, display, step.untilMs);
        return;
      case 'stop':
        logger.info({ host_id: hostId, session_id: step.sessionId, reason: step.reason }, 'console.stops');
        await this.#sessions.stop(step.sessionId, step.reason);
        return;
      case 'launch':
        try {
          display.sessionId = await this.#sessions.launch({ hostId, ...step });
          logger.info({ host_id: hostId, session_id: display.sessionId }, 'console.started');
        } catch (error) {
          const why = error instanceof ApiError ? error.code : error;
          logger.warn({ host_id: hostId, why }, 'console.not_started');
          display.attempts = refused(display.attempts, nowMs);
          this.#enqueueAt(hostId, display, display.attempts.notBeforeMs);
        }
    }
  }

  #enqueueAt(hostId: string, display: Display, atMs: number): void {
    const { clock } = this.#platform;
    display.timer?.cancel();
    if (this.#closed || this.#displays.get(hostId) !== display) return;
    display.timer = clock.setTimeout(
      () => this.#enqueue(hostId, display),
      Math.max(1, atMs - clock.monotonicMs()),
    );
  }

  #release(display: Display): void {
    display.watch?.subscription.close();
    display.watch = null;
    display.timer?.cancel();
    display.timer = null;
  }
}

function consoleSettings({ console_config, console_capabilities }: HostsTable): {
  config: ConsoleConfig | null;
  capabilities: ConsoleCapabilities;
} {
  return {
    config: console_config === null ? null : fromJson<ConsoleConfig>(console_config),
    capabilities:
      console_capabilities === null ? NO_CAPABILITIES : fromJson<ConsoleCapabilities>(console_capabilities),
  };
}
