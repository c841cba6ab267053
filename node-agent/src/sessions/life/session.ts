import type { Logger, Random } from '@footlight/platform';
import { type Clock, delay, errorText, plainText, within } from '@footlight/platform';
import { type AppLaunchState, cutUtf8 } from '@footlight/protocol';
import type {
  ControlSignaling,
  HeldSession,
  SessionAssign,
  SessionDisplayUpdate,
  SessionMetrics,
  SessionState,
  SessionSwapApp,
  SessionTune,
} from '@footlight/protocol/agent';
import type { DisplayRecord } from '../../display/display-number.ts';
import { WITHOUT_NETWORK } from '../../display/helper.ts';
import { type Display, makeCookie, type StartDisplay } from '../../display/xvfb.ts';
import { GRANT_AGAIN_MS, grantDevice } from '../../input/device-access.ts';
import type { Verdict } from '../../link/ack-store.ts';
import type { EncoderChoice } from '../../media/worker/worker-messages.ts';
import type { MediaWorker, MediaWorkerPool, WorkerExit } from '../../media/worker/worker-pool.ts';
import { removeSessionCgroups } from '../../runtime/cgroups.ts';
import type { HeldNamespace } from '../../runtime/held-namespace.ts';
import type { Runtime, SessionDirs } from '../../runtime/runtime.ts';
import { DisplayChanges } from '../display/display-changes.ts';
import { besideHostProblem, displayProblem } from '../display/display-rules.ts';
import type { HomeLocks } from '../resources/home-locks.ts';
import type { Quarantine } from '../resources/quarantine.ts';
import {
  makeSessionDirs,
  removeSessionDirs,
  type SessionRecord,
  sessionDirs,
  sessionsDir,
  writeRecord,
} from '../resources/record.ts';
import type { UidPool } from '../resources/uid-pool.ts';
import type { UidSweep } from '../resources/uid-sweep.ts';
import { UserAndHomes } from '../resources/user-and-homes.ts';
import { Relay } from '../worker/relay.ts';
import { WorkerReports } from '../worker/worker-reports.ts';
import { IdleTimer } from './idle-timer.ts';
import { nextLaunchState, runsTitle } from './launch-state.ts';
import { aborted, SessionApp } from './session-app.ts';
import type { SessionLink } from './session-link.ts';
import { Stage } from './stage.ts';
import { TraceEvents } from './trace-events.ts';
import {
  type Effect,
  type Ending,
  heldState,
  type Input,
  type Machine,
  newMachine,
  step,
} from './transitions.ts';

/** Time for a media worker's goodbye after `stop`. */
const WORKER_STOP_MS = 1_500;
/** Exit code of Xlib when its display is lost; libxcb may abort the process first. */
const XLIB_EXIT_CODE = 1;
/** Longest delay between the exits of a display's clients and of its server. */
const DISPLAY_EXIT_MS = 1_000;

export interface SessionDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  link: SessionLink;
  workers: MediaWorkerPool;
  runtime: Runtime;
  homes: HomeLocks;
  quarantine: Quarantine;
  sweep: UidSweep;
  /** Display, sound server and window manager get empty network namespaces. */
  helpersWithoutNetwork: boolean;
  /** null: the agent is not root, and sessions share its user. */
  uids: UidPool | null;
  stateDir: string;
  /** Ends sessions whose apps hold names of displays, with a short wait. */
  endNameHolders(): Promise<void>;
}

/** Decisions of the supervisor about a session before its start. */
export interface SessionPlan {
  assign: SessionAssign;
  /** Starts the session's display. */
  startDisplay: StartDisplay;
  uid: number | null;
  /** Groups of the session's user for its GPU. */
  groups: number[];
  homeRoot: string;
  /** Whether this host chose the home root; otherwise the control plane did. */
  ownsHomeRoot: boolean;
  encoder: EncoderChoice;
  /** Host settings in force at this launch. */
  settings: Record<string, unknown>;
  media: { addresses: string[] | null; ports: [number, number] | null };
}

/**
 * One session on this host: applies the pure state machine of transitions.ts.
 *
 * Owns everything that it makes (home lock, uid, directories, display, sound, app, worker) and has released all of it
 * when its last report is sent. Teardown order: app and worker, sound and display, remaining processes of the
 * session's user, directories, uid and home.
 */
