import { HOST_SETTINGS, hostSettingByKey, type SettingValue } from '@footlight/protocol/agent';
import type { HostStorage } from '@footlight/protocol/rest';

/** Setting values by key. */
export type SettingValues = Readonly<Record<string, SettingValue>>;

/** Hysteresis: with a smaller gap the ladder would oscillate between two sizes. */
const LADDER_GAP = 0.05;
/** Tolerance for rounding errors of decimal fractions. */
const ROUNDING = 1e-9;

/** All settings of a host: defaults of the catalog, overlaid with its overrides. */
export function resolveSettings(overrides: SettingValues): Record<string, SettingValue> {
  return Object.fromEntries(
    HOST_SETTINGS.map(({ key, default: fallback }) => [
      key,
      Object.hasOwn(overrides, key) ? (overrides[key] as SettingValue) : fallback,
    ]),
  );
}

/**
 * Settings of a session that starts now, as texts. A connected agent receives its overrides before the session's
 * assignment, so a changed live setting already applies before the agent's next report.
 * @param reported the agent's last report; restart settings keep its values
 * @param overrides as stored
 */
export function settingsInForce(
  reported: Readonly<Record<string, string>>,
  overrides: SettingValues,
): Readonly<Record<string, string>> {
  const live = Object.entries(overrides).filter(
    // Skip an empty home root: the agent then uses the root of its environment, which only the agent knows.
    ([key, value]) => hostSettingByKey.get(key)?.class === 'live' && value !== null && value !== '',
  );
  if (live.length === 0) return reported;
  return { ...reported, ...Object.fromEntries(live.map(([key, value]) => [key, String(value)])) };
}

export interface SettingsChange {
  /** All overrides that must be stored. */
  overrides: Record<string, SettingValue>;
  /** Keys with a changed override, in catalog order. */
  changed: string[];
  /** Whether at least one changed override applies only after a restart of the agent. */
  needsRestart: boolean;
}

/** The stored overrides after a request. @param sent values of the settings' types; null removes an override */
export function changeOverrides(stored: SettingValues, sent: SettingValues): SettingsChange {
  const overrides: Record<string, SettingValue> = {};
  const changed: string[] = [];
  for (const { key } of HOST_SETTINGS) {
    const before = Object.hasOwn(stored, key) ? stored[key] : null;
    const after = Object.hasOwn(sent, key) ? sent[key] : before;
    if (after !== null && after !== undefined) overrides[key] = after;
    if (after !== before) changed.push(key);
  }
  return {
    overrides,
    changed,
    needsRestart: changed.some((key) => hostSettingByKey.get(key)?.class === 'restart'),
  };
}

/**
 * Why overrides of the right types cannot be used together or on this host.
 * @param sent as in `changeOverrides`; overrides that were not sent are not checked again
 * @param storage storage paths that the host reported; null: the host never reported them
 * @returns a sentence for the administrator, or null. Source: docs/configuration.md, "Settings of a host".
 */
export function settingsProblem(
  overrides: SettingValues,
  sent: SettingValues,
  storage: readonly HostStorage[] | null,
): string | null {
  const resolved = resolveSettings(overrides);
  const engage = Number(resolved.abr_ladder_res_engage_frac);
  const recover = Number(resolved.abr_ladder_res_recover_frac);
  if (recover - engage < LADDER_GAP - ROUNDING) {
    return `abr_ladder_res_recover_frac (${recover}) must be at least ${LADDER_GAP} above abr_ladder_res_engage_frac (${engage}).`;
  }
  const home = sent.home_root;
  if (typeof home !== 'string' || home === '') return null;
  if (storage === null || storage.length === 0) {
    return 'home_root: the host has reported no storage to hold it against.';
  }
  if (home.split('/').some((part) => part === '.' || part === '..')) {
    return 'home_root: expected a path without "." and "..".';
  }
  if (storage.some(({ path }) => isAtOrBelow(home, path))) return null;
  return `home_root: expected a path in storage that the host has reported: ${storage.map(({ path }) => path).join(', ')}.`;
}

function isAtOrBelow(path: string, root: string): boolean {
  const parts = (text: string) => text.split('/').filter((part) => part !== '');
  const own = parts(path);
  return parts(root).every((part, index) => own[index] === part);
}
