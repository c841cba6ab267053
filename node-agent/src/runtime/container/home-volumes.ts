import { EngineError } from './engine/engine.ts';
import type { EngineHost } from './engine/engine-host.ts';
import { isHomeVolume } from './engine/engine-names.ts';

const HOME_LABEL = 'footlight.home';

/** Homes that are volumes of the container engine. */
export class HomeVolumes {
  readonly #host: Pick<EngineHost, 'engine' | 'agentId'>;

  constructor(host: Pick<EngineHost, 'engine' | 'agentId'>) {
    this.#host = host;
  }

  /**
   * Creates the volume, or finds the existing one.
   * @returns the volume's directory on this host.
   * @throws when the ref is not a home's volume, or no engine is available
   */
  async make(ref: string): Promise<string> {
    const engine = await this.#engineFor(ref);
    return engine.volume(ref, { [HOME_LABEL]: this.#host.agentId });
  }

  /**
   * Removes the volume with all files in it.
   * @returns in_use: a container has it mounted, and nothing was removed
   * @throws when the ref is not a home's volume, no engine is available, or the engine does not answer
   */
  async remove(ref: string): Promise<'removed' | 'absent' | 'in_use'> {
    const engine = await this.#engineFor(ref);
    try {
      return (await engine.removeVolume(ref)) ? 'removed' : 'absent';
    } catch (error) {
      if (error instanceof EngineError && error.status === 409) return 'in_use';
      throw error;
    }
  }

  async #engineFor(ref: string) {
    if (!isHomeVolume(ref)) throw new Error(`${ref} is no volume of a home`);
    return this.#host.engine();
  }
}
