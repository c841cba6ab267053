import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@footlight/platform';
import { errorText } from '@footlight/platform';
import { KNOBS, type Knob, type KnobValue } from '@footlight/protocol/agent';
import { writeDurably } from '../link/identity.ts';
import { knobBaseline, overlayKnobs, rateModeInForce } from './knobs.ts';

type Overrides = Readonly<Record<string, unknown>>;

/**
 * The host settings in force: the overrides of the control plane over the environment over the defaults of the
 * catalog. Those of class live follow every config_update, for sessions that start later. Those of class restart are
 * latched when the agent starts, and the control plane speaks only later; so the overrides are kept in settings.json.
 *
 * Owner of that file; writes are in order, and `saved` tells when none is under way.
 */
export class HostSettings {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #environment: Record<string, KnobValue>;
  readonly #baseline: ReadonlyMap<string, KnobValue>;
  readonly #latched: ReadonlyMap<string, KnobValue>;
  #overrides: Overrides;
  #values: ReadonlyMap<string, KnobValue>;
  #rejected: string[];
  #notKept: string | null = null;
  #saving: Promise<void> = Promise.resolve();

  private constructor(
    stateDir: string,
    environment: Record<string, KnobValue>,
    kept: Overrides,
    logger: Logger,
  ) {
    this.#file = fileIn(stateDir);
    this.#logger = logger;
    this.#environment = environment;
    this.#overrides = kept;
    this.#baseline = knobBaseline(environment);
    const { values, rejected } = overlayKnobs(this.#baseline, kept);
    this.#latched = values;
    this.#values = values;
    this.#rejected = rejected;
  }

  /** @param environment knobs that the environment sets */
  static async open(
    stateDir: string,
    environment: Record<string, KnobValue>,
    logger: Logger,
  ): Promise<HostSettings> {
    return new HostSettings(stateDir, environment, await readKept(stateDir, logger), logger);
  }

  get values(): ReadonlyMap<string, KnobValue> {
    return this.#values;
  }

  /** What a session that is launched now gets. */
  get forSessions(): Record<string, KnobValue> {
    const abr_mode = rateModeInForce(this.#values, this.#environment, this.#overrides);
    return { ...Object.fromEntries(KNOBS.map((knob) => [knob.key, this.#inForce(knob)])), abr_mode };
  }

  /** A setting of class restart, as it was when the agent started. */
  latched(key: 'encoder' | 'render_node' | 'cuda_device'): KnobValue {
    return this.#latched.get(key) as KnobValue;
  }

  /** What is in force, as texts; restart ones as latched. */
  get effective(): Record<string, string> {
    return Object.fromEntries(
      KNOBS.map((knob) => {
        const value = this.#inForce(knob);
        return [knob.key, value === null ? '' : String(value)];
      }),
    );
  }

  /** Sentences about overrides that are not in force. */
  get problems(): string[] {
    return [...this.#rejected, ...(this.#notKept === null ? [] : [this.#notKept])];
  }

  /** Settings of class restart that wait for one. */
  get awaitingRestart(): string[] {
    return KNOBS.filter(
      ({ key, class: kind }) => kind === 'restart' && this.#values.get(key) !== this.#latched.get(key),
    ).map(({ key }) => key);
  }

  /** Replaces the overrides; what they leave out falls back. Resolves once they are kept. */
  apply(overrides: Overrides): Promise<void> {
    const { values, rejected } = overlayKnobs(this.#baseline, overrides);
    this.#overrides = overrides;
    this.#values = values;
    this.#rejected = rejected;
    this.#saving = this.#saving.then(() => this.#save(overrides));
    return this.#saving;
  }

  /** Resolves when no write is under way. */
  get saved(): Promise<void> {
    return this.#saving;
  }

  /** Encoders are proved at the start, so a session gets what was latched then. */
  #inForce({ key, class: kind }: Knob): KnobValue {
    return (kind === 'restart' ? this.#latched : this.#values).get(key) ?? null;
  }

  async #save(overrides: Overrides): Promise<void> {
    try {
      await writeDurably(this.#file, `${JSON.stringify({ overrides })}\n`);
      this.#notKept = null;
    } catch (error) {
      this.#notKept = `The settings of this host cannot be kept (${errorText(error, 200)}): those that need a restart will not be in force after it`;
      this.#logger.error({ error: errorText(error) }, 'settings.not_kept');
    }
  }
}

/** What the last agent process was told. A file that cannot be used counts as none: it is written again on connecting. */
async function readKept(stateDir: string, logger: Logger): Promise<Overrides> {
  try {
    const kept = JSON.parse(await readFile(fileIn(stateDir), 'utf8')) as { overrides?: unknown } | null;
    if (typeof kept?.overrides === 'object' && kept.overrides !== null) return kept.overrides as Overrides;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    logger.warn({ error: errorText(error) }, 'settings.unreadable');
  }
  return {};
}

function fileIn(stateDir: string): string {
  return join(stateDir, 'settings.json');
}
