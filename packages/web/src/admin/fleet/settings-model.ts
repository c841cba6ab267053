import type { ConfigSetting, HostSettings } from '@footlight/protocol/rest';
import { msg, t } from '../../i18n/translate.ts';
import { numberRule } from '../frame/bound-rules.ts';

type SettingValue = ConfigSetting['default'];

/** Unsaved changes by key: a field's value, or null for the default. */
export type SettingsDraft = Readonly<Record<string, SettingValue>>;

interface Group {
  title: string;
  /** Key prefixes of this group. If two groups match, the earlier group is used. */
  keys: readonly string[];
}

const GROUPS: readonly Group[] = [
  {
    title: msg('Encoding'),
    keys: ['encoder', 'render_node', 'cuda_device', 'gop', 'slices', 'target_usage', 'queue_buffers'],
  },
  {
    title: msg('Sessions and files'),
    keys: ['idle_timeout', 'app_boot_timeout', 'home_root', 'nvidia_lib32'],
  },
  { title: msg('Adapting size and frame rate'), keys: ['abr_ladder'] },
  { title: msg('Adapting the bitrate'), keys: ['abr_'] },
];
/** Settings without effect in this version; the API keeps them for clients that send them. */
const WITHOUT_EFFECT: readonly string[] = ['latency_probe', 'zerocopy'];
/** Settings that only a newer server has. */
const OTHERS = msg('Others');

/** Settings by group in catalog order, without empty groups. */
export function groupSettings(
  catalog: readonly ConfigSetting[],
): { title: string; settings: ConfigSetting[] }[] {
  const shown = catalog.filter(({ key }) => !WITHOUT_EFFECT.includes(key));
  const titleOf = ({ key }: ConfigSetting) =>
    GROUPS.find((group) => group.keys.some((prefix) => key.startsWith(prefix)))?.title ?? OTHERS;
  return [...GROUPS.map(({ title }) => title), OTHERS]
    .map((title) => ({ title, settings: shown.filter((setting) => titleOf(setting) === title) }))
    .filter((group) => group.settings.length > 0)
    .map(({ title, settings }) => ({ title: t(title), settings }));
}

/** Value of a setting's field: the unsaved value, otherwise the override, otherwise the default. */
export function fieldValue(
  setting: ConfigSetting,
  settings: HostSettings,
  draft: SettingsDraft,
): SettingValue {
  if (Object.hasOwn(draft, setting.key)) return draft[setting.key] ?? setting.default;
  return Object.hasOwn(settings.overrides, setting.key)
    ? (settings.overrides[setting.key] ?? null)
    : setting.default;
}

/** Whether a setting has an override after the draft is saved. */
export function isSet(setting: ConfigSetting, settings: HostSettings, draft: SettingsDraft): boolean {
  if (Object.hasOwn(draft, setting.key)) return draft[setting.key] !== null;
  return Object.hasOwn(settings.overrides, setting.key);
}

/**
 * The draft with one more change. A value equal to the stored value removes the change.
 * @param value null: the default
 */
export function withChange(
  draft: SettingsDraft,
  settings: HostSettings,
  key: string,
  value: SettingValue,
): SettingsDraft {
  const { [key]: _former, ...rest } = draft;
  const stored = Object.hasOwn(settings.overrides, key) ? settings.overrides[key] : null;
  return value === stored ? rest : { ...rest, [key]: value };
}

/** The draft without the changes that are now stored, after a partial save or a save by another administrator. */
export function openChanges(draft: SettingsDraft, settings: HostSettings): SettingsDraft {
  let open: SettingsDraft = {};
  for (const [key, value] of Object.entries(draft)) open = withChange(open, settings, key, value);
  return open;
}

/** Describes the error of a field's value; null: no error. "" is not a number. */
export function valueProblem(setting: ConfigSetting, value: SettingValue): string | null {
  if (setting.type === 'string') {
    if (!isPath(setting) || value === '' || String(value).startsWith('/')) return null;
    return t('Empty, or a path that begins with /');
  }
  if (setting.type !== 'int' && setting.type !== 'float') return null;
  if (value === null && setting.nullable) return null;
  const { min, max } = setting;
  const rule = numberRule({
    type: setting.type === 'int' ? 'integer' : 'number',
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
  });
  return rule(typeof value === 'number' ? value : '');
}

