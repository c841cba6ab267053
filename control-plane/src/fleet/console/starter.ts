import { SECOND_MS, type Timer } from '@footlight/platform';
import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import type { Subscription } from '../../platform/bus.ts';
import { fromJson } from '../../platform/database/codec.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { type HostChange, hostSubject } from '../hosts/host-change.ts';
import { hostById } from '../hosts/host-store.ts';
import type { AgentLinks } from '../links.ts';
import {
  type ConsoleAttempts,
  type ConsoleStep,
  type ConsoleStopReason,
  decideConsole,
  ended,
  NO_ATTEMPTS,
  refused,
  reported,
} from './auto-start.ts';
import { NO_CAPABILITIES } from './config.ts';

/** Feature of agents that can show a session on a display of their host. */
const CONSOLE_FEATURE = 'console';
/** After a look that failed, since no further change may come that would start the next. */
const FAILED_LOOK_MS = 5 * SECOND_MS;

export interface ConsoleLaunch {
  hostId: string;
  userId: string;
  appId: string;
  topology: 'local_only' | 'dual_output';
}

/** A session that was launched for the display beside a host. */
export interface ConsoleSession {
  id: string;
  isStopping: boolean;
  /** From its launch to its end; null while it lives. */
  livedMs: number | null;
}

/** What the sessions do for displays beside hosts. */
export interface ConsoleSessions {
  /** The newest one of a host, ended or not; null: none ever. */
  newest(hostId: string): Promise<ConsoleSession | null>;
  /** Skips the VRAM veto and nothing else. @returns its id @throws ApiError what keeps it from being launched */
  launch(request: ConsoleLaunch): Promise<string>;
  /** What the host cannot be told now, it is told when it is back. */
  stop(sessionId: string, reason: ConsoleStopReason): Promise<void>;
  /** Calls back after each change of its state. */
  watch(sessionId: string, changed: () => void): Subscription;
}

interface Display {
  /** The agent has reported on its present connection. */
  isReported: boolean;
  attempts: ConsoleAttempts;
  /** The session that was last seen alive; its end counts once. */
  sessionId: string | null;
  watch: { sessionId: string; subscription: Subscription } | null;
  timer: Timer | null;
  turn: Promise<void>;
}

/**
 * Starts and ends what displays beside hosts show, by the rule of auto-start.ts: it looks again at each capacity
 * report, each change of a configuration or a session, and when a wait is over. Hosts do not wait for one another; the
 * looks at one host take turns.
 *
 * Owner of one entry for each host whose agent can show something, with its timer and what it listens to, until
 * `close`.
 */
export class ConsoleStarter {
  readonly #platform: Platform;
  readonly #links: AgentLinks;
  readonly #sessions: ConsoleSessions;
  readonly #displays = new Map<string, Display>();
  readonly #hostChanges: Subscription;
  #closed = false;

