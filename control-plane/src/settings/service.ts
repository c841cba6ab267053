import type { InstanceSettings, SettingsPatch } from '@footlight/protocol/rest';
import type { Caller } from '../platform/http/message/contract.ts';
import type { Platform } from '../platform/platform.ts';
import { type SettingsInForce, toColumns, toRecord, toSettingsInForce } from './record.ts';
import { loadAllowedOrigins, loadSettings, seedSettings, updateSettings } from './store.ts';

/** How long a read may be old where a stale one does no harm. */
const MAX_STALE_MS = 2_000;

/** The list of origins in force and where it comes from. */
export interface OriginsInForce {
  source: 'environment' | 'database';
  allowed: readonly string[];
}

export interface Settings {
  /** Writes what the environment seeds, at the first boot only. */
  seed(): Promise<void>;
  /** The stored settings, as administrators see them. */
  read(): Promise<InstanceSettings>;
  /**
   * Changes what the patch names, all of it or nothing. In force here at once and in other processes within 2 s.
   * @throws ApiError validation_failed, with the 1-based position of an entry that is no origin
   */
  update(actor: Caller, patch: SettingsPatch): Promise<InstanceSettings>;
  /** Settings, at most 2 s old. */
  current(): Promise<SettingsInForce>;
  /** The list in force, at most 2 s old. Never rejects: a list that cannot be read is an empty one. */
  originsInForce(): Promise<OriginsInForce>;
}

/** The settings of the instance: one row, read often and written rarely. */
export function createSettings(platform: Platform): Settings {
  const { activity, clock, config, database, logger } = platform;
  const row = cached(clock, async () => toSettingsInForce(await loadSettings(database.db)));
  const storedOrigins = cached(clock, () => loadAllowedOrigins(database.db));

  return {
    async seed() {
      await seedSettings(
        database.db,
        {
          registration_mode: config.accounts.registrationMode,
          storage_provider: config.settings.storageProvider,
        },
        clock.nowMs(),
      );
    },
    async read() {
      return toRecord(await loadSettings(database.db));
    },
    async update(actor, patch) {
      const columns = toColumns(patch);
      const keys = Object.keys(columns).sort();
      if (keys.length === 0) return toRecord(await loadSettings(database.db));
      const change = { updated_by: actor.userId, updated_at: clock.nowMs() };
      const updated = await updateSettings(database.db, columns, change);
      row.forget();
      storedOrigins.forget();
      await activity.record({
        actorUserId: actor.userId,
        action: 'instance.settings.updated',
        targetType: 'instance',
        targetId: 'instance_settings',
        details: { keys },
      });
      return toRecord(updated);
    },
    current: row.read,
    async originsInForce() {
      const pinned = config.settings.allowedOrigins;
      if (pinned !== null) return { source: 'environment', allowed: pinned };
      try {
        return { source: 'database', allowed: await storedOrigins.read() };
      } catch (error) {
        logger.warn({ err: error }, 'settings.origins_unreadable');
        return { source: 'database', allowed: [] };
      }
    },
  };
}

interface Cached<T> {
  read(): Promise<T>;
  /** The next read goes to the database. */
  forget(): void;
}

/** One shared read at a time, kept for MAX_STALE_MS counted from its start. A failed read is not kept. */
function cached<T>(clock: Platform['clock'], load: () => Promise<T>): Cached<T> {
  let latest: { value: Promise<T>; startedMs: number } | null = null;
  return {
    read() {
      const nowMs = clock.monotonicMs();
      if (latest !== null && nowMs - latest.startedMs < MAX_STALE_MS) return latest.value;
      const read = { value: load(), startedMs: nowMs };
      latest = read;
      read.value.catch(() => {
        if (latest === read) latest = null;
      });
      return read.value;
    },
    forget() {
      latest = null;
    },
  };
}
