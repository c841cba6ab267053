import type { IgnoredVariables } from '@footlight/protocol/environment';

const NO_CONTAINERS = 'apps do not run in containers';
const NO_FILES = 'files are not transferred';
const NO_SETTING = 'the setting is kept and not used';

/** Documented variables without effect in this version. */
export const IGNORED_VARIABLES: IgnoredVariables = {
  SERVICE_AGENT_METRICS_ADDR: 'no metrics are served',
  SERVICE_FILE_TRANSFER: NO_FILES,
  SERVICE_FILE_TRANSFER_MAX_MB: NO_FILES,
  SERVICE_MOUNT_ROOTS: NO_CONTAINERS,
  SERVICE_CONTAINER_NETWORK: NO_CONTAINERS,
  SERVICE_CONTAINER_ENGINE: NO_CONTAINERS,
  SERVICE_CONTAINER_RUNTIME: NO_CONTAINERS,
  SERVICE_CONTAINER_ULIMITS: NO_CONTAINERS,
  SERVICE_IMAGE_SOURCE_HOSTS: 'images are not built',
  SERVICE_ZEROCOPY: NO_SETTING,
  SERVICE_LATENCY_PROBE: NO_SETTING,
  SERVICE_NV_LIB32_PATH: NO_CONTAINERS,
};
