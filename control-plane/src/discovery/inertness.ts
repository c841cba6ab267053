/**
 * Decides which discovery settings apply, and the reason when discovery does nothing. Pure. Source: docs/apps.md,
 * "Discovery settings".
 */

/** Values from the environment. null: the variable is not set. */
export interface DiscoveryEnvironment {
  /** everyMs null: the variable is 0, which switches all scans off. */
  scanInterval: { everyMs: number | null } | null;
  storeLookup: boolean | null;
}

/** Values from the stored settings. */
export interface DiscoverySettings {
  libraryDiscoveryEnabled: boolean;
  libraryDiscoveryIntervalMinutes: number;
  libraryDiscoveryAppdetailsEnabled: boolean;
  storageProvider: 'auto' | 'local' | 'volume';
}

export interface DiscoveryInForce {
  /** Time between two scans of a home; null: scans are off. */
  scanIntervalMs: number | null;
  storeLookup: boolean;
}

const MINUTE_MS = 60_000;

/** A set environment variable overrides the stored setting. */
export function discoveryInForce(
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

/**
 * @returns the reason why discovery does nothing, as a text for people; "": it works. If several reasons apply, the
 *   first in a fixed order is returned.
 */
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
