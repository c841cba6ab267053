import type { IgnoredVariables } from '@footlight/protocol/environment';

const NO_SETTING = 'the setting is kept and not used';

/** Documented variables without effect in this version. */
export const IGNORED_VARIABLES: IgnoredVariables = {
  SERVICE_ZEROCOPY: NO_SETTING,
  SERVICE_LATENCY_PROBE: NO_SETTING,
};
