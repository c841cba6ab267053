import type { Logger } from '@footlight/platform';
import { type Clock, type Timer, within } from '@footlight/platform';
import type { Open, SessionEndReason } from '@footlight/protocol';
import {
  type ControlCommand,
  type ControlSignaling,
  type HeldSession,
  MAX_HOST_SESSIONS,
  type SessionAssign,
  type SessionCommand,
  type SessionSwapApp,
  STOP_GRACE_DEFAULT_MS,
} from '@footlight/protocol/agent';
import type { ConsoleClaim, HostConsole } from '../console/host-console.ts';
import { startXvfb } from '../display/xvfb.ts';
import type { CommandAnswer } from '../link/ack-store.ts';
import type { ContainerAdmission } from '../runtime/container/admission.ts';
import type { AppGpu } from '../runtime/runtime.ts';
import { lastOwner } from './home/home.ts';
import { Session } from './life/session.ts';
import type { SessionDeps, SessionPlan } from './life/session-plan.ts';
import { type AssignFacts, decideApp, decideAssign } from './policy.ts';
import { NameHolders } from './resources/name-holders.ts';

/** Configuration of the host at a launch. */
export interface LaunchContext extends Omit<AssignFacts, 'console'> {
  settings: Record<string, unknown>;
  media: SessionPlan['media'];
  /** Whether this host chose the home root; if not, the control plane did. */
  ownsHomeRoot: boolean;
  gpu(gpuIndex: number): AppGpu;
  /** Groups that may open the session's GPU. */
  gpuGroups(gpuIndex: number): number[];
  /** Largest file that viewers may send and fetch, in MiB; null: file transfers are disabled. */
  maxFileMb: number | null;
}

export interface SupervisorOptions {
  /** Seconds that sessions continue without the control plane; 0: no limit. */
  orphanSecs: number;
  context: () => LaunchContext;
  /** The console of this host. */
  console: HostConsole;
  containers: Pick<ContainerAdmission, 'refusal'>;
}

const OK: CommandAnswer = { ok: true };

