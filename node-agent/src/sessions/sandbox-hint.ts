import type { AppSpec } from '@footlight/protocol/agent';

/** What Chromium, and bwrap of Flatpak and Steam, write where they may make no user namespaces. */
const NO_USER_NAMESPACES =
  /No usable sandbox!|bwrap: (No permissions to create new namespace|Creating new namespace failed)/;

/** What an app lacks that ended because it could not make its sandbox; undefined: nothing of that kind. Pure. */
export function sandboxHint(
  { systempaths_unconfined }: Pick<AppSpec, 'systempaths_unconfined'>,
  log: string,
): string | undefined {
  if (systempaths_unconfined === true || !NO_USER_NAMESPACES.test(log)) return undefined;
  return 'its sandbox needs user namespaces: set systempaths_unconfined to true in its runtime_spec';
}
