import type { Readable } from 'node:stream';
import { type Clock, errorText, type Logger, within } from '@footlight/platform';
import type { Open, SessionEndReason } from '@footlight/protocol';
import type { ControlSignaling, SessionGuests, SessionMetrics } from '@footlight/protocol/agent';
import { GRANT_AGAIN_MS, grantDevice } from '../../input/device-access.ts';
import type { MediaFallback } from '../../media/fallback/media-fallback.ts';
import type { CaptureMade, CaptureRequest } from '../../media/worker/capture-messages.ts';
import type { DisplayUpdate, ParentMessage } from '../../media/worker/worker-messages.ts';
import type { MediaWorker, MediaWorkerPool, WorkerExit } from '../../media/worker/worker-pool.ts';
import { withPatience } from '../../patience.ts';
import { isHomeVolume } from '../../runtime/container/engine/engine-names.ts';
import type { HeldNamespace } from '../../runtime/held-namespace.ts';
import { WorkerCaptures } from '../captures/worker-captures.ts';
import { DisplayChanges } from '../display/display-changes.ts';
import { aborted } from '../life/aborted.ts';
import type { ScreenAndSound } from '../life/screen-and-sound.ts';
import type { SessionPlan } from '../life/session-plan.ts';
import type { Input } from '../life/state.ts';
import type { SessionLink } from '../reports/session-link.ts';
import type { TraceEvents } from '../reports/trace-events.ts';
import { WorkerReports } from '../reports/worker-reports.ts';
import type { SessionResources } from '../resources/session-resources.ts';
import { followFallback } from './session-fallback.ts';
import { SessionFiles } from './session-files.ts';
import { SignalingRelays } from './signaling-relay.ts';

/** Longest wait for a media worker's `stopped` message after `stop`. */
const STOP_MS = withPatience(1_500);
/** Longest wait for the worker's exit after that message. */
const EXIT_MS = withPatience(100);
/** Exit code of Xlib when its display is lost; libxcb may abort the process before that. */
const XLIB_EXIT_CODE = 1;
const MIB = 1024 * 1024;
/** Longest delay between the exit of a display's clients and the exit of its server. */
const DISPLAY_EXIT_MS = withPatience(1_000);

export interface SessionWorkerOptions {
  plan: Pick<SessionPlan, 'assign' | 'encoder' | 'settings' | 'media' | 'maxFileMb'>;
  workers: Pick<MediaWorkerPool, 'acquire'>;
  /** null: this host has no fallback port. */
  fallback: Pick<MediaFallback, 'register'> | null;
  clock: Clock;
  logger: Logger;
  link: Pick<SessionLink, 'metrics' | 'signaling'>;
  events: TraceEvents;
  resources: Pick<SessionResources, 'confine' | 'dirs' | 'userAndHomes'>;
  /** Aborts when the session starts to end. */
  ended: AbortSignal;
  apply(input: Extract<Input, { kind: 'worker_ready' | 'encoding' | 'presented' | 'failure' }>): void;
  /** @param count number of shown windows */
  onWindows(count: number): void;
  onViewer(connected: boolean): void;
  /** Called only if the session is recorded. @param records the records of the encoded stream */
  onRecords(records: Readable): void;
  /** Values that the session adds to the worker's metrics. */
  metrics(): Pick<SessionMetrics, 'app_launch_state' | 'idle_ends_in_s'>;
}

/**
 * The media worker of one session, with its IPC namespace, the relay of signaling, and size changes.
 *
 * begin() takes a worker from the pool. The worker is prepared when it is warm and the display answers. If the pool
 * returns a worker after the session's end, the worker is killed at once. Teardown: stop() requests the worker to stop,
 * end() waits for its exit and kills it after STOP_MS, and close() frees the namespace.
 */
export class SessionWorker {
  readonly #options: SessionWorkerOptions;
  readonly #relay: SignalingRelays;
  #worker: MediaWorker | null = null;
  /** null: the namespace is not open yet, or the agent's namespace is used. */
  #ipc: HeldNamespace | null = null;
  #changes: DisplayChanges | null = null;
  #captures: WorkerCaptures | null = null;
  #files: SessionFiles | null = null;
  #screenAndSound: ScreenAndSound | null = null;
  #displayAnswers = false;
  #isPrepared = false;
  #hasViewer = false;
  /** The newest list of guests; null: none was received. */
  #guests: Extract<ParentMessage, { type: 'guests' }> | null = null;

  constructor(options: SessionWorkerOptions) {
    this.#options = options;
    this.#relay = new SignalingRelays((message) => this.send(message));
  }

  /** null: no worker is assigned yet. */
  get process(): MediaWorker | null {
    return this.#worker;
  }

  /** Whether a viewer is connected. */
  get hasViewer(): boolean {
    return this.#hasViewer;
  }

  /** Command prefix that enters the session's IPC namespace; empty: the agent's namespace is used. */
  get enter(): readonly string[] {
    return this.#ipc?.enter ?? [];
  }

