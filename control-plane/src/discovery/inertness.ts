/**
 * Which values of discovery are in force, and why it may do nothing. Pure.
 * Source: docs/apps.md, "Discovery settings".
 */

/** The environment's part. null: the variable is not set. */
export interface DiscoveryEnvironment {
  /** everyMs null: 0, which ends all scans. */
  scanInterval: { everyMs: number | null } | null;
  storeLookup: boolean | null;
}

/** The part of the stored settings. */
export interface DiscoverySettings {
  libraryDiscoveryEnabled: boolean;
  libraryDiscoveryIntervalMinutes: number;
  libraryDiscoveryAppdetailsEnabled: boolean;
  storageProvider: 'auto' | 'local' | 'volume';
}

export interface DiscoveryInForce {
  /** Time between two scans of a home; null: no scans. */
  scanIntervalMs: number | null;
  storeLookup: boolean;
}

const MINUTE_MS = 60_000;

/** A set variable wins over the setting. */
export function planReconcile(
  environment: DiscoveryEnvironment,
  settings: DiscoverySettings,
): DiscoveryInForce {
  return {
    scanIntervalMs:
      environment.scanInterval === null
        ? settings.libraryDiscoveryIntervalMinutes * MINUTE_MS
        : environment.scanInterval.everyMs,
    storeLookup: environment.storeLookup ?? settings.libraryDiscoveryAppdetailsEnabled,
  };
}

/** @returns why discovery does nothing, for people; "": it works. The order of the reasons is fixed. */
export function decideInertReason(
  environment: DiscoveryEnvironment,
  settings: DiscoverySettings,
  hasProviderApp: boolean,
): string {
  if (!settings.libraryDiscoveryEnabled) return 'Library discovery is switched off in the settings.';
  if (environment.scanInterval?.everyMs === null) return 'SERVICE_LIBRARY_SCAN_INTERVAL is 0.';
  if (settings.storageProvider === 'volume') {
    return 'Homes are volumes of the container engine, which are not scanned.';
  }
  if (!hasProviderApp) return 'No app is marked as a library provider.';
  return '';
}
