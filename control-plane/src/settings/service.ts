import type { InstanceSettings, SettingsPatch } from '@footlight/protocol/rest';
import type { Tx } from '../platform/database/index.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import type { Platform } from '../platform/platform.ts';
import { type SettingsInForce, toColumns, toRecord, toSettingsInForce } from './record.ts';
import { loadAllowedOrigins, loadSettings, lockSettings, seedSettings, updateSettings } from './store.ts';
import { INSTANCE, settingsSubjects } from './subjects.ts';

/** Maximum age of cached settings. */
const MAX_STALE_MS = 2_000;

/** The current list of origins with its source. */
export interface OriginsInForce {
  source: 'environment' | 'database';
  allowed: readonly string[];
}

/** A feature that reacts to changes of settings. */
export interface SettingsFollower {
  /** Runs in the transaction of the change. */
  changing(tx: Tx, before: SettingsInForce, after: SettingsInForce): Promise<void>;
  /** Runs after the change is stored and before its answer. Never rejects. */
  changed(): Promise<void>;
}

export interface Settings {
  /** Stores the initial values that the environment variables set, at the first start. */
  seed(): Promise<void>;
  /** The stored settings for administrators. */
  read(): Promise<InstanceSettings>;
  /**
   * Applies a patch completely or not at all. It applies to the next requests in this process, and in other processes
   * after at most 2 s.
   * @throws ApiError validation_failed with the 1-based position of an invalid origin
   */
  update(actor: Caller, patch: SettingsPatch): Promise<InstanceSettings>;
  /** Adds a feature that reacts to changes. Call this while the service is composed. */
  follow(follower: SettingsFollower): void;
  /** Settings, at most 2 s old. */
  current(): Promise<SettingsInForce>;
  /** The current list, at most 2 s old. Never rejects: if the list cannot be read, it counts as empty. */
  originsInForce(): Promise<OriginsInForce>;
}

/** The settings of the instance: one row, read often and written seldom. */
export function createSettings(platform: Platform): Settings {
  const { activity, bus, clock, config, database, logger } = platform;
  const row = cached(clock, async () => toSettingsInForce(await loadSettings(database.db)));
  const storedOrigins = cached(clock, () => loadAllowedOrigins(database.db));

  const followers: SettingsFollower[] = [];

  const forget = () => {
    row.forget();
    storedOrigins.forget();
  };
  bus.subscribe(settingsSubjects.changed, INSTANCE, forget);

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
      const updated = await database.transaction(async (tx) => {
        const before = toSettingsInForce(await lockSettings(tx));
        const row = await updateSettings(tx, columns, change);
        for (const follower of followers) await follower.changing(tx, before, toSettingsInForce(row));
        return row;
      });
      // The followers read the new values, possibly before the bus has delivered the message.
      forget();
      bus.publish(settingsSubjects.changed, INSTANCE, {});
      await activity.record(actor.userId, 'instance.settings.updated', 'instance_settings', { keys });
      for (const follower of followers) await follower.changed();
      return toRecord(updated);
    },
    follow(follower) {
      followers.push(follower);
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
  /** The next read queries the database. */
  forget(): void;
}

/** Caches a read for MAX_STALE_MS from its start. Concurrent callers share one read. A failed read is not cached. */
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
