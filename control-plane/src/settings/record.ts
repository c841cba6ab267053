import { MAX_ORIGINS, parseOriginList } from '@footlight/protocol/origins';
import type { InstanceSettings, SettingsPatch } from '@footlight/protocol/rest';
import { bool, flag, fromJson, instant, toJson } from '../platform/database/index.ts';
import { invalid } from '../platform/errors.ts';
import type { SettingColumns, SettingsRow } from './store.ts';

/** Instance settings that other features use. */
export interface SettingsInForce {
  registrationMode: 'closed' | 'invite_only' | 'open';
  storageProvider: 'auto' | 'local' | 'volume';
  libraryDiscoveryEnabled: boolean;
  libraryDiscoveryIntervalMinutes: number;
  libraryDiscoveryAppdetailsEnabled: boolean;
  micCaptureEnabled: boolean;
  guestSharingEnabled: boolean;
  imageUpdatePolicy: 'manual' | 'notify' | 'auto';
  flightRecorderEnabled: boolean;
}

/** The settings record for administrators. */
export function toRecord(row: SettingsRow): InstanceSettings {
  return {
    registration_mode: row.registration_mode,
    storage_provider: row.storage_provider,
    library_discovery_enabled: bool(row.library_discovery_enabled),
    library_discovery_interval_minutes: row.library_discovery_interval_minutes,
    library_discovery_appdetails_enabled: bool(row.library_discovery_appdetails_enabled),
    mic_capture_enabled: bool(row.mic_capture_enabled),
    guest_sharing_enabled: bool(row.guest_sharing_enabled),
    image_update_policy: row.image_update_policy,
    flight_recorder_enabled: bool(row.flight_recorder_enabled),
    allowed_origins: fromJson<string[]>(row.allowed_origins),
    updated_by: row.updated_by,
    updated_at: instant(row.updated_at),
  };
}

/**
 * Converts a patch to columns with their stored values.
 * @throws ApiError 400 for an invalid origin
 */
export function toColumns(patch: SettingsPatch): SettingColumns {
  const stored = Object.entries(patch).map(([key, value]) => {
    if (typeof value === 'boolean') return [key, flag(value)];
    return [key, Array.isArray(value) ? toJson(readOrigins(value)) : value];
  });
  return Object.fromEntries(stored.filter(([, value]) => value !== undefined)) as SettingColumns;
}

function readOrigins(entries: readonly string[]): string[] {
  const list = parseOriginList(entries);
  if (list.kind === 'ok') return list.origins;
  throw invalid(
    list.why === 'too_many'
      ? `allowed_origins: entry ${list.position} is one too many; at most ${MAX_ORIGINS} origins are kept`
      : `allowed_origins: entry ${list.position} is no origin such as https://play.example (no path, no wildcard)`,
  );
}

export function toSettingsInForce(row: SettingsRow): SettingsInForce {
  return {
    registrationMode: row.registration_mode,
    storageProvider: row.storage_provider,
    libraryDiscoveryEnabled: bool(row.library_discovery_enabled),
    libraryDiscoveryIntervalMinutes: row.library_discovery_interval_minutes,
    libraryDiscoveryAppdetailsEnabled: bool(row.library_discovery_appdetails_enabled),
    micCaptureEnabled: bool(row.mic_capture_enabled),
    guestSharingEnabled: bool(row.guest_sharing_enabled),
    imageUpdatePolicy: row.image_update_policy,
    flightRecorderEnabled: bool(row.flight_recorder_enabled),
  };
}
