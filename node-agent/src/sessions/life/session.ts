import { errorText, type Logger } from '@footlight/platform';
import { cutUtf8, type FailureCode, type Open, type SessionEndReason } from '@footlight/protocol';
import type {
  CaptureOrder,
  ControlSignaling,
  HeldSession,
  SessionCapture,
  SessionDisplayUpdate,
  SessionGuests,
  SessionMetrics,
  SessionSwapApp,
  SessionTune,
} from '@footlight/protocol/agent';
import { soundServer } from '../../display/audio-server.ts';
import { WITHOUT_NETWORK } from '../../display/helper.ts';
import { type Display, makeCookie } from '../../display/xvfb.ts';
import type { CommandAnswer } from '../../link/ack-store.ts';
import { waitForImage } from '../app/image-wait.ts';
import { LaunchProgress } from '../app/launch-progress.ts';
import { SessionApp } from '../app/session-app.ts';
import type { Captured } from '../captures/capture-result.ts';
import { Captures } from '../captures/captures.ts';
import { logText } from '../captures/log-tail.ts';
import { SessionLog } from '../captures/session-log.ts';
import { capturedByWorker } from '../captures/worker-captures.ts';
import { besideHostProblem, displayProblem, sizesOf } from '../display/display-rules.ts';
import { HomeBaseError } from '../home/base/home-base.ts';
import { SessionReports } from '../reports/session-reports.ts';
import { TraceEvents } from '../reports/trace-events.ts';
import { SessionResources } from '../resources/session-resources.ts';
import { SessionWorker } from '../worker/session-worker.ts';
import { IdleTimer } from './idle-timer.ts';
import { ScreenAndSound } from './screen-and-sound.ts';
import type { SessionDeps, SessionPlan } from './session-plan.ts';
import { type Effect, heldState, type Input, type Machine, newMachine, step } from './state.ts';

/**
 * Largest number of bytes of an app's output in a captured log. The budget of a capture is the same number, but of
 * compressed bytes. Chosen, not measured.
 */
const LOG_TAIL_BYTES = 256 * 1024;

/**
 * One session on this host: applies the state machine of state.ts.
 *
 * Owns its parts: resources, screen and sound, app, worker. Each part frees its own resources. When the session's last
 * report is sent, all parts have ended. Teardown order: app and worker, screen and sound, remaining processes of the
 * session's user, then directories, uid and home.
 */
export class Session {
  readonly id: string;
  /** Resolves when the session is torn down and its end is reported. */
  readonly ended: Promise<void>;
  readonly #plan: SessionPlan;
  readonly #deps: SessionDeps;
  readonly #log: SessionLog;
  readonly #logger: Logger;
  readonly #reports: SessionReports;
  readonly #events: TraceEvents;
  readonly #idle: IdleTimer;
  readonly #resources: SessionResources;
  readonly #app: SessionApp;
  readonly #progress: LaunchProgress;
  readonly #worker: SessionWorker;
  readonly #captures: Captures;
  readonly #abort = new AbortController();
  readonly #assignedAtMs: number;
  #machine: Machine;
  #preparation: Promise<void> = Promise.resolve();
  #screenAndSound: ScreenAndSound | null = null;
  #startedAtMs: number | null = null;
  #logTail = '';
  #homeBytes: number | null = null;
  #settleEnded: () => void = () => undefined;

