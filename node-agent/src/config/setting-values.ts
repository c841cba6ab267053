/** Merges host settings from the environment and from the control plane's overrides. */
import {
  HOST_SETTINGS,
  isSettingValue,
  type SettingValue,
  settingExpectation,
} from '@footlight/protocol/agent';

export type SettingValues = ReadonlyMap<string, SettingValue>;

/**
 * Replaces values of the baseline by the control plane's overrides.
 *
 * Pure. Unknown keys are ignored; an invalid value does not replace the baseline's value and is listed in `rejected`.
 */
export function overlaySettings(
  baseline: SettingValues,
  overrides: Readonly<Record<string, unknown>>,
): { values: Map<string, SettingValue>; rejected: string[] } {
  const values = new Map(baseline);
  const rejected: string[] = [];
  for (const setting of HOST_SETTINGS) {
    if (!Object.hasOwn(overrides, setting.key)) continue;
    const value = overrides[setting.key];
    if (isSettingValue(setting, value)) values.set(setting.key, value);
    else rejected.push(`${setting.key}: expected ${settingExpectation(setting)}`);
  }
  return { values, rejected };
}

/** The defaults, overridden by values of the environment. */
export function settingBaseline(
  fromEnvironment: Readonly<Record<string, SettingValue>>,
): Map<string, SettingValue> {
  return new Map(
    HOST_SETTINGS.map((setting) => [
      setting.key,
      Object.hasOwn(fromEnvironment, setting.key)
        ? (fromEnvironment[setting.key] as SettingValue)
        : setting.default,
    ]),
  );
}

/**
 * The current rate control mode: the value of abr_mode. It is off if abr_enabled is false and abr_mode was not set by
 * the environment or an override.
 */
export function rateModeInForce(
  values: SettingValues,
  fromEnvironment: Readonly<Record<string, SettingValue>>,
  overrides: Readonly<Record<string, unknown>>,
): SettingValue {
  const mode = values.get('abr_mode') ?? null;
  // A rejected override does not count as set.
  const isSet = Object.hasOwn(fromEnvironment, 'abr_mode') || overrides.abr_mode === mode;
  return isSet || values.get('abr_enabled') !== false ? mode : 'off';
}
