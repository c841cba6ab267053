import type { AppExit, RunningApp } from '../runtime/runtime.ts';

/** A fake app that ends when it is stopped, or when the test ends it. */
export class FakeApp implements RunningApp {
  readonly exited: Promise<AppExit>;
  readonly handedOver: Promise<void>;
  handOver: () => void = () => undefined;
  /** Output of the app. */
  log = '';
  /** Number of stops. */
  stops = 0;
  /** Called at each stop. If it throws, the stop fails and the app does not end. */
  onStop: (wasRunning: boolean) => void;
  #exit: (exit: AppExit) => void = () => undefined;
  #isRunning = true;

  constructor(onStop: (wasRunning: boolean) => void = () => undefined) {
    this.onStop = onStop;
    this.exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
    this.handedOver = new Promise((resolve) => {
      this.handOver = resolve;
    });
  }

  /** Ends the app. @param status null: a signal ended it */
  exit(status: number | null): void {
    this.#isRunning = false;
    this.#exit({ status });
  }

  logTail(): string {
    return this.log;
  }

  async stop(): Promise<void> {
    this.stops += 1;
    this.onStop(this.#isRunning);
    this.exit(0);
    await this.exited;
  }
}
