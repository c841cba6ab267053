import type { IgnoredVariables } from '@footlight/protocol/environment';

const NO_METRICS = 'no metrics are served';
const NO_LIBRARY = 'libraries are not scanned';

/** Variables of the contract without effect in this version; effective ones are in VARIABLES. */
export const IGNORED_VARIABLES: IgnoredVariables = {
  SERVICE_METRICS_ADDR: NO_METRICS,
  SERVICE_METRICS_TOKEN: NO_METRICS,
  SERVICE_LIBRARY_SCAN_INTERVAL: NO_LIBRARY,
  SERVICE_LIBRARY_PROVIDERS: NO_LIBRARY,
  SERVICE_STEAM_APPDETAILS_LOOKUP: NO_LIBRARY,
};