/** Text below a field: default and bounds. */
export function hintOf(setting: ConfigSetting): string {
  const value = valueLabel(setting.default);
  const { min, max } = setting.type === 'int' || setting.type === 'float' ? setting : {};
  if (min === undefined)
    return max === undefined
      ? t('Default {value}.', { value })
      : t('Default {value}; up to {max}.', { value, max });
  return max === undefined
    ? t('Default {value}; from {min} up.', { value, min })
    : t('Default {value}; from {min} to {max}.', { value, min, max });
}

/** A readable value. */
export function valueLabel(value: SettingValue | string | undefined): string {
  if (value === undefined || value === null || value === '') return t('none');
  if (value === true || value === 'true') return t('on');
  if (value === false || value === 'false') return t('off');
  return String(value);
}

function isPath({ key }: ConfigSetting): boolean {
  return key === 'home_root' || key === 'nvidia_lib32_path';
}

const NAMES: Record<string, string> = {
  abr_enabled: msg('Adapt the bitrate'),
  abr_floor_kbps: msg('Lowest bitrate, kbit/s'),
  abr_floor_ratio: msg('Lowest bitrate, share of the launch bitrate'),
  abr_mode: msg('How the bitrate adapts'),
  abr_ewma_alpha: msg('Weight of the newest measurement'),
  abr_deadband: msg('Ignore changes below this share'),
  abr_max_up_step: msg('Largest increase, share'),
  abr_min_interval_ms: msg('Shortest time between changes, ms'),
  abr_max_down_step: msg('Largest decrease, share'),
  abr_down_dwell_ms: msg('Time before a decrease, ms'),
  abr_cliff_guard_frac: msg('React at once below this share of the bitrate'),
  abr_ladder: msg('Also adapt encoder speed, size and frame rate'),
  abr_ladder_max_bias: msg('Maximum number of steps to faster encoder presets'),
  abr_ladder_engage_dwell: msg('Seconds before a faster encoder preset'),
  abr_ladder_recover_dwell: msg('Seconds before a slower encoder preset'),
  abr_ladder_resolution: msg('Allow a smaller picture'),
  abr_ladder_res_exponent: msg('Needed bitrate: exponent of the picture size'),
  abr_ladder_res_engage_frac: msg('Smaller picture below this share of the needed bitrate'),
  abr_ladder_res_recover_frac: msg('Larger picture above this share of the needed bitrate'),
  abr_ladder_res_engage_dwell: msg('Seconds before the picture gets smaller'),
  abr_ladder_res_recover_dwell: msg('Seconds before the picture gets larger'),
  abr_ladder_res_min_step_s: msg('Shortest time between two sizes, s'),
  abr_ladder_res_min_height: msg('Smallest height, lines'),
  abr_ladder_fps: msg('Allow half the frame rate'),
  abr_ladder_floor_follows_rung: msg('Reduce the lowest bitrate with the size'),
  abr_ladder_order: msg('What is reduced first'),
  gop: msg('Frames between keyframes'),
  slices: msg('Slices of a picture'),
  target_usage: msg('Speed (7) against quality (1)'),
  queue_buffers: msg('Frames that may wait for the encoder'),
  idle_timeout_secs: msg('End a session without a viewer after this time, s (0: never)'),
  app_boot_timeout_secs: msg('End a session whose app draws nothing after this time, s (0: never)'),
  home_root: msg('Where to store homes'),
  nvidia_lib32_path: msg('32-bit NVIDIA libraries'),
  encoder: msg('Encoder'),
  render_node: msg('Render node'),
  cuda_device: msg('CUDA device'),
};

/** The readable name of a host's setting; undefined: this page does not know the setting. */
export function settingName(key: string): string | undefined {
  const name = Object.hasOwn(NAMES, key) ? NAMES[key] : undefined;
  return name === undefined ? undefined : t(name);
}

/** A setting's readable name; its key if this page does not know the setting. */
export const nameOfSetting = ({ key }: ConfigSetting): string => settingName(key) ?? key;
