import { errorText } from '@footlight/platform';
import type { RefusalCode } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import { notPinned } from './container-runtime.ts';
import type { EngineHost } from './engine/engine-host.ts';
import { isPinned } from './image-pulls.ts';
import { MountRefused, type MountRules } from './mount-policy.ts';
import { resolveMounts } from './mounts.ts';

/** Host-dependent checks of an app with an image: its mounts, and whether the engine has the image. */
export class ContainerAdmission {
  readonly #host: EngineHost;
  readonly #rules: () => MountRules;

  constructor(host: EngineHost, rules: () => MountRules) {
    this.#host = host;
    this.#rules = rules;
  }

  /** Searches for an engine if none is known. @returns null: the app is accepted, or runs as a process */
  async refusal(app: AppSpec): Promise<{ code: RefusalCode; error: string } | null> {
    if (app.image === '') return null;
    try {
      await resolveMounts(app.mounts, this.#rules());
    } catch (error) {
      if (!(error instanceof MountRefused)) throw error;
      return { code: 'policy', error: error.message };
    }
    try {
      const engine = await this.#host.engine();
      if (isPinned(app.image) || (await engine.image(app.image)) !== null) return null;
      return { code: 'image_missing', error: notPinned(app.image) };
    } catch (error) {
      return { code: 'image_missing', error: `${app.image}: ${errorText(error, 300)}` };
    }
  }
}