  /**
   * Takes a worker from the pool. Both promises resolve at the session's end at the latest, because a worker that
   * starts slowly must not delay the end.
   * @returns entered: resolves when the IPC namespace is open, or the session failed; adopted: resolves when the
   * worker's messages are handled
   */
  begin(): { entered: Promise<void>; adopted: Promise<void> } {
    const failed = (error: unknown) => this.#crashed(errorText(error));
    const ended = aborted(this.#options.ended);
    const acquired = this.#options.workers.acquire();
    const entered = acquired.then((worker) => this.#openNamespace(worker)).catch(failed);
    const adopted = acquired.then((worker) => worker.warm.then(() => this.#adopt(worker))).catch(failed);
    return { entered: Promise.race([entered, ended]), adopted: Promise.race([adopted, ended]) };
  }

  /** Called when the session's screen and sound run. The worker is prepared when the display answers. */
  useScreenAndSound(screenAndSound: ScreenAndSound): void {
    this.#screenAndSound = screenAndSound;
    const answered = () => {
      this.#displayAnswers = true;
      this.#prepare();
    };
    // Errors are ignored, because the session itself reports a display that fails.
    screenAndSound.display.answers.then(answered, () => undefined);
  }

  /** Sends a message to the worker; dropped if there is no worker. */
  send(message: ParentMessage): void {
    this.#worker?.send(message);
  }

  /** @throws when there is no worker, or when the worker reports a failure or does not answer within the limit */
  async capture(order: CaptureRequest, limitMs: number): Promise<Exclude<CaptureMade, { kind: 'failed' }>> {
    if (this.#captures === null) throw new Error('the session has no media worker');
    return this.#captures.make(order, limitMs);
  }

  deliver(frame: ControlSignaling): void {
    this.#relay.deliver(frame);
  }

  linkLost(): void {
    this.#relay.linkLost();
  }

  /** Sets who may use the session in addition to its owner. */
  setGuests({ version, guests }: Pick<SessionGuests, 'version' | 'guests'>): void {
    if (this.#guests !== null && version < this.#guests.version) return;
    this.#guests = { type: 'guests', version, guests };
    this.#relay.keepGuests(new Set(guests.map(({ id }) => id)));
    // Before the preparation, the worker has no session that could use the list.
    if (this.#isPrepared) this.send(this.#guests);
  }

  /** @returns null when the change is done; otherwise the reason of the failure, and the former sizes are restored */
  async changeDisplay(sizes: Omit<DisplayUpdate, 'type' | 'request'>): Promise<string | null> {
    return this.#changes === null ? 'the session does not run' : this.#changes.make(sizes);
  }

  stop(reason: Open<SessionEndReason>, graceMs: number): void {
    this.send({ type: 'stop', reason, grace_ms: graceMs });
  }

  /** Waits for the exit of a stopped worker. No effect without a worker. */
  async end(): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    const { clock } = this.#options;
    const stopped = new Promise<void>((resolve) => void worker.on('stopped', () => resolve()));
    await within(clock, STOP_MS, Promise.race([worker.exited, stopped]), null);
    await within(clock, EXIT_MS, worker.exited, undefined);
    worker.kill();
    await worker.exited;
    await this.closeFiles();
  }

  /** Ends file transfers, because another app or session will use the home. */
  async closeFiles(): Promise<void> {
    await this.#files?.close();
  }

  /** Frees the IPC namespace. */
  close(): void {
    this.#ipc?.close();
    this.#ipc = null;
  }

  get #isEnding(): boolean {
    return this.#options.ended.aborted;
  }

  /** Display and app use the worker's IPC namespace, so that all three can share System V objects. */
  #openNamespace(worker: MediaWorker): void {
    if (!this.#isEnding) this.#ipc = worker.openIpcNamespace();
  }

  #adopt(worker: MediaWorker): void {
    if (this.#isEnding) {
      worker.kill();
      return;
    }
    this.#worker = worker;
    const { clock, ended, plan, resources } = this.#options;
    resources.confine(worker.pid);
    const { recording } = worker;
    if (recording !== null && plan.assign.stream.recorder) this.#options.onRecords(recording);
    else recording?.destroy();
    this.#useFiles(worker);
    this.#changes = new DisplayChanges(worker, clock, Promise.race([worker.exited, aborted(ended)]));
    this.#captures = new WorkerCaptures(worker, clock);
    void worker.exited.then((exit) => this.#exited(exit));
    this.#follow(worker);
    this.#forward(worker);
    if (this.#options.fallback !== null) followFallback(worker, this.#options.fallback);
    this.#prepare();
  }

  #useFiles({ files }: MediaWorker): void {
    const { clock, resources } = this.#options;
    const maxFileMb = this.#maxFileMb;
    if (files === null || maxFileMb === null) {
      files?.destroy();
      return;
    }
    this.#files = new SessionFiles({
      worker: files,
      clock,
      confine: (pid) => resources.confine(pid),
      order: () => {
        const { userAndHomes } = resources;
        const { home, user } = userAndHomes;
        const [uid, gid, groups] = [user?.uid, user?.gid, [...(user?.groups ?? [])]];
        const owner = uid === undefined || gid === undefined ? null : { uid, gid, groups };
        if (home === null) return null;
        // Over a base, people see and change the same files as their app.
        const shown = userAndHomes.overlayAt(home) ?? home;
        return { home: shown, user: owner, max_bytes: maxFileMb * MIB };
      },
    });
  }

  /**
   * null: file transfers are disabled on this host, or the session has no home, or its home is a volume that the
   * agent's user cannot read.
   */
  get #maxFileMb(): number | null {
    const { home } = this.#options.plan.assign.app;
    return home === undefined || isHomeVolume(home.ref) ? null : this.#options.plan.maxFileMb;
  }

  /** Handles messages that change the session. */
  #follow(worker: MediaWorker): void {
    const { apply, onViewer, onWindows } = this.#options;
    worker.on('prepared', () => apply({ kind: 'worker_ready' }));
    worker.on('encoding', () => apply({ kind: 'encoding' }));
    worker.on('app_presented', ({ watch }) => {
      if (watch === 0) apply({ kind: 'presented' });
    });
    worker.on('windows', ({ count }) => onWindows(count));
    worker.on('viewer', ({ connected }) => {
      this.#hasViewer = connected;
      onViewer(connected);
    });
    worker.on('failure', ({ failure_code, error }) => apply({ kind: 'failure', failure_code, error }));
  }

  /** Forwards rate-limited messages to the control plane, the log and the input devices. */
  #forward(worker: MediaWorker): void {
    const { plan, link, events, clock, logger, metrics } = this.#options;
    const reports = new WorkerReports({ sessionId: plan.assign.session_id, link, events, clock, logger });
    void worker.exited.then(() => reports.close());
    worker.on('signal', (message) => reports.signal(message));
    worker.on('metrics', (message) => {
      if (!this.#isEnding) reports.metrics(message, metrics);
    });
    worker.on('event', (message) => reports.event(message));
    worker.on('log', (message) => reports.log(message, worker.pid));
    worker.on('input_device', ({ sysname }) => {
      if (reports.takeInputDevice()) this.#grantDevice(sysname);
    });
  }

  /** Called when the worker exists, and when the display answers; prepares the worker when both are true. */
  #prepare(): void {
    const screenAndSound = this.#screenAndSound;
    if (!screenAndSound || !this.#displayAnswers || !this.#worker || this.#isEnding) return;
    const { plan, resources } = this.#options;
    const { assign, encoder, settings, media } = plan;
    const { user } = resources.userAndHomes;
    this.#worker.send({
      type: 'prepare',
      session_id: assign.session_id,
      uid: user?.uid ?? null,
      gid: user?.gid ?? null,
      display: screenAndSound.display.name,
      xauthority: resources.dirs.xauthority,
      pulse_server: screenAndSound.audio?.server ?? null,
      scratch_dir: resources.dirs.scratch,
      stream: assign.stream,
      encodes: assign.video_topology !== 'local_only',
      reads_devices: screenAndSound.display.readsDevices,
      encoder,
      settings,
      media,
      files: this.#maxFileMb === null ? null : { max_mb: this.#maxFileMb },
      ...(assign.bench !== undefined && { bench: { live_write_probe: assign.bench.live_write_probe } }),
    });
    this.#isPrepared = true;
    if (this.#guests !== null) this.send(this.#guests);
    // Viewers get their offer while the worker is still preparing.
    this.#relay.open();
  }

