import { join } from 'node:path';
import type { Clock, Logger, Timer } from '@footlight/platform';
import { errorText } from '@footlight/platform';
import type { AppSpec, SessionSwapApp } from '@footlight/protocol/agent';
import type { AudioServer } from '../../display/audio-server.ts';
import type { Display } from '../../display/xvfb.ts';
import type { CommandAnswer } from '../../link/ack-store.ts';
import type { AppNetwork } from '../../runtime/network/app-network.ts';
import { type AppGpu, LaunchError, type RunningApp, type Runtime } from '../../runtime/runtime.ts';
import type { UserAndHomes } from '../home/user-and-homes.ts';
import { aborted } from '../life/aborted.ts';
import type { Input } from '../life/state.ts';
import type { TraceEvents } from '../reports/trace-events.ts';
import { makeScratchHome } from '../resources/record.ts';
import type { SessionResources } from '../resources/session-resources.ts';
import { swapApps } from '../swap/app-swap.ts';
import type { SessionWorker } from '../worker/session-worker.ts';
import { DaemonWatch } from './daemon-watch.ts';
import { sandboxHint } from './sandbox-hint.ts';

/** The display and the sound server that an app uses. */
interface AppOutput {
  display: Pick<Display, 'answers' | 'name' | 'socket'>;
  /** null: the session has no sound. */
  audio: Pick<AudioServer, 'server'> | null;
}

/** Dependencies of a session's app. */
export interface SessionAppDeps {
  sessionId: string;
  clock: Clock;
  logger: Logger;
  runtime: Runtime;
  gpu: AppGpu;
  resources: Pick<SessionResources, 'dirs' | 'writeRecord'> & {
    userAndHomes: Pick<
      UserAndHomes,
      'dropNext' | 'home' | 'homeRef' | 'moveToNext' | 'overlayAt' | 'takeNext' | 'user'
    >;
  };
  events: Pick<TraceEvents, 'send'>;
  /** Aborts when the session starts to end. */
  ended: AbortSignal;
  /** Time limit for an app to draw; 0: no limit. */
  bootTimeoutSecs: number;
  worker: Pick<SessionWorker, 'process' | 'enter' | 'closeFiles'>;
  apply(input: Extract<Input, { kind: 'presented' | 'app_exited' | 'boot_timeout' | 'failure' }>): void;
  /** @param error null: the swap succeeded */
  reportSwap(appId: string, error: string | null): void;
}

/**
 * The app of one session: the app of the launch, or the app that replaced it.
 *
 * When the running app ends, the session ends. During a swap, an app's exit does not end the session: `swapApps`
 * decides the result, and the app that remains becomes the session's app.
 */
export class SessionApp {
  readonly #deps: SessionAppDeps;
  #screenAndSound: AppOutput | null = null;
  #running: RunningApp | null = null;
  #launch: Promise<void> = Promise.resolve();
  /** Resolves at the first app's launch. Rejects if the session ends before the launch. */
  readonly #released: Promise<void>;
  #release: () => void = () => undefined;
  /** The start of the first app; the app waits for `#released`. null: it is not prepared. */
  #first: Promise<RunningApp> | null = null;
  /** Spec of the running app. */
  #spec: AppSpec;
  /** Catalog id of the running app. */
  #appId: string;
  readonly #environmentValues: Set<string>;
  /** HOME of the running app if it has no saved home. */
  #scratchHome: string;
  #hasDrawn = false;
  /** Number of started apps, used in their names. */
  #starts = 0;
  /** Network of the first app until its start. */
  #network: Promise<AppNetwork | null> | null = null;
  /** The running swap; null: no swap is running. */
  #swap: { appId: string; over: Promise<void> } | null = null;
  /** Number of started swaps. */
  #swaps = 0;
  /** Number of watches for first windows; the first watch has number 0. */
  #watches = 0;
  #bootTimer: Timer | null = null;
  readonly #daemonWatch: DaemonWatch;

