import type { AppSpec } from '@footlight/protocol/agent';

/** Output of Chromium, or of bwrap in Flatpak and Steam, when user namespaces are not available. */
const NO_USER_NAMESPACES =
  /No usable sandbox!|bwrap: (No permissions to create new namespace|Creating new namespace failed)/;

/**
 * A hint for an app that ended because its sandbox could not start; undefined: the output shows no such failure. Pure.
 */
export function sandboxHint(
  { systempaths_unconfined }: Pick<AppSpec, 'systempaths_unconfined'>,
  log: string,
): string | undefined {
  if (systempaths_unconfined === true || !NO_USER_NAMESPACES.test(log)) return undefined;
  return 'its sandbox needs user namespaces: set systempaths_unconfined to true in its runtime_spec';
}