  constructor(platform: Platform, links: AgentLinks, sessions: ConsoleSessions) {
    this.#platform = platform;
    this.#links = links;
    this.#sessions = sessions;
    this.#hostChanges = platform.bus.subscribe(hostSubject, (payload) => this.#heard(payload as HostChange));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#hostChanges.close();
    for (const display of this.#displays.values()) this.#release(display);
    await Promise.all([...this.#displays.values()].map(({ turn }) => turn));
  }

  #heard(change: HostChange): void {
    const { hostId, what } = change;
    if (what === 'deleted') {
      const gone = this.#displays.get(hostId);
      if (gone !== undefined) this.#release(gone);
      this.#displays.delete(hostId);
      return;
    }
    const known = this.#displays.get(hostId);
    if (what === 'lost') {
      if (known !== undefined) known.isReported = false;
      return;
    }
    // Most hosts have no display; a fleet that returns at once must not be asked about them.
    if (known === undefined && !this.#links.features(hostId).has(CONSOLE_FEATURE)) return;
    const display = known ?? this.#add(hostId);
    if (what === 'reported') {
      display.isReported = true;
      display.attempts = reported(display.attempts);
      // Where nothing was ever set, nothing was ever started; what is set from now on is announced.
      if (!change.hasConsole) return;
    }
    this.#look(hostId, display);
  }

  #add(hostId: string): Display {
    const display: Display = {
      isReported: false,
      attempts: NO_ATTEMPTS,
      sessionId: null,
      watch: null,
      timer: null,
      turn: Promise.resolve(),
    };
    this.#displays.set(hostId, display);
    return display;
  }

  #look(hostId: string, display: Display): void {
    display.turn = display.turn
      .then(() => (this.#closed ? undefined : this.#turn(hostId, display)))
      .catch((error: unknown) => {
        const { clock, logger } = this.#platform;
        logger.error({ err: error, host_id: hostId }, 'console.look_failed');
        this.#lookAt(hostId, display, clock.monotonicMs() + FAILED_LOOK_MS);
      });
  }

  async #turn(hostId: string, display: Display): Promise<void> {
    display.timer?.cancel();
    display.timer = null;
    const host = await hostById(this.#platform.database.db, hostId);
    // Where nothing was ever set, nothing was ever started.
    if (host === undefined || host.console_config === null) return;
    const session = await this.#sessions.newest(hostId);
    const nowMs = this.#platform.clock.monotonicMs();
    if (session !== null && session.livedMs !== null && session.id === display.sessionId) {
      display.attempts = ended(display.attempts, session.livedMs, nowMs);
    }
    const live = session !== null && session.livedMs === null ? session : null;
    display.sessionId = live?.id ?? null;
    const facts = {
      ...whatIsSet(host),
      isReported: display.isReported && this.#links.isConnected(hostId),
      isPlaceable:
        host.status === 'online' &&
        host.capacity_detection === 'ok' &&
        this.#links.features(hostId).has(CONSOLE_FEATURE),
      sessionId: live?.id ?? null,
      isStopping: live?.isStopping ?? false,
    };
    await this.#apply(hostId, display, decideConsole(facts, display.attempts, nowMs), nowMs);
    this.#follow(hostId, display);
  }

  /** What lives is watched, or nobody would notice its end. */
  #follow(hostId: string, display: Display): void {
    const { sessionId } = display;
    const isGone = this.#closed || this.#displays.get(hostId) !== display;
    if (isGone || display.watch?.sessionId === sessionId) return;
    display.watch?.subscription.close();
    display.watch = null;
    if (sessionId === null) return;
    const subscription = this.#sessions.watch(sessionId, () => this.#look(hostId, display));
    display.watch = { sessionId, subscription };
    // It may have ended between the look at it and now.
    this.#look(hostId, display);
  }

  async #apply(hostId: string, display: Display, step: ConsoleStep, nowMs: number): Promise<void> {
    const { logger } = this.#platform;
    switch (step.kind) {
      case 'rest':
        logger.debug({ host_id: hostId, why: step.why }, 'console.rests');
        return;
      case 'wait':
        this.#lookAt(hostId, display, step.untilMs);
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
          this.#lookAt(hostId, display, display.attempts.notBeforeMs);
        }
    }
  }

  #lookAt(hostId: string, display: Display, atMs: number): void {
    const { clock } = this.#platform;
    display.timer?.cancel();
    if (this.#closed || this.#displays.get(hostId) !== display) return;
    display.timer = clock.setTimeout(
      () => this.#look(hostId, display),
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

function whatIsSet({ console_config, console_capabilities }: HostsTable): {
  config: ConsoleConfig | null;
  capabilities: ConsoleCapabilities;
} {
  return {
    config: console_config === null ? null : fromJson<ConsoleConfig>(console_config),
    capabilities:
      console_capabilities === null ? NO_CAPABILITIES : fromJson<ConsoleCapabilities>(console_capabilities),
  };
}