export class Session {
  readonly id: string;
  /** Settles when the session is torn down and its end is reported. */
  readonly ended: Promise<void>;
  readonly #plan: SessionPlan;
  readonly #deps: SessionDeps;
  readonly #logger: Logger;
  readonly #dirs: SessionDirs;
  readonly #userAndHomes: UserAndHomes;
  readonly #relay: Relay;
  readonly #events: TraceEvents;
  readonly #idle: IdleTimer;
  readonly #app: SessionApp;
  /** Last known state of the app's start. */
  #launchState: { appId: string; state: AppLaunchState };
  readonly #abort = new AbortController();
  #machine: Machine;
  #preparation: Promise<void> = Promise.resolve();
  #stage: Stage | null = null;
  #displayAnswers = false;
  #worker: MediaWorker | null = null;
  /** null: not open yet, or the agent's namespace. */
  #ipc: HeldNamespace | null = null;
  #displayChanges: DisplayChanges | null = null;
  #startedAtMs: number | null = null;
  #viewer = false;
  #logTail = '';
  #homeBytes: number | null = null;
  /** Whether reports are sent; false for an agent that restarts, whose successor reports. */
  #reporting = true;
  #lastSeq = 0;
  #settleEnded: () => void = () => undefined;

  constructor(plan: SessionPlan, deps: SessionDeps) {
    const { assign } = plan;
    this.id = assign.session_id;
    this.#machine = newMachine(assign.video_topology !== 'local_only');
    this.#plan = plan;
    this.#deps = deps;
    this.#userAndHomes = new UserAndHomes(
      { ...plan, home: assign.app.home, stateDir: deps.stateDir },
      deps.homes,
      deps.uids,
    );
    this.#logger = deps.logger.child({ session_id: assign.session_id });
    this.#dirs = sessionDirs(deps.stateDir, assign.session_id);
    this.#relay = new Relay((message) => this.#worker?.send(message));
    this.#events = new TraceEvents(assign.session_id, deps.link, deps.clock);
    this.#idle = new IdleTimer(deps.clock, assign.bench ? 0 : assign.idle_timeout_secs * 1000, () =>
      this.stop('idle_timeout', 2_000),
    );
    this.#app = new SessionApp(assign.app_id, assign.app, {
      sessionId: this.id,
      clock: deps.clock,
      logger: this.#logger,
      runtime: deps.runtime,
      dirs: this.#dirs,
      userAndHomes: this.#userAndHomes,
      events: this.#events,
      ended: this.#abort.signal,
      bootTimeoutSecs: assign.app_boot_timeout_secs,
      worker: () => this.#worker,
      enter: () => this.#ipc?.enter ?? [],
      writeRecord: () => this.#writeRecord(),
      apply: (input) => this.#apply(input),
      reportSwap: (appId, error) => this.#reportSwap(appId, error),
    });
    this.#launchState = { appId: assign.app_id, state: 'starting' };
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  /** Starts the preparation; returns at once. */
  begin(): void {
    this.#preparation = this.#prepare();
  }

  start(): void {
    this.#apply({ kind: 'start' });
  }

  /** Ends the session for that reason; no effect if it is already ending. */
  stop(reason: string, graceMs: number): void {
    this.#apply({ kind: 'stop', reason, graceMs });
  }

  /** Ends the session, because its app holds the abstract names of these displays. */
  endNameHolder(numbers: readonly number[]): void {
    if (this.isEnding) return;
    const [first = 0] = numbers;
    this.#events.send('display.name_taken', { first, count: numbers.length });
    const others = numbers.length === 1 ? '' : ` and of ${numbers.length - 1} more`;
    this.#fail('display_name_taken', `the app took the name of display :${first}${others}`);
  }

  /** Ends without reports: the next agent process reports the end. */
  endSilently(): void {
    this.#reporting = false;
    this.stop('agent_restart', 500);
  }

  tune({ bitrate_kbps, keyframe }: Pick<SessionTune, 'bitrate_kbps' | 'keyframe'>): void {
    this.#worker?.send({
      type: 'tune',
      ...(bitrate_kbps === undefined ? {} : { bitrate_kbps }),
      ...(keyframe === undefined ? {} : { keyframe }),
    });
  }

  /** Starts a swap in a running session. A repeat of the same swap has no second effect. */
  swapApp(change: Pick<SessionSwapApp, 'app_id' | 'app'>): Verdict {
    if (this.#machine.phase !== 'running')
      return { ok: false, code: 'busy', error: 'the session does not run yet' };
    return this.#app.change(change);
  }

  /** Changes sizes of a running session. @returns when done or refused */
  async updateDisplay(command: SessionDisplayUpdate): Promise<Verdict> {
    const changes = this.#displayChanges;
    if (this.#machine.phase !== 'running' || changes === null) return rejected('the session does not run');
    const { stream, video_topology } = this.#plan.assign;
    const problem = besideHostProblem(command, video_topology) ?? displayProblem(command, stream);
    if (problem !== null) return rejected(problem);
    const { render_width, render_height, ui_scale, stream_width, stream_height } = command;
    const error = await changes.make({
      ...(render_width !== undefined && render_height !== undefined
        ? { render: { width: render_width, height: render_height } }
        : {}),
      ...(ui_scale === undefined ? {} : { ui_scale }),
      ...(stream_width !== undefined && stream_height !== undefined
        ? { stream: { width: stream_width, height: stream_height } }
        : {}),
    });
    return error === null ? { ok: true } : rejected(error);
  }

  signaling(frame: ControlSignaling): void {
    this.#relay.deliver(frame);
  }

  set linkUp(up: boolean) {
    this.#idle.linkUp = up;
    if (!up) this.#relay.linkLost();
  }

  get held(): HeldSession {
    const { ending } = this.#machine;
    const failed = this.#machine.phase === 'ended' && ending?.state === 'failed' ? ending : null;
    return {
      session_id: this.id,
      state: heldState(this.#machine),
      app_id: this.#app.appId,
      started_at: this.#startedAtMs,
      viewer: this.#viewer,
      ...(failed ? { error: cutUtf8(failed.error, 512), failure_code: failed.failure_code } : {}),
    };
  }

  get isOver(): boolean {
    return this.#machine.phase === 'ended';
  }

  get isEnding(): boolean {
    return this.#machine.phase === 'ending' || this.isOver;
  }

  /** Number of the newest report; after the control plane has seen it, an ended session may be forgotten. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** null: the session shares the agent's user. */
  get uid(): number | null {
    return this.#userAndHomes.uid;
  }

  get gpuIndex(): number {
    return this.#plan.assign.gpu_index;
  }

  #apply(input: Input): void {
    const { machine, effects } = step(this.#machine, input);
    this.#machine = machine;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case 'report':
        this.#report({ state: effect.state, detail: effect.detail });
        return;
      case 'report_stopping':
        this.#report({ state: 'stopping', reason: effect.reason });
        return;
      case 'launch_app':
        if (this.#stage) this.#app.launch(this.#stage);
        return;
      case 'start_encoder':
        this.#worker?.send({ type: 'start' });
        return;
      case 'running':
        this.#startedAtMs = this.#deps.clock.nowMs();
        this.#idle.running = true;
        return;
      case 'presented':
        this.#app.drawn();
        this.#worker?.send({ type: 'app_state', state: 'presented' });
        this.#noteLaunchState();
        return;
      case 'app_ended':
        this.#events.send('app.exited', { status: effect.status, policy: 'end' });
        this.#tellLaunchState('game_exited');
        return;
      case 'tear_down':
        void this.#tearDown(effect.reason, effect.graceMs);
        return;
      case 'report_end':
        this.#reportEnd(effect.ending);
        return;
    }
  }

  /** Updates the state of the app's start and reports a change. */
  #shownWithMetrics(): Pick<SessionMetrics, 'app_launch_state' | 'idle_ends_in_s'> {
    const idle_ends_in_s = this.#idle.endsInS;
    return {
      app_launch_state: this.#noteLaunchState(),
      ...(idle_ends_in_s !== undefined && { idle_ends_in_s }),
    };
  }

  #noteLaunchState(): AppLaunchState {
    const { appId, tile } = this.#app;
    const uid = this.#userAndHomes.user?.uid ?? null;
    const state = nextLaunchState(this.#launchState.appId === appId ? this.#launchState.state : 'starting', {
      presented: this.#machine.presented,
      titleRuns: tile === undefined ? null : runsTitle({ sessionId: this.id, uid }, tile),
    });
    const changed = state !== this.#launchState.state;
    this.#launchState = { appId, state };
    if (changed) this.#tellLaunchState(state);
    return state;
  }

  #tellLaunchState(state: AppLaunchState): void {
    const { tile } = this.#app;
    this.#events.send('app.launch_state', { state, ...(tile && { appid: tile.external_id }) });
    // Viewers are told that an app has drawn, unless it is a tile.
    if (tile !== undefined || state === 'game_exited') this.#worker?.send({ type: 'app_state', state });
  }

  #report(fields: Omit<SessionState, 'type' | 'seq' | 'session_id' | 'ts'>): void {
    if (!this.#reporting) return;
    this.#lastSeq = this.#deps.link.report({
      type: 'session_state',
      session_id: this.id,
      ts: this.#deps.clock.nowMs(),
      ...fields,
    });
  }

  #reportEnd(ending: Ending): void {
    const tail = this.#logTail === '' ? {} : { app_log_tail: this.#logTail };
    const size = this.#homeBytes === null ? {} : { home_bytes: this.#homeBytes };
    if (ending.state === 'failed') {
      const { failure_code } = ending;
      this.#logger.warn({ failure_code, error: ending.error }, 'session.failed');
      this.#report({
        state: 'failed',
        failure_code,
        error: cutUtf8(plainText(ending.error), 512),
        ...tail,
        ...size,
      });
    } else {
      this.#logger.info({ reason: ending.reason }, 'session.stopped');
      this.#report({ state: 'stopped', reason: ending.reason, ...(ending.appLog ? tail : {}), ...size });
    }
    this.#settleEnded();
  }

  async #prepare(): Promise<void> {
    let cookie: Buffer;
    try {
      const { signal } = this.#abort;
      if (!(await this.#userAndHomes.take(signal, () => this.#apply({ kind: 'home_busy' })))) return;
      this.#apply({ kind: 'home_free' });
      await makeSessionDirs(this.#dirs, this.#userAndHomes.user);
      const place = { dirs: this.#dirs, user: this.#userAndHomes.user };
      [cookie] = await Promise.all([makeCookie(place, this.#deps.random), this.#writeRecord()]);
    } catch (error) {
      this.#fail('home_unavailable', error);
      return;
    }
    if (this.#abort.signal.aborted) return;
    this.#app.prepare();
    const home = this.#userAndHomes.open().catch((error) => this.#fail('home_unavailable', error));
    this.#apply({ kind: 'display_begun' });
    const crashed = (error: unknown) => this.#fail('media_worker_crashed', error);
    const acquired = this.#deps.workers.acquire();
    const entered = acquired.then((worker) => this.#shareMemory(worker)).catch(crashed);
    const adopted = acquired.then((worker) => worker.warm.then(() => this.#adopt(worker))).catch(crashed);
    // A worker that starts slowly must not delay the end.
    const ended = aborted(this.#abort.signal);
    await Promise.race([entered, ended]);
    await Promise.all([Promise.race([adopted, ended]), this.isEnding ? home : this.#openStage(home, cookie)]);
  }

  /** @param home settles when the home is open, or has failed the session */
  async #openStage(home: Promise<void>, cookie: Buffer): Promise<void> {
    const { stream } = this.#plan.assign;
    const options = {
      sessionId: this.id,
      user: this.#userAndHomes.user,
      dirs: this.#dirs,
      enter: [...(this.#ipc?.enter ?? []), ...(this.#deps.helpersWithoutNetwork ? WITHOUT_NETWORK : [])],
      ended: this.#abort.signal,
      startDisplay: this.#plan.startDisplay,
      cookie,
      width: stream.width,
      height: stream.height,
      audio: stream.audio,
      microphone: stream.mic,
    };
    const { clock, random, endNameHolders } = this.#deps;
    const deps = { clock, random, env: process.env, endNameHolders };
    try {
      this.#stage = await Stage.open(options, deps, ({ record }) => this.#writeRecord(record));
    } catch (error) {
      this.#fail('display_failed', error);
      return;
    }
    const { audio, audioProblem } = this.#stage;
    void this.#followDisplay(this.#stage.display);
    if (audioProblem !== null) this.#events.send('audio.degraded', { reason: audioProblem, required: false });
    void audio?.exited.then(() => {
      if (!this.isEnding)
        this.#events.send('audio.degraded', { reason: 'the sound server ended', required: false });
    });
    await home;
    this.#apply({ kind: 'stage_ready' });
  }

  /** Requests to the display server wait until it answers. */
  async #followDisplay(display: Display): Promise<void> {
    try {
      await display.answers;
    } catch (error) {
      this.#fail('display_failed', error);
      return;
    }
    if (this.isEnding) return;
    void display.exited.then(() => this.#fail('display_failed', 'the display server ended'));
    display.onSilent(() => this.#fail('display_failed', 'the display server did not answer for 5 s'));
    this.#displayAnswers = true;
    this.#prepareWorker();
  }

  /** Display and app use the worker's IPC namespace, so that they share System V objects. */
  #shareMemory(worker: MediaWorker): void {
    if (!this.isEnding) this.#ipc = worker.openIpcNamespace();
  }

  #adopt(worker: MediaWorker): void {
    if (this.isEnding) {
      worker.kill();
      return;
    }
    this.#worker = worker;
    const gone = Promise.race([worker.exited, aborted(this.#abort.signal)]);
    this.#displayChanges = new DisplayChanges(worker, this.#deps.clock, gone);
    void worker.exited.then((exit) => this.#workerGone(exit));
    worker.on('prepared', () => this.#apply({ kind: 'worker_ready' }));
    worker.on('encoding', () => this.#apply({ kind: 'encoding' }));
    worker.on('app_presented', ({ watch }) => {
      if (watch === 0) this.#apply({ kind: 'presented' });
    });
    worker.on('windows', ({ count }) => {
      this.#app.windows = count;
    });
    worker.on('viewer', ({ connected }) => {
      this.#viewer = connected;
      this.#idle.viewer = connected;
    });
    worker.on('input_device', ({ sysname }) => this.#grantDevice(sysname));
    const reports = new WorkerReports({
      sessionId: this.id,
      link: this.#deps.link,
      events: this.#events,
      clock: this.#deps.clock,
      logger: this.#logger,
    });
    void worker.exited.then(() => reports.close());
    worker.on('signal', (message) => reports.signal(message));
    worker.on('metrics', (message) => {
      if (!this.isEnding) reports.metrics(message, () => this.#shownWithMetrics());
    });
    worker.on('event', (message) => reports.event(message));
    worker.on('log', (message) => reports.log(message, worker.pid));
    worker.on('failure', ({ failure_code, error }) => this.#fail(failure_code, error));
    this.#prepareWorker();
  }

  #grantDevice(sysname: string): void {
    const { user } = this.#userAndHomes;
    if (user === null || this.isEnding) return;
    const nodes = grantDevice(sysname, this.id, user.uid);
    this.#logger.info({ nodes, device: sysname }, 'session.input_device');
    if (nodes.length === 0) return;
    this.#deps.clock.setTimeout(() => {
      if (!this.isEnding) grantDevice(sysname, this.id, user.uid);
    }, GRANT_AGAIN_MS);
  }

  /**
   * Xlib ends its process when the display is lost: then the display is the cause, and its exit follows in a moment.
   */
  async #workerGone({ code, signal }: WorkerExit): Promise<void> {
    if (this.isEnding) return;
    const display = this.#stage?.display;
    if (display && (code === XLIB_EXIT_CODE || signal === 'SIGABRT')) {
      const gone = display.exited.then(() => this.#fail('display_failed', 'the display server ended'));
      await Promise.race([gone, delay(this.#deps.clock, DISPLAY_EXIT_MS)]);
    }
    this.#fail('media_worker_crashed', `the media worker ended with ${signal ?? `status ${code}`}`);
  }

  /** Runs when both the worker exists and the display answers. */
  #prepareWorker(): void {
    const { assign, encoder, settings, media } = this.#plan;
    const stage = this.#stage;
    if (!stage || !this.#displayAnswers || !this.#worker || this.isEnding) return;
    const { user } = this.#userAndHomes;
    this.#worker.send({
      type: 'prepare',
      session_id: this.id,
      uid: user?.uid ?? null,
      gid: user?.gid ?? null,
      display: stage.display.name,
      xauthority: this.#dirs.xauthority,
      pulse_server: stage.audio?.server ?? null,
      scratch_dir: this.#dirs.scratch,
      stream: assign.stream,
      encodes: assign.video_topology !== 'local_only',
      reads_devices: stage.display.readsDevices,
      encoder,
      settings,
      media,
    });
    // Viewers get their offer while the worker prepares the rest.
    this.#relay.open();
  }

  /** @param error null: the session has that app now */
  #reportSwap(app_id: string, error: string | null): void {
    const swap: SessionState['swap'] =
      error === null
        ? { app_id, result: 'complete' }
        : { app_id, result: 'rolled_back', error: cutUtf8(plainText(error), 256) };
    this.#report({ state: 'running', swap });
  }

  async #tearDown(reason: string, graceMs: number): Promise<void> {
    this.#abort.abort();
    this.#idle.running = false;
    this.#worker?.send({ type: 'stop', reason, grace_ms: graceMs });
    try {
      await this.#endEverything(graceMs);
    } catch (error) {
      this.#logger.error({ error: errorText(error) }, 'session.not_removed');
    }
    this.#apply({ kind: 'torn_down' });
  }

  async #endEverything(graceMs: number): Promise<void> {
    try {
      await Promise.all([this.#app.end(graceMs), this.#endWorker()]);
      this.#logTail = this.#app.logTail();
      // A preparation that was still running may have started app and worker.
      await this.#preparation;
      await this.#endWorker();
      const [bytes] = await Promise.all([this.#userAndHomes.bytes(this.#deps.clock), this.#stage?.close()]);
      this.#homeBytes = bytes;
    } finally {
      this.#ipc?.close();
      this.#ipc = null;
      // Something could not be ended or removed; the next session of this home must not wait forever.
      const { uid, homes } = this.#userAndHomes;
      await this.#deps.quarantine.release({ sessionId: this.id, uid, homes }, () => this.#giveBack());
    }
  }

  /** Call when no process of the session is left. */
  async #giveBack(): Promise<void> {
    const { uid, homes } = this.#userAndHomes;
    let isClean = uid === null;
    try {
      if (uid !== null) {
        const { stateDir, homes: locks, sweep, uids } = this.#deps;
        const places = () => ({ keep: homes, others: [sessionsDir(stateDir), ...locks.taken] });
        isClean = await sweep.sweep(uid, places, () => uids?.release(uid));
      }
      removeSessionCgroups(this.id);
      await removeSessionDirs(this.#dirs);
    } finally {
      await this.#userAndHomes.giveBack(!isClean);
    }
  }

  async #endWorker(): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    const stopped = new Promise<void>((resolve) => void worker.on('stopped', () => resolve()));
    await within(this.#deps.clock, WORKER_STOP_MS, Promise.race([worker.exited, stopped]), null);
    await Promise.race([worker.exited, delay(this.#deps.clock, 100)]);
    worker.kill();
    await worker.exited;
  }

  #fail(failure_code: string, error: unknown): void {
    this.#apply({ kind: 'failure', failure_code, error: errorText(error) });
  }

  async #writeRecord(display: DisplayRecord | null = this.#stage?.display.record ?? null): Promise<void> {
    const [home, next] = this.#userAndHomes.homes;
    const record: SessionRecord = {
      session_id: this.id,
      uid: this.#userAndHomes.uid,
      home: home ?? null,
      ...(next === undefined ? {} : { next_home: next }),
      display,
    };
    await writeRecord(this.#dirs, record);
  }
}

function rejected(error: string): Verdict {
  return { ok: false, code: 'display_update_rejected', error };
}
