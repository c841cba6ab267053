import type { IgnoredVariables } from '@footlight/protocol/environment';

const NO_METRICS = 'no metrics are served';

/** Variables of the contract without effect in this version; effective ones are in VARIABLES. */
export const IGNORED_VARIABLES: IgnoredVariables = {
  SERVICE_METRICS_ADDR: NO_METRICS,
  SERVICE_METRICS_TOKEN: NO_METRICS,
};
