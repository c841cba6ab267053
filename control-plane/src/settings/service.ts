import type { Selectable } from 'kysely';
import { bool } from '../platform/database/index.ts';
import type { InstanceSettingsTable } from '../platform/database/tables/accounts.ts';
import type { Platform } from '../platform/platform.ts';
import { loadAllowedOrigins, loadSettings, seedSettings } from './store.ts';

/** How long a read may be old where a stale one does no harm. */
const MAX_STALE_MS = 2_000;

/** Instance settings as features use them. */
interface InstanceSettings {
  registrationMode: 'closed' | 'invite_only' | 'open';
  storageProvider: 'auto' | 'local' | 'volume';
  libraryDiscoveryEnabled: boolean;
  libraryDiscoveryIntervalMinutes: number;
  libraryDiscoveryAppdetailsEnabled: boolean;
  micCaptureEnabled: boolean;
  imageUpdatePolicy: 'manual' | 'notify' | 'auto';
  flightRecorderEnabled: boolean;
}

/** The list of origins in force and where it comes from. */
export interface OriginsInForce {
  source: 'environment' | 'database';
  allowed: readonly string[];
}

export interface Settings {
  /** Writes what the environment seeds, at the first boot only. */
  seed(): Promise<void>;
  /** Settings, at most 2 s old. */
  current(): Promise<InstanceSettings>;
  /** The list in force, at most 2 s old. Never rejects: a list that cannot be read is an empty one. */
  originsInForce(): Promise<OriginsInForce>;
}

/** The settings of the instance: one row, read often and written rarely. */
export function createSettings(platform: Platform): Settings {
  const { clock, config, database, logger } = platform;
  const row = cached(clock, async () => toSettings(await loadSettings(database.db)));
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
    current: row,
    async originsInForce() {
      const pinned = config.settings.allowedOrigins;
      if (pinned !== null) return { source: 'environment', allowed: pinned };
      try {
        return { source: 'database', allowed: await storedOrigins() };
      } catch (error) {
        logger.warn({ event: 'settings.origins_unreadable', err: error });
        return { source: 'database', allowed: [] };
      }
    },
  };
}

/** One shared read at a time, kept for MAX_STALE_MS counted from its start. A failed read is not kept. */
function cached<T>(clock: Platform['clock'], load: () => Promise<T>): () => Promise<T> {
  let latest: { value: Promise<T>; startedMs: number } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (latest !== null && nowMs - latest.startedMs < MAX_STALE_MS) return latest.value;
    const read = { value: load(), startedMs: nowMs };
    latest = read;
    read.value.catch(() => {
      if (latest === read) latest = null;
    });
    return read.value;
  };
}

function toSettings(row: Selectable<InstanceSettingsTable>): InstanceSettings {
  return {
    registrationMode: row.registration_mode,
    storageProvider: row.storage_provider,
    libraryDiscoveryEnabled: bool(row.library_discovery_enabled),
    libraryDiscoveryIntervalMinutes: row.library_discovery_interval_minutes,
    libraryDiscoveryAppdetailsEnabled: bool(row.library_discovery_appdetails_enabled),
    micCaptureEnabled: bool(row.mic_capture_enabled),
    imageUpdatePolicy: row.image_update_policy,
    flightRecorderEnabled: bool(row.flight_recorder_enabled),
  };
}