  #grantDevice(sysname: string): void {
    const { clock, logger, plan, resources } = this.#options;
    const { user } = resources.userAndHomes;
    if (user === null || this.#isEnding) return;
    const { session_id } = plan.assign;
    const nodes = grantDevice(sysname, session_id, user.uid);
    logger.info({ nodes, device: sysname }, 'session.input_device');
    if (nodes.length === 0) return;
    clock.setTimeout(() => {
      if (!this.#isEnding) grantDevice(sysname, session_id, user.uid);
    }, GRANT_AGAIN_MS);
  }

  /**
   * When the display is lost, Xlib ends its process. Then the display is the cause, and the display server exits within
   * a moment.
   */
  async #exited({ code, signal }: WorkerExit): Promise<void> {
    if (this.#isEnding) return;
    const display = this.#screenAndSound?.display;
    if (display && (code === XLIB_EXIT_CODE || signal === 'SIGABRT')) {
      const gone = display.exited.then(() =>
        this.#options.apply({
          kind: 'failure',
          failure_code: 'display_failed',
          error: 'the display server ended',
        }),
      );
      await within(this.#options.clock, DISPLAY_EXIT_MS, gone, undefined);
    }
    this.#crashed(`the media worker ended with ${signal ?? `status ${code}`}`);
  }

  #crashed(error: string): void {
    this.#options.apply({ kind: 'failure', failure_code: 'media_worker_crashed', error });
  }
}