  constructor(plan: SessionPlan, deps: SessionDeps) {
    const { assign } = plan;
    const { clock, link } = deps;
    this.id = assign.session_id;
    this.#machine = newMachine(assign.video_topology !== 'local_only');
    this.#plan = plan;
    this.#deps = deps;
    this.#assignedAtMs = clock.monotonicMs();
    this.#log = new SessionLog(clock);
    this.#logger = this.#log.keep(deps.logger.child({ session_id: this.id }));
    this.#reports = new SessionReports(this.id, link, clock, this.#logger);
    this.#events = new TraceEvents(this.id, link, clock);
    this.#idle = new IdleTimer(clock, assign.bench ? 0 : assign.idle_timeout_secs * 1000, () =>
      this.stop('idle_timeout', 2_000),
    );
    this.#resources = new SessionResources(plan, deps);
    if (isRecorded(plan)) deps.recorder.begin(this.id, assign.stream);
    const shared = {
      clock,
      logger: this.#logger,
      events: this.#events,
      resources: this.#resources,
      ended: this.#abort.signal,
      apply: (input: Input) => this.#apply(input),
    };
    this.#worker = new SessionWorker({
      ...shared,
      plan,
      link,
      workers: deps.workers,
      fallback: deps.fallback,
      onRecords: (records) => deps.recorder.follow(this.id, records, assign.stream),
      onWindows: (count) => {
        this.#app.windows = count;
      },
      onViewer: (connected) => {
        this.#idle.viewer = connected;
      },
      metrics: () => this.#shownWithMetrics(),
    });
    this.#app = new SessionApp(assign.app_id, assign.app, {
      ...shared,
      sessionId: this.id,
      runtime: deps.runtime,
      gpu: plan.gpu,
      bootTimeoutSecs: assign.app_boot_timeout_secs,
      worker: this.#worker,
      reportSwap: (appId, error) => this.#reports.swap(appId, error),
    });
    this.#progress = new LaunchProgress({
      sessionId: this.id,
      app: this.#app,
      events: this.#events,
      uid: () => this.uid,
      isPresented: () => this.#machine.presented,
      notifyViewers: (state) => this.#worker.send({ type: 'app_state', state }),
    });
    this.#captures = new Captures({
      ...shared,
      has: (kind) =>
        kind === 'log_tail' || (this.#machine.phase === 'running' && assign.video_topology !== 'local_only'),
      capture: (order, limitMs) => this.#capture(order, limitMs),
    });
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  /** Starts the preparation. Returns at once. */
  begin(): void {
    this.#preparation = this.#prepare();
  }

  start(): void {
    this.#apply({ kind: 'start' });
  }

  /** Ends the session for this reason. No effect if the session is already ending. */
  stop(reason: Open<SessionEndReason>, graceMs: number): void {
    this.#apply({ kind: 'stop', reason, graceMs });
  }

  /** Ends the session, because its app has bound the abstract names of these displays. */
  endNameHolder(numbers: readonly number[]): void {
    if (this.isEnding) return;
    const [first = 0] = numbers;
    this.#events.send('display.name_taken', { first, count: numbers.length });
    const others = numbers.length === 1 ? '' : ` and of ${numbers.length - 1} more`;
    this.#fail('display_name_taken', `the app took the name of display :${first}${others}`);
  }

  /** Ends the session without reports, because the next agent process reports the end. */
  endSilently(): void {
    this.#reports.silence();
    this.stop('agent_restart', 500);
  }

  tune({ bitrate_kbps, keyframe }: Pick<SessionTune, 'bitrate_kbps' | 'keyframe'>): void {
    this.#worker.send({
      type: 'tune',
      ...(bitrate_kbps === undefined ? {} : { bitrate_kbps }),
      ...(keyframe === undefined ? {} : { keyframe }),
    });
  }

  /** Sets the guests who may use the session; every other guest is disconnected. */
  setGuests(command: SessionGuests): void {
    this.#worker.setGuests(command);
  }

  /** Starts a capture; an event with the result follows. */
  capture(command: SessionCapture): CommandAnswer {
    return this.#captures.begin(command);
  }

  /** Starts a swap in a running session. A repeated command for the same swap has no second effect. */
  swapApp(change: Pick<SessionSwapApp, 'app_id' | 'app'>): CommandAnswer {
    if (this.#machine.phase !== 'running')
      return { ok: false, code: 'busy', error: 'the session does not run yet' };
    return this.#app.change(change);
  }

  /** Changes sizes of a running session. Resolves when the change is done or refused. */
  async updateDisplay(command: SessionDisplayUpdate): Promise<CommandAnswer> {
    if (this.#machine.phase !== 'running') return rejected('the session does not run');
    const { stream, video_topology } = this.#plan.assign;
    const problem = besideHostProblem(command, video_topology) ?? displayProblem(command, stream);
    if (problem !== null) return rejected(problem);
    const error = await this.#worker.changeDisplay(sizesOf(command));
    return error === null ? { ok: true } : rejected(error);
  }

  signaling(frame: ControlSignaling): void {
    this.#worker.deliver(frame);
  }

  set linkUp(up: boolean) {
    this.#idle.linkUp = up;
    if (!up) this.#worker.linkLost();
  }

  get held(): HeldSession {
    const { ending } = this.#machine;
    const failed = this.#machine.phase === 'ended' && ending?.state === 'failed' ? ending : null;
    return {
      session_id: this.id,
      state: heldState(this.#machine),
      app_id: this.#app.appId,
      started_at: this.#startedAtMs,
      viewer: this.#worker.hasViewer,
      ...(failed ? { error: cutUtf8(failed.error, 512), failure_code: failed.failure_code } : {}),
    };
  }

  get isOver(): boolean {
    return this.#machine.phase === 'ended';
  }

  get isEnding(): boolean {
    return this.#machine.phase === 'ending' || this.isOver;
  }

  /**
   * Number of the newest report. When the control plane has processed this report, an ended session may be removed from
   * memory.
   */
  get lastSeq(): number {
    return this.#reports.lastSeq;
  }

  /** null: the session runs as the agent's user. */
  get uid(): number | null {
    return this.#resources.userAndHomes.uid;
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
        this.#reports.send({ state: effect.state, detail: effect.detail });
        return;
      case 'report_stopping':
        this.#reports.send({ state: 'stopping', reason: effect.reason });
        return;
      case 'launch_app':
        if (this.#screenAndSound) this.#app.launch(this.#screenAndSound);
        return;
      case 'start_encoder':
        this.#worker.send({ type: 'start' });
        return;
      case 'running':
        this.#startedAtMs = this.#deps.clock.nowMs();
        this.#idle.running = true;
        return;
      case 'presented':
        this.#app.drawn();
        this.#worker.send({ type: 'app_state', state: 'presented' });
        this.#progress.current();
        return;
      case 'app_ended':
        this.#events.send('app.exited', { status: effect.status, policy: 'end' });
        this.#progress.report('game_exited');
        return;
      case 'tear_down':
        void this.#tearDown(effect.reason, effect.graceMs);
        return;
      case 'report_end':
        // Called before the report is sent, so that a command that follows the report finds the ring in its final
        // state.
        this.#deps.recorder.end(this.id, effect.ending.state === 'failed');
        this.#reports.end(effect.ending, { logTail: this.#logTail, homeBytes: this.#homeBytes });
        this.#settleEnded();
        return;
    }
  }

  async #capture(order: CaptureOrder, limitMs: number): Promise<Captured> {
    const scratchDir = this.#resources.dirs.scratch;
    if (order.kind !== 'log_tail')
      return capturedByWorker(await this.#worker.capture(order, limitMs), scratchDir);
    const { lines } = order;
    const ofApp = this.#app.logTail(lines, LOG_TAIL_BYTES);
    const hidden = { values: this.#app.environmentValues, scratchDir };
    const text = logText(this.#log.tail(lines), ofApp === '' ? [] : ofApp.split('\n'), lines, hidden);
    return { text, contentType: 'text/plain', keeps: 'newest' };
  }

  #shownWithMetrics(): Pick<SessionMetrics, 'app_launch_state' | 'idle_ends_in_s'> {
    const idle_ends_in_s = this.#idle.endsInS;
    return {
      app_launch_state: this.#progress.current(),
      ...(idle_ends_in_s !== undefined && { idle_ends_in_s }),
    };
  }

  async #prepare(): Promise<void> {
    const { dirs, userAndHomes } = this.#resources;
    let cookie: Buffer;
    try {
      if (!(await userAndHomes.take(this.#abort.signal, () => this.#apply({ kind: 'home_busy' })))) return;
      this.#apply({ kind: 'home_free' });
      await this.#resources.makeDirs();
      const place = { dirs, user: userAndHomes.user };
      [cookie] = await Promise.all([makeCookie(place, this.#deps.random), this.#resources.writeRecord()]);
    } catch (error) {
      this.#fail('home_unavailable', error);
      return;
    }
    if (!(await this.#fetchImage()) || this.#abort.signal.aborted) return;
    this.#app.prepare();
    const home = userAndHomes
      .open(this.#abort.signal)
      .catch((error) =>
        this.#fail(error instanceof HomeBaseError ? 'home_base_unavailable' : 'home_unavailable', error),
      );
    this.#apply({ kind: 'display_begun' });
    const { entered, adopted } = this.#worker.begin();
    await entered;
    // Waits for the home in any case, because the teardown must find it completely opened.
    await Promise.all([home, adopted, this.isEnding ? undefined : this.#openScreenAndSound(home, cookie)]);
  }

  /** @returns false: the session ended first */
  async #fetchImage(): Promise<boolean> {
    const { clock, runtime } = this.#deps;
    const problem = await waitForImage(this.#plan.assign.app, {
      clock,
      runtime,
      ended: this.#abort.signal,
      assignedAtMs: this.#assignedAtMs,
      report: (percent) => this.#apply({ kind: 'pulling', percent }),
    });
    if (problem !== null) this.#fail(problem.code, problem.error);
    return problem === null;
  }

  /** @param home settles when the home is open, or when the session has failed because of the home */
  async #openScreenAndSound(home: Promise<void>, cookie: Buffer): Promise<void> {
    const { stream } = this.#plan.assign;
    const options = {
      sessionId: this.id,
      user: this.#resources.userAndHomes.user,
      dirs: this.#resources.dirs,
      enter: [...this.#worker.enter, ...(this.#deps.helpersWithoutNetwork ? WITHOUT_NETWORK : [])],
      confine: (pid: number) => this.#resources.confine(pid),
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
      this.#screenAndSound = await ScreenAndSound.open(options, deps, (display) => {
        const audio = stream.audio || stream.mic ? { server: soundServer(this.#resources.dirs) } : null;
        void home.then(() => this.#app.prepareOn({ display, audio }));
        return this.#resources.recordDisplay(display.record);
      });
    } catch (error) {
      this.#fail('display_failed', error);
      return;
    }
    const { audio, audioProblem } = this.#screenAndSound;
    this.#worker.useScreenAndSound(this.#screenAndSound);
    void this.#followDisplay(this.#screenAndSound.display);
    if (audioProblem !== null) this.#events.send('audio.degraded', { reason: audioProblem, required: false });
    void audio?.exited.then(() => {
      if (!this.isEnding)
        this.#events.send('audio.degraded', { reason: 'the sound server ended', required: false });
    });
    await home;
    this.#apply({ kind: 'screen_ready' });
  }

  /** Ends the session when its display fails. After the display's first answer, it must continue to answer. */
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
  }

  async #tearDown(reason: Open<SessionEndReason>, graceMs: number): Promise<void> {
    this.#abort.abort();
    this.#idle.running = false;
    this.#worker.stop(reason, graceMs);
    try {
      await this.#endEverything(graceMs);
    } catch (error) {
      this.#logger.error({ error: errorText(error) }, 'session.not_removed');
    }
    this.#apply({ kind: 'torn_down' });
  }

  async #endEverything(graceMs: number): Promise<void> {
    try {
      await Promise.all([this.#app.end(graceMs), this.#worker.end()]);
      this.#logTail = this.#app.logTail();
      // Waits for the preparation, because it may have started app and worker.
      await this.#preparation;
      await this.#worker.end();
      const { userAndHomes } = this.#resources;
      const [bytes] = await Promise.all([
        userAndHomes.bytes(this.#deps.clock),
        this.#screenAndSound?.close(),
      ]);
      this.#homeBytes = bytes;
    } finally {
      this.#worker.close();
      // A process or file could not be removed. The error is only logged, because the next session of this home must
      // not wait forever.
      await this.#resources.release();
    }
  }

  #fail(failure_code: FailureCode, error: unknown): void {
    this.#apply({ kind: 'failure', failure_code, error: errorText(error) });
  }
}

/** A local session is not recorded, because it encodes nothing. */
function isRecorded({ assign }: SessionPlan): boolean {
  return assign.stream.recorder === true && assign.video_topology !== 'local_only';
}

function rejected(error: string): CommandAnswer {
  return { ok: false, code: 'display_update_rejected', error };
}
