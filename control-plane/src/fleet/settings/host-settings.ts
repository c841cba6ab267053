import { KNOBS, type KnobValue, knobByKey } from '@footlight/protocol/agent';
import type { HostStorage } from '@footlight/protocol/rest';

/** Settings by their keys. */
export type SettingValues = Readonly<Record<string, KnobValue>>;

/** The ladder must come back up clearly above where it goes down, or it would flap between two sizes. */
const LADDER_GAP = 0.05;
/** Differences of decimal fractions are off by less than this. */
const ROUNDING = 1e-9;

/** Every setting of a host: the catalog's defaults, overlaid with what was set for it. */
export function resolveSettings(overrides: SettingValues): Record<string, KnobValue> {
  return Object.fromEntries(
    KNOBS.map(({ key, default: fallback }) => [
      key,
      Object.hasOwn(overrides, key) ? (overrides[key] as KnobValue) : fallback,
    ]),
  );
}

/**
 * The settings of a session that starts now, as texts. An agent that is connected gets its overrides before the
 * session's assignment, so one of class live counts although it is not in the agent's last report.
 * @param reported what the agent said last; one of class restart stays as it says
 * @param overrides as they are stored
 */
export function settingsInForce(
  reported: Readonly<Record<string, string>>,
  overrides: SettingValues,
): Readonly<Record<string, string>> {
  const live = Object.entries(overrides).filter(
    // An empty home root stands for the one of the agent's environment, which only the agent knows.
    ([key, value]) => knobByKey.get(key)?.class === 'live' && value !== null && value !== '',
  );
  if (live.length === 0) return reported;
  return { ...reported, ...Object.fromEntries(live.map(([key, value]) => [key, String(value)])) };
}

export interface SettingsChange {
  /** Complete, to be stored. */
  overrides: Record<string, KnobValue>;
  /** Keys whose override is another one now, in the order of the catalog. */
  changed: string[];
  /** One of them counts only when the agent starts. */
  needsRestart: boolean;
}

/** What a request makes of the stored overrides. @param sent values of their knobs' types; null takes one away */
export function changeOverrides(stored: SettingValues, sent: SettingValues): SettingsChange {
  const overrides: Record<string, KnobValue> = {};
  const changed: string[] = [];
  for (const { key } of KNOBS) {
    const before = Object.hasOwn(stored, key) ? stored[key] : null;
    const after = Object.hasOwn(sent, key) ? sent[key] : before;
    if (after !== null && after !== undefined) overrides[key] = after;
    if (after !== before) changed.push(key);
  }
  return {
    overrides,
    changed,
    needsRestart: changed.some((key) => knobByKey.get(key)?.class === 'restart'),
  };
}

/**
 * What keeps overrides of the right types from being used together, or on this host.
 * @param sent as in `changeOverrides`; what the request leaves alone is not judged again
 * @param storage places that the host reported; null: never
 * @returns a sentence for the administrator, or null
 * Source: docs/hosts.md, "Settings".
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
