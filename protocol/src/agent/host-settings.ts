/**
 * The host settings that an administrator may change per host (`knobs` in the body of GET /v1/admin/config/catalog),
 * each with the environment variable that sets it on the agent. The effective value is the control plane's override;
 * without an override, the environment's value; otherwise the default. Live settings apply to sessions that start
 * later; restart settings are fixed at the agent's start.
 *
 * This is the only table of host settings: agents determine their values with it, and the control plane shows it and
 * validates overrides with it.
 */

import { fitsUtf8 } from '../common.ts';
import { ABR_MODES } from '../telemetry/metrics.ts';

/** Longest value in bytes in a capacity report; with a longer one, the report would be malformed. */
const MAX_TEXT_BYTES = 512;

export type SettingValue = string | number | boolean | null;

export interface HostSetting {
  readonly key: string;
  readonly type: 'bool' | 'int' | 'float' | 'enum' | 'string';
  readonly default: SettingValue;
  /** Smallest and largest allowed number. */
  readonly min?: number;
  readonly max?: number;
  readonly enum?: readonly string[];
  readonly nullable: boolean;
  readonly class: 'live' | 'restart';
  readonly env_var: string;
  /** true: the value must be "" or an absolute path. */
  readonly path?: boolean;
}

type Bounds = Partial<Pick<HostSetting, 'min' | 'max' | 'nullable' | 'class' | 'env_var' | 'path'>>;

function setting(
  key: string,
  type: 'bool' | 'int' | 'float' | 'string',
  fallback: SettingValue,
  bounds: Bounds = {},
): HostSetting {
  const env_var = `SERVICE_${key.toUpperCase()}`;
  return { key, type, default: fallback, nullable: false, class: 'live', env_var, ...bounds };
}

function choice(key: string, fallback: string, values: readonly string[], bounds: Bounds = {}): HostSetting {
  return { ...setting(key, 'string', fallback, bounds), type: 'enum', enum: values };
}

const FRACTION = { min: 1e-6, max: 0.999999 };

export const HOST_SETTINGS: readonly HostSetting[] = [
  setting('abr_enabled', 'bool', true, { env_var: 'SERVICE_ABR' }),
  setting('abr_floor_kbps', 'int', null, { min: 1, nullable: true }),
  setting('abr_floor_ratio', 'float', 0.3, { min: 0, max: 1 }),
  choice('abr_mode', 'smooth', [...ABR_MODES]),
  setting('abr_ewma_alpha', 'float', 0.3, { min: 1e-6, max: 1 }),
  setting('abr_deadband', 'float', 0.15, FRACTION),
  setting('abr_max_up_step', 'float', 0.25, { min: 1e-6 }),
  setting('abr_min_interval_ms', 'int', 1000, { min: 1 }),
  setting('abr_max_down_step', 'float', 0.125, FRACTION),
  setting('abr_down_dwell_ms', 'int', 7000, { min: 0 }),
  setting('abr_cliff_guard_frac', 'float', 0.5, FRACTION),
  setting('abr_ladder', 'bool', true),
  setting('abr_ladder_max_bias', 'int', 2, { min: 0, max: 255 }),
  setting('abr_ladder_engage_dwell', 'int', 2, { min: 1, max: 255 }),
  setting('abr_ladder_recover_dwell', 'int', 2, { min: 1, max: 255 }),
  setting('abr_ladder_resolution', 'bool', false),
  setting('abr_ladder_res_exponent', 'float', 0.75, { min: 0.5, max: 1 }),
  setting('abr_ladder_res_engage_frac', 'float', 0.6, { min: 0.2, max: 0.95 }),
  setting('abr_ladder_res_recover_frac', 'float', 0.8, { min: 0.3, max: 1 }),
  setting('abr_ladder_res_engage_dwell', 'int', 2, { min: 1, max: 60 }),
  setting('abr_ladder_res_recover_dwell', 'int', 2, { min: 1, max: 60 }),
  setting('abr_ladder_res_min_step_s', 'int', 10, { min: 5, max: 120 }),
  setting('abr_ladder_res_min_height', 'int', 720, { min: 360, max: 2160 }),
  setting('abr_ladder_fps', 'bool', false),
  setting('abr_ladder_floor_follows_rung', 'bool', true),
  choice('abr_ladder_order', 'hybrid', ['res_first', 'fps_first', 'hybrid']),
  setting('gop', 'int', 60, { min: 1 }),
  setting('slices', 'int', 8, { min: 1 }),
  setting('target_usage', 'int', 6, { min: 1, max: 7 }),
  setting('queue_buffers', 'int', 3, { min: 1 }),
  setting('zerocopy', 'bool', false),
  setting('latency_probe', 'bool', false),
  setting('idle_timeout_secs', 'int', 600, { min: 0 }),
  setting('app_boot_timeout_secs', 'int', 300, { min: 0 }),
  setting('home_root', 'string', '', { env_var: 'SERVICE_HOME_ROOT', path: true }),
  setting('nvidia_lib32_path', 'string', '', { env_var: 'SERVICE_NV_LIB32_PATH', path: true }),
  choice('encoder', 'openh264', ['openh264', 'va', 'nvenc', 'vulkan'], { class: 'restart' }),
  setting('render_node', 'string', 'software', { class: 'restart' }),
  setting('cuda_device', 'int', 0, { min: 0, class: 'restart' }),
];

