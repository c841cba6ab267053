/**
 * Readiness checks that only give advice: if one of them fails, the host can still run sessions. If any other check
 * fails, it cannot.
 */
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