/**
 * All sessions of this host: accepts commands, keeps one Session per id, and ends them when the control plane has
 * been down for too long.
 *
 * Commands for one session are applied in order; sessions do not wait for each other. An ended session stays listed
 * until the control plane has processed its last report.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #deps: SessionDeps;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #nameHolders: NameHolders;
  readonly #sessions = new Map<string, Session>();
  /** The last command per session that is still running. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** Sequence numbers of the unconfirmed reports about sessions that do not exist on this host. */
  #unknownReports: number[] = [];
  #orphanTimer: Timer | null = null;
  #graceSecs = 0;
  #linkUp = false;
  #closing = false;

  constructor(options: SupervisorOptions, deps: Omit<SessionDeps, 'endNameHolders'>) {
    this.#options = options;
    this.#nameHolders = new NameHolders({ ...deps, sessions: () => this.#sessions.values() });
    this.#deps = { ...deps, endNameHolders: () => this.#nameHolders.search() };
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** All live sessions, and ended sessions whose last report is not confirmed. */
  held(): HeldSession[] {
    return [...this.#sessions.values()].slice(0, MAX_HOST_SESSIONS).map((session) => session.held);
  }

  /** Ids of sessions that are starting, running or stopping. */
  running(): string[] {
    return this.held()
      .filter(({ state }) => state === 'starting' || state === 'running' || state === 'stopping')
      .map(({ session_id }) => session_id);
  }

  /** Number of live sessions. */
  get liveCount(): number {
    return [...this.#sessions.values()].filter((session) => !session.isOver).length;
  }

  /** Number of live sessions per GPU index. */
  liveByGpu(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const session of this.#sessions.values()) {
      if (!session.isOver) counts.set(session.gpuIndex, (counts.get(session.gpuIndex) ?? 0) + 1);
    }
    return counts;
  }

  /** Accepts or refuses a session command. The effects of an accepted command follow later. */
  command(command: SessionCommand): Promise<CommandAnswer> {
    const id = command.session_id;
    const before = this.#queues.get(id) ?? Promise.resolve();
    const verdict = before.then(() => this.#handle(command));
    // The answer to a size change is sent only after the change, but a stop that follows must not wait for it.
    const taken = command.type === 'session_display_update' ? before : verdict;
    const tail = taken
      .catch(() => undefined)
      .then(() => {
        if (this.#queues.get(id) === tail) this.#queues.delete(id);
      });
    this.#queues.set(id, tail);
    return verdict;
  }

  signaling(frame: ControlSignaling): void {
    const session = this.#sessions.get(frame.session_id);
    if (session) session.signaling(frame);
    else this.#logger.debug({ session_id: frame.session_id }, 'signaling.no_session');
  }

  /** Removes ended sessions whose last report the control plane has processed. */
  seen(seq: number): void {
    this.#unknownReports = this.#unknownReports.filter((number) => number > seq);
    for (const session of this.#sessions.values()) {
      if (session.isOver && session.lastSeq <= seq) this.#sessions.delete(session.id);
    }
  }

  registered(graceSecs: number): void {
    this.#graceSecs = graceSecs;
  }

  set linkUp(up: boolean) {
    this.#linkUp = up;
    for (const session of this.#sessions.values()) session.linkUp = up;
    this.#orphanTimer?.cancel();
    this.#orphanTimer = null;
    if (up || this.#closing || this.#options.orphanSecs === 0) return;
    // Not earlier than the control plane's grace period, because the control plane still expects the sessions to run.
    const limitSecs = Math.max(this.#options.orphanSecs, this.#graceSecs);
    this.#orphanTimer = this.#clock.setTimeout(() => this.#endOrphans(limitSecs), limitSecs * 1000);
  }

  /** Ends all sessions for this reason and waits at most limitMs. Accepts no further assignment. */
  async close(reason: SessionEndReason, limitMs: number): Promise<void> {
    this.#closing = true;
    this.#orphanTimer?.cancel();
    this.#nameHolders.close();
    const live = [...this.#sessions.values()].filter((session) => !session.isOver);
    for (const session of live) session.stop(reason, STOP_GRACE_DEFAULT_MS);
    await within(this.#clock, limitMs, Promise.all(live.map((session) => session.ended)), null);
  }

  /** Ends all sessions without reports before a restart; the next registration reports the ends. */
  async closeSilently(limitMs: number): Promise<void> {
    for (const session of this.#sessions.values()) session.endSilently();
    await this.close('agent_restart', limitMs);
  }

  #endOrphans(limitSecs: number): void {
    this.#logger.warn({ after_secs: limitSecs }, 'sessions.orphaned');
    for (const session of this.#sessions.values()) session.stop('orphaned', STOP_GRACE_DEFAULT_MS);
  }

  #handle(command: SessionCommand): Promise<CommandAnswer> | CommandAnswer {
    if (command.type === 'session_assign') return this.#assign(command);
    const session = this.#sessions.get(command.session_id);
    if (command.type === 'session_stop') {
      if (session) session.stop(command.reason, command.grace_ms ?? STOP_GRACE_DEFAULT_MS);
      else return this.#reportUnknown(command.session_id, command.reason);
      return OK;
    }
    // A freeze is also possible for a failed session while its ring is kept, and an upload at any time.
    if (command.type === 'session_recording')
      return this.#deps.recorder.command(command, session !== undefined);
    if (!needsLiveSession(command)) return unknownCommand(command);
    if (!session || session.isEnding) {
      return { ok: false, code: 'no_such_session', error: 'this host does not hold the session' };
    }
    if (command.type === 'session_display_update') return session.updateDisplay(command);
    if (command.type === 'session_swap_app') return this.#swap(session, command);
    if (command.type === 'session_capture') return session.capture(command);
    if (command.type === 'session_start') session.start();
    else if (command.type === 'session_guests') session.setGuests(command);
    else session.tune(command);
    return OK;
  }

  async #swap(session: Session, command: SessionSwapApp): Promise<CommandAnswer> {
    const ofContainer = await this.#options.containers.refusal(command.app);
    const refusal = decideApp(command.app, this.#facts()) ?? ofContainer;
    if (refusal === null) return session.swapApp(command);
    this.#logger.warn({ session_id: session.id, ...refusal }, 'swap.refused');
    return { ok: false, ...refusal };
  }

  /** Why this agent accepts no further session; null: it accepts one. */
  #fullRefusal(): Extract<CommandAnswer, { ok: false }> | null {
    if (this.#closing) return { ok: false, code: 'busy', error: 'the agent is stopping' };
    return this.#sessions.size >= MAX_HOST_SESSIONS
      ? { ok: false, code: 'busy', error: `it has ${MAX_HOST_SESSIONS} sessions, the most for one host` }
      : null;
  }

  async #assign(assign: SessionAssign): Promise<CommandAnswer> {
    if (this.#sessions.has(assign.session_id)) return OK;
    const atOnce = this.#fullRefusal();
    if (atOnce !== null) return atOnce;
    const ofContainer = await this.#options.containers.refusal(assign.app);
    const context = this.#facts();
    const refusal = decideAssign(assign, context) ?? ofContainer;
    if (refusal) {
      this.#logger.warn({ session_id: assign.session_id, ...refusal }, 'session.refused');
      return { ok: false, ...refusal };
    }
    // Claimed at once, because another assignment could claim the console while this one waits for a uid.
    const claim = assign.video_topology === 'stream_only' ? null : this.#options.console.claim();
    const uid = await this.#takeUid(assign);
    if (uid === 'none_free') {
      claim?.release();
      return { ok: false, code: 'busy', error: 'every uid of SERVICE_PROCESS_UIDS is in use' };
    }
    // Meanwhile other assignments may have been accepted, or close() has listed the sessions that it ends, so this
    // session would not be ended.
    const meanwhile = this.#fullRefusal();
    if (meanwhile !== null) {
      claim?.release();
      if (uid !== null) this.#deps.uids?.release(uid);
      return meanwhile;
    }
    const family = assign.encoder ?? context.encoderFamily;
    const session = new Session(
      {
        assign: claim === null ? assign : heardAs(assign, claim),
        startDisplay: claim?.startDisplay ?? startXvfb,
        uid,
        groups: assign.app.gpu ? context.gpuGroups(assign.gpu_index) : [],
        homeRoot: context.homeRoot,
        ownsHomeRoot: context.ownsHomeRoot,
        encoder: {
          family: family as SessionPlan['encoder']['family'],
          gpu_index: assign.gpu_index,
          render_node: context.gpu(assign.gpu_index).renderNode,
        },
        gpu: context.gpu(assign.gpu_index),
        settings: context.settings,
        media: context.media,
        maxFileMb: context.maxFileMb,
      },
      this.#deps,
    );
    this.#sessions.set(session.id, session);
    if (claim !== null) void session.ended.then(() => claim.release());
    session.linkUp = this.#linkUp;
    session.begin();
    this.#nameHolders.watch();
    return OK;
  }

  #facts(): LaunchContext & AssignFacts {
    return { ...this.#options.context(), console: this.#options.console.state };
  }

  async #takeUid(assign: SessionAssign): Promise<number | null | 'none_free'> {
    const { uids } = this.#deps;
    if (!uids) return null;
    const ref = assign.app.home?.ref;
    // A home that cannot be read fails the session when it is opened, with the reason.
    const owner = ref === undefined ? null : await lastOwner(ref).catch(() => null);
    return uids.take(owner) ?? 'none_free';
  }

  /** Reports that a session that does not exist on this host is stopped. */
  #reportUnknown(sessionId: string, reason: Open<SessionEndReason>): CommandAnswer {
    // Limited, because each report is stored until the control plane confirms it, and a faulty control plane could send
    // any number of session ids.
    if (this.#unknownReports.length >= MAX_HOST_SESSIONS)
      return { ok: false, code: 'busy', error: 'too many reports wait to be seen' };
    const seq = this.#deps.link.report({
      type: 'session_state',
      session_id: sessionId,
      ts: this.#clock.nowMs(),
      state: 'stopped',
      reason,
    });
    this.#unknownReports.push(seq);
    return OK;
  }
}

/**
 * Decides whether viewers hear the session: a console session only if this is configured, and a local session never,
 * because it has no viewers.
 */
function heardAs(assign: SessionAssign, { audible }: ConsoleClaim): SessionAssign {
  const isStreamed = assign.video_topology === 'dual_output';
  const { stream } = assign;
  return {
    ...assign,
    stream: { ...stream, audio: stream.audio && isStreamed && audible, mic: stream.mic && isStreamed },
  };
}

/**
 * Commands that need a live session. Assignment, stop and recording are not listed, because they are also handled if
 * the session is not on this host.
 */
const LIVE_SESSION_COMMANDS = [
  'session_start',
  'session_tune',
  'session_swap_app',
  'session_display_update',
  'session_capture',
  'session_guests',
] as const;
type LiveSessionCommand = Extract<SessionCommand, { type: (typeof LIVE_SESSION_COMMANDS)[number] }>;

function needsLiveSession(command: SessionCommand): command is LiveSessionCommand {
  return LIVE_SESSION_COMMANDS.some((type) => type === command.type);
}

/** The answer to commands of features that `register` does not list. */
export function unknownCommand(command: ControlCommand): CommandAnswer {
  return { ok: false, code: 'unknown_command', error: `this agent does not know ${command.type}` };
}