  constructor(appId: string, spec: AppSpec, deps: SessionAppDeps) {
    this.#deps = deps;
    this.#appId = appId;
    this.#spec = spec;
    this.#environmentValues = new Set(Object.values(spec.env));
    this.#scratchHome = deps.resources.dirs.home;
    this.#daemonWatch = new DaemonWatch(deps.clock, () => {
      if (this.#swap === null) this.#exited(this.#running, 0);
    });
    const close = () => {
      this.#bootTimer?.cancel();
      this.#daemonWatch.close();
    };
    deps.ended.addEventListener('abort', close, { once: true });
    const released = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    const ended = aborted(deps.ended).then(() => Promise.reject(new Error('the session ended')));
    this.#released = Promise.race([released, ended]);
    // Prevents an unhandled rejection if no app waits.
    this.#released.catch(() => undefined);
  }

  get appId(): string {
    return this.#appId;
  }

  /** The tile's title, if the app is a tile. */
  get tile(): AppSpec['tile'] {
    return this.#spec.tile;
  }

  /** Prepares the first app while screen and sound start. Returns at once. */
  prepare(): void {
    this.#network = this.#openNetwork(this.#spec);
    // Prevents an unhandled rejection. The rejection is handled at the launch or at the session's end.
    this.#network.catch(() => undefined);
  }

  /**
   * Prepares the first app's sandbox. Called when the home is open and the display listens; sound and window manager
   * may still start. Returns at once.
   */
  prepareOn(output: AppOutput): void {
    if (this.#deps.ended.aborted) return;
    this.#first = this.#startFirst(output);
    // Prevents an unhandled rejection. The rejection is handled at the launch or at the session's end.
    this.#first.catch(() => undefined);
  }

  /** Starts the first app. Returns at once. */
  launch(screenAndSound: AppOutput): void {
    this.#screenAndSound = screenAndSound;
    this.#release();
    this.#launch = this.#launchOn(screenAndSound);
  }

  /** Called when the app has drawn its first window. */
  drawn(): void {
    this.#hasDrawn = true;
    this.#bootTimer?.cancel();
    this.#daemonWatch.note({ drawn: true });
  }

  /** Number of shown windows. */
  set windows(count: number) {
    this.#daemonWatch.windows = count;
  }

  /** Starts a swap in a running session. A repeated command for the same swap has no second effect. */
  change({ app_id, app }: Pick<SessionSwapApp, 'app_id' | 'app'>): CommandAnswer {
    if (this.#swap !== null && this.#swap.appId !== app_id)
      return { ok: false, code: 'busy', error: 'the app of the session is being changed' };
    if (this.#swap === null && app_id === this.#appId) this.#deps.reportSwap(app_id, null);
    else {
      for (const value of Object.values(app.env)) this.#environmentValues.add(value);
      this.#swap ??= { appId: app_id, over: this.#changeOrFail(app_id, app) };
    }
    return { ok: true };
  }

  /** Ends all running apps. Called when the session ends. */
  async end(graceMs: number): Promise<void> {
    await Promise.all([this.#launch, this.#first?.catch(() => undefined)]);
    await Promise.all([this.#stopRunning(graceMs), this.#swap?.over]);
    // Stops again, because a swap that has just finished may have left another app.
    await this.#stopRunning(graceMs);
    const unused = await this.#network?.catch(() => null);
    this.#network = null;
    await unused?.close();
  }

  /** Last lines of the app's output, see RunningApp; "": no output. */
  logTail(lines?: number, maxBytes?: number): string {
    return this.#running?.logTail(lines, maxBytes) ?? '';
  }

  /** Values of the environment variables of all apps of the session, including former apps. */
  get environmentValues(): readonly string[] {
    return [...this.#environmentValues];
  }

  /** Stops the running app. Never throws: the session's cleanup kills processes that do not end. */
  async #stopRunning(graceMs: number): Promise<void> {
    try {
      await this.#running?.stop(graceMs);
    } catch (error) {
      this.#deps.logger.error({ error: errorText(error) }, 'app.not_ended');
    }
  }

  async #launchOn(screenAndSound: AppOutput): Promise<void> {
    this.#onceDisplayAnswers(() => this.#armBootTimer());
    try {
      this.#adopt(await (this.#first ?? this.#startFirst(screenAndSound)), this.#hasDrawn);
    } catch (problem) {
      const error = errorText(problem);
      const failure_code = problem instanceof LaunchError ? problem.code : 'app_exited_early';
      this.#onceDisplayAnswers(() => this.#deps.apply({ kind: 'failure', failure_code, error }));
    }
  }

  /**
   * Calls `run` when the display answers. The first app starts while the display server still starts. If the server
   * fails, the app ends too, and `run` is not called. So the session reports the server's failure, even if the app's
   * end was detected first.
   */
  #onceDisplayAnswers(run: () => void): void {
    const runUnlessEnded = () => {
      if (!this.#deps.ended.aborted) run();
    };
    this.#screenAndSound?.display.answers.then(runUnlessEnded, () => undefined);
  }

  #armBootTimer(): void {
    const { bootTimeoutSecs, clock } = this.#deps;
    if (bootTimeoutSecs === 0) return;
    this.#bootTimer = clock.setTimeout(
      () => this.#deps.apply({ kind: 'boot_timeout', afterSecs: bootTimeoutSecs }),
      bootTimeoutSecs * 1000,
    );
  }

  async #openNetwork(spec: AppSpec): Promise<AppNetwork | null> {
    const { logger, runtime } = this.#deps;
    const network = await runtime.openNetwork(spec);
    if (network === null) return null;
    if (network.problem !== null) logger.warn({ error: network.problem }, 'app.network_closed');
    return network;
  }

  #startFirst(output: AppOutput): Promise<RunningApp> {
    const home = this.#deps.resources.userAndHomes.home ?? this.#scratchHome;
    return this.#start(output, this.#spec, home, this.#released);
  }

  /** Starts an app. @throws when it cannot be started */
  async #start(
    screenAndSound: AppOutput,
    spec: AppSpec,
    home: string,
    ready = Promise.resolve(),
  ): Promise<RunningApp> {
    const { sessionId, runtime, resources, worker, gpu } = this.#deps;
    const { dirs, userAndHomes } = resources;
    const prepared = this.#network;
    this.#network = null;
    const network = await (prepared ?? this.#openNetwork(spec));
    this.#starts += 1;
    const app = await runtime.start(spec, {
      sessionId,
      instance: this.#starts === 1 ? sessionId : `${this.#starts}-${sessionId}`,
      user: userAndHomes.user,
      dirs,
      enter: worker.enter,
      home,
      overlay: userAndHomes.overlayAt(home),
      display: screenAndSound.display.name,
      displaySocket: screenAndSound.display.socket,
      pulseServer: screenAndSound.audio?.server ?? null,
      network,
      gpu,
      ready,
    });
    if (network !== null) this.#reportLostNetwork(network, app);
    return app;
  }

  /** Logs when the network ends before its app; the app then continues without a network. */
  #reportLostNetwork(network: AppNetwork, app: RunningApp): void {
    let isOver = false;
    void app.exited.then(() => {
      isOver = true;
    });
    void network.exited.then(() => {
      if (!isOver && !this.#deps.ended.aborted) this.#deps.logger.error({}, 'app.network_lost');
    });
  }

  /**
   * Makes this app the session's app: when it ends, the session ends. During a swap, the exit of the old app is
   * ignored.
   * @param drawn whether the app has shown a window
   */
  #adopt(app: RunningApp, drawn: boolean): void {
    this.#running = app;
    this.#daemonWatch.note({ handedOver: false, drawn });
    void app.exited.then(({ status }) => this.#onceDisplayAnswers(() => this.#exited(app, status)));
    void app.handedOver.then(() => {
      if (this.#running === app && !this.#deps.ended.aborted) this.#daemonWatch.note({ handedOver: true });
    });
  }

  #exited(app: RunningApp | null, status: number | null): void {
    if (this.#running !== app || this.#deps.ended.aborted) return;
    if (this.#swap === null) {
      const hint = app === null ? undefined : sandboxHint(this.#spec, app.logTail());
      this.#deps.apply({ kind: 'app_exited', status, hint });
    } else this.#deps.events.send('app.exited', { status, policy: 'keep' });
  }

  async #changeOrFail(appId: string, spec: AppSpec): Promise<void> {
    try {
      await this.#changeTo(appId, spec);
    } catch (error) {
      this.#deps.apply({ kind: 'failure', failure_code: 'app_crashed', error: errorText(error) });
    }
  }

  /** Swaps to another app. After a failure, the old app stays, or the session ends. */
  async #changeTo(appId: string, spec: AppSpec): Promise<void> {
    // The session may be running while its first app is still being started.
    await this.#launch;
    const screenAndSound = this.#screenAndSound;
    const old = this.#running;
    if (!screenAndSound || !old) {
      this.#swap = null;
      this.#deps.reportSwap(appId, 'the session has no running app');
      return;
    }
    const { clock, ended, events, logger, resources, runtime } = this.#deps;
    const { dirs, userAndHomes } = resources;
    const from = { app: this.#appId, spec: this.#spec, home: userAndHomes.home ?? this.#scratchHome };
    const nextHome = spec.home;
    const sharedHome = nextHome !== undefined && nextHome.ref === userAndHomes.homeRef;
    this.#swaps += 1;
    const scratchHome = join(dirs.scratch, `home-${this.#swaps}`);
    let newHome = scratchHome;
    this.#bootTimer?.cancel();
    let drawnAgain: Promise<void> | null = null;
    const outcome = await swapApps({
      clock,
      ended,
      old,
      sharedHome,
      bootTimeoutMs: this.#deps.bootTimeoutSecs * 1000,
      prepare: async () => {
        await runtime.fetch(spec, { ended, onPercent: () => undefined });
        if (ended.aborted) return;
        if (nextHome === undefined) await makeScratchHome(scratchHome, userAndHomes.user);
        else if (sharedHome) newHome = from.home;
        else {
          const next = { image: spec.image, home: nextHome };
          newHome = await userAndHomes.takeNext(next, ended, () => resources.writeRecord());
        }
      },
      watch: () => this.#watchForWindow(),
      startNew: () => this.#start(screenAndSound, spec, newHome),
      hint: (next) => sandboxHint(spec, next.logTail()),
      startOld: async () => {
        drawnAgain = (await this.#watchForWindow()).drawn;
        return this.#start(screenAndSound, from.spec, from.home);
      },
    });
    // Returns, because the session's teardown releases both homes.
    if (outcome.kind === 'ended') return;
    if (outcome.kind === 'lost') {
      this.#swap = null;
      this.#deps.apply({ kind: 'failure', failure_code: 'app_crashed', error: outcome.error });
      return;
    }
    if (!ended.aborted) await this.#settleHomes(outcome.kind === 'complete' && !sharedHome);
    // The session was ended during the swap, so all its apps must end.
    if (ended.aborted) {
      this.#running = outcome.app;
      return;
    }
    this.#swap = null;
    const { app } = outcome;
    this.#adopt(app, outcome.kind === 'complete' || (this.#hasDrawn && app === old));
    void (drawnAgain as Promise<void> | null)?.then(() => {
      if (this.#running === app) this.#daemonWatch.note({ drawn: true });
    });
    if (outcome.kind === 'rolled_back') {
      logger.info({ app_id: appId, error: outcome.error }, 'swap.rolled_back');
      if (!this.#hasDrawn) this.#watchOldAppAgain();
      this.#deps.reportSwap(appId, outcome.error);
      return;
    }
    this.#spec = spec;
    this.#appId = appId;
    this.#scratchHome = scratchHome;
    this.#deps.apply({ kind: 'presented' });
    events.send('pipeline.source_swapped', { from_app: from.app, to_app: appId });
    this.#deps.reportSwap(appId, null);
  }

  /** @param moved whether the new app keeps its home; if not, the home that was locked for the new app is released */
  async #settleHomes(moved: boolean): Promise<void> {
    const { logger, resources } = this.#deps;
    const { userAndHomes } = resources;
    try {
      if (moved) await this.#deps.worker.closeFiles();
      await (moved ? userAndHomes.moveToNext() : userAndHomes.dropNext());
      await resources.writeRecord();
    } catch (error) {
      logger.error({ error: errorText(error) }, 'swap.home_not_given_back');
    }
  }

  /** Called before an app starts: watches for its first window. Resolves when the worker watches new windows */
  async #watchForWindow(): Promise<{ drawn: Promise<void> }> {
    const worker = this.#deps.worker.process;
    if (!worker) throw new Error('the media worker is gone');
    this.#watches += 1;
    const number = this.#watches;
    const offs: (() => void)[] = [];
    const drawn = new Promise<void>((resolve) => {
      offs.push(worker.on('app_presented', ({ watch }) => watch === number && resolve()));
    });
    const watching = new Promise<void>((resolve) => {
      offs.push(worker.on('watching', ({ watch }) => watch === number && resolve()));
    });
    void Promise.race([drawn, worker.exited]).then(() => {
      for (const off of offs) off();
    });
    worker.send({ type: 'watch_app', watch: number, only_new: true });
    await Promise.race([watching, aborted(this.#deps.ended)]);
    return { drawn };
  }

  /** Watches for the old app's window again, because the old app had not drawn before the swap. */
  #watchOldAppAgain(): void {
    this.#deps.worker.process?.send({ type: 'watch_app', watch: 0, only_new: false });
    this.#armBootTimer();
  }
}
