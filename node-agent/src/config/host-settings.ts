import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@footlight/platform';
import { errorText } from '@footlight/platform';
import { HOST_SETTINGS, type HostSetting, type SettingValue } from '@footlight/protocol/agent';
import { writeDurably } from '../link/identity.ts';
import { overlaySettings, rateModeInForce, settingBaseline } from './setting-values.ts';

type Overrides = Readonly<Record<string, unknown>>;

/**
 * Current host settings: overrides of the control plane take precedence over the environment, and the environment over
 * the catalog's defaults. Each config_update changes the live settings for sessions that start later. Restart settings
 * are fixed at the agent's start, before the control plane's first message. Therefore the overrides are stored in
 * settings.json.
 *
 * Owner of that file; writes are serialized, and `saved` resolves when no write is running.
 */
export class HostSettings {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #environment: Record<string, SettingValue>;
  readonly #baseline: ReadonlyMap<string, SettingValue>;
  readonly #latched: ReadonlyMap<string, SettingValue>;
  #overrides: Overrides;
  #values: ReadonlyMap<string, SettingValue>;
  #rejected: string[];
  #notKept: string | null = null;
  #saving: Promise<void> = Promise.resolve();

  private constructor(
    stateDir: string,
    environment: Record<string, SettingValue>,
    kept: Overrides,
    logger: Logger,
  ) {
    this.#file = fileIn(stateDir);
    this.#logger = logger;
    this.#environment = environment;
    this.#overrides = kept;
    this.#baseline = settingBaseline(environment);
    const { values, rejected } = overlaySettings(this.#baseline, kept);
    this.#latched = values;
    this.#values = values;
    this.#rejected = rejected;
  }

  /** @param environment settings from the environment */
  static async open(
    stateDir: string,
    environment: Record<string, SettingValue>,
    logger: Logger,
  ): Promise<HostSettings> {
    return new HostSettings(stateDir, environment, await readKept(stateDir, logger), logger);
  }

  get values(): ReadonlyMap<string, SettingValue> {
    return this.#values;
  }

  /** Settings for a session that is launched now. */
  get forSessions(): Record<string, SettingValue> {
    const abr_mode = rateModeInForce(this.#values, this.#environment, this.#overrides);
    return {
      ...Object.fromEntries(HOST_SETTINGS.map((setting) => [setting.key, this.#inForce(setting)])),
      abr_mode,
    };
  }

  /** Value of a restart setting, as read at the agent's start. */
  latched(key: 'encoder' | 'render_node' | 'cuda_device'): SettingValue {
    return this.#latched.get(key) as SettingValue;
  }

  /** Current values as texts. A restart setting has the value that was read at the agent's start. */
  get effective(): Record<string, string> {
    return Object.fromEntries(
      HOST_SETTINGS.map((setting) => {
        const value = this.#inForce(setting);
        return [setting.key, value === null ? '' : String(value)];
      }),
    );
  }

  /** Messages about overrides that are rejected or could not be stored. */
  get problems(): string[] {
    return [...this.#rejected, ...(this.#notKept === null ? [] : [this.#notKept])];
  }

  /** Keys of restart settings whose new value applies only after a restart. */
  get awaitingRestart(): string[] {
    return HOST_SETTINGS.filter(
      ({ key, class: kind }) => kind === 'restart' && this.#values.get(key) !== this.#latched.get(key),
    ).map(({ key }) => key);
  }

  /**
   * Replaces the overrides. A setting without an override falls back to the environment or its default. Resolves when
   * the overrides are stored.
   */
  apply(overrides: Overrides): Promise<void> {
    const { values, rejected } = overlaySettings(this.#baseline, overrides);
    this.#overrides = overrides;
    this.#values = values;
    this.#rejected = rejected;
    this.#saving = this.#saving.then(() => this.#save(overrides));
    return this.#saving;
  }

  /** Resolves when no write to settings.json is running. */
  get saved(): Promise<void> {
    return this.#saving;
  }

  /** Restart settings keep the value from the agent's start, because the encoders were tested with that value. */
  #inForce({ key, class: kind }: HostSetting): SettingValue {
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

/**
 * Overrides that the last agent process stored. An unusable file counts as missing; the next config_update rewrites it.
 */
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