/** Whether an agent can report this text back. */
function isSettingText(value: unknown): value is string {
  return typeof value === 'string' && fitsUtf8(value, MAX_TEXT_BYTES) && !value.includes('\0');
}

export const hostSettingByKey: ReadonlyMap<string, HostSetting> = new Map(
  HOST_SETTINGS.map((setting) => [setting.key, setting]),
);

/** Expected form of a setting's values, as a clause of an error message. */
export function settingExpectation(setting: HostSetting): string {
  switch (setting.type) {
    case 'bool':
      return 'true or false';
    case 'enum':
      return `one of ${(setting.enum ?? []).join(', ')}`;
    case 'string':
      return setting.path
        ? `empty or an absolute path of at most ${MAX_TEXT_BYTES} bytes`
        : `text of at most ${MAX_TEXT_BYTES} bytes`;
    case 'int':
    case 'float': {
      const noun = setting.type === 'int' ? 'a whole number' : 'a number';
      const from = setting.min === undefined ? '' : ` from ${setting.min}`;
      const to = setting.max === undefined ? '' : ` to ${setting.max}`;
      return `${noun}${from}${to}`;
    }
  }
}

/**
 * Whether a JSON value is valid for a setting. Strict: a text is not accepted for a number, nor a fraction for an
 * integer.
 */
export function isSettingValue(setting: HostSetting, value: unknown): value is SettingValue {
  if (value === null) return setting.nullable;
  switch (setting.type) {
    case 'bool':
      return typeof value === 'boolean';
    case 'enum':
      return typeof value === 'string' && (setting.enum ?? []).includes(value);
    case 'string':
      return isSettingText(value) && (!setting.path || value === '' || value.startsWith('/'));
    case 'int':
    case 'float':
      if (typeof value !== 'number' || !Number.isFinite(value)) return false;
      if (setting.type === 'int' && !Number.isSafeInteger(value)) return false;
      return (
        value >= (setting.min ?? Number.NEGATIVE_INFINITY) &&
        value <= (setting.max ?? Number.POSITIVE_INFINITY)
      );
  }
}

/**
 * Parses a setting's text from an agent's environment or report.
 * @returns undefined: the text is invalid
 */
export function parseSettingText(setting: HostSetting, text: string): SettingValue | undefined {
  const value = settingFromText(setting, text.trim());
  return value !== undefined && isSettingValue(setting, value) ? value : undefined;
}

function settingFromText(setting: HostSetting, text: string): SettingValue | undefined {
  switch (setting.type) {
    case 'bool':
      if (['1', 'true'].includes(text.toLowerCase())) return true;
      return ['0', 'false'].includes(text.toLowerCase()) ? false : undefined;
    case 'int':
    case 'float':
      return /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? Number(text) : undefined;
    default:
      return text;
  }
}
