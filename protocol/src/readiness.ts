/** Readiness checks that leave a host able to run sessions when they fail. A failure of any other check does not. */
export const ADVISORY_CHECKS: ReadonlySet<string> = new Set([
  'input_devices',
  'console_display',
  'mdns_resolution',
  'app_limits',
  'app_network',
  'storage_free',
  'storage_trash',
  'clock_offset',
]);
