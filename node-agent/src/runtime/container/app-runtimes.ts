import type { AppSpec } from '@footlight/protocol/agent';
import type { AppNetwork } from '../network/app-network.ts';
import type { AppContext, FetchOptions, RunningApp, Runtime } from '../runtime.ts';

/** Runs an app with an image in a container, and any other app as a process of this host. */
export class AppRuntimes implements Runtime {
  readonly #process: Runtime;
  readonly #container: Runtime;

  constructor(runtimes: { process: Runtime; container: Runtime }) {
    this.#process = runtimes.process;
    this.#container = runtimes.container;
  }

  fetch(app: AppSpec, options: FetchOptions): Promise<void> {
    return this.#of(app).fetch(app, options);
  }

  openNetwork(app: AppSpec): Promise<AppNetwork | null> {
    return this.#of(app).openNetwork(app);
  }

  start(app: AppSpec, context: AppContext): Promise<RunningApp> {
    return this.#of(app).start(app, context);
  }

  #of({ image }: AppSpec): Runtime {
    return image === '' ? this.#process : this.#container;
  }
}
