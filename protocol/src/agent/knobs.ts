/**
 * Host settings (`knobs` on the wire) that an administrator may change per host, each with the environment variable
 * that sets it on the agent. The value in force is the control plane's override, else the environment, else the
 * default. Live settings reach sessions that start later; restart settings are fixed at the agent's start.
 *
 * This is the only table of them: agents resolve their settings by it, and the control plane shows it and validates
 * overrides.
 */

import { fitsUtf8 } from '../common.ts';

/** Longest value in a capacity report; a longer one would make the report malformed. */
const MAX_TEXT_BYTES = 512;

export type KnobValue = string | number | boolean | null;

export interface Knob {
  readonly key: string;
  readonly type: 'bool' | 'int' | 'float' | 'enum' | 'string';
  readonly default: KnobValue;
  /** Bounds of numbers, both included. */
  readonly min?: number;
  readonly max?: number;
  readonly enum?: readonly string[];
  readonly nullable: boolean;
  readonly class: 'live' | 'restart';
  readonly env_var: string;
  /** "" or an absolute path. */
  readonly path?: boolean;
}

type Bounds = Partial<Pick<Knob, 'min' | 'max' | 'nullable' | 'class' | 'env_var' | 'path'>>;

function knob(
  key: string,
  type: 'bool' | 'int' | 'float' | 'string',
  fallback: KnobValue,
  bounds: Bounds = {},
): Knob {
  const env_var = `SERVICE_${key.toUpperCase()}`;
  return { key, type, default: fallback, nullable: false, class: 'live', env_var, ...bounds };
}

function choice(key: string, fallback: string, values: readonly string[], bounds: Bounds = {}): Knob {
  return { ...knob(key, 'string', fallback, bounds), type: 'enum', enum: values };
}

const FRACTION = { min: 1e-6, max: 0.999999 };

export const KNOBS: readonly Knob[] = [
  knob('abr_enabled', 'bool', true, { env_var: 'SERVICE_ABR' }),
  knob('abr_floor_kbps', 'int', null, { min: 1, nullable: true }),
  knob('abr_floor_ratio', 'float', 0.3, { min: 0, max: 1 }),
  choice('abr_mode', 'smooth', ['off', 'protective', 'smooth']),
  knob('abr_ewma_alpha', 'float', 0.3, { min: 1e-6, max: 1 }),
  knob('abr_deadband', 'float', 0.15, FRACTION),
  knob('abr_max_up_step', 'float', 0.25, { min: 1e-6 }),
  knob('abr_min_interval_ms', 'int', 1000, { min: 1 }),
  knob('abr_max_down_step', 'float', 0.125, FRACTION),
  knob('abr_down_dwell_ms', 'int', 7000, { min: 0 }),
  knob('abr_cliff_guard_frac', 'float', 0.5, FRACTION),
  knob('abr_ladder', 'bool', true),
  knob('abr_ladder_max_bias', 'int', 2, { min: 0, max: 255 }),
  knob('abr_ladder_engage_dwell', 'int', 2, { min: 1, max: 255 }),
  knob('abr_ladder_recover_dwell', 'int', 2, { min: 1, max: 255 }),
  knob('abr_ladder_resolution', 'bool', false),
  knob('abr_ladder_res_exponent', 'float', 0.75, { min: 0.5, max: 1 }),
  knob('abr_ladder_res_engage_frac', 'float', 0.6, { min: 0.2, max: 0.95 }),
  knob('abr_ladder_res_recover_frac', 'float', 0.8, { min: 0.3, max: 1 }),
  knob('abr_ladder_res_engage_dwell', 'int', 2, { min: 1, max: 60 }),
  knob('abr_ladder_res_recover_dwell', 'int', 2, { min: 1, max: 60 }),
  knob('abr_ladder_res_min_step_s', 'int', 10, { min: 5, max: 120 }),
  knob('abr_ladder_res_min_height', 'int', 720, { min: 360, max: 2160 }),
  knob('abr_ladder_fps', 'bool', false),
  knob('abr_ladder_floor_follows_rung', 'bool', true),
  choice('abr_ladder_order', 'hybrid', ['res_first', 'fps_first', 'hybrid']),
  knob('gop', 'int', 60, { min: 1 }),
  knob('slices', 'int', 8, { min: 1 }),
  knob('target_usage', 'int', 6, { min: 1, max: 7 }),
  knob('queue_buffers', 'int', 3, { min: 1 }),
  knob('zerocopy', 'bool', false),
  knob('latency_probe', 'bool', false),
  knob('idle_timeout_secs', 'int', 600, { min: 0 }),
  knob('app_boot_timeout_secs', 'int', 300, { min: 0 }),
  knob('home_root', 'string', '', { env_var: 'SERVICE_HOME_ROOT', path: true }),
  knob('nvidia_lib32_path', 'string', '', { env_var: 'SERVICE_NV_LIB32_PATH', path: true }),
  choice('encoder', 'openh264', ['openh264', 'va', 'nvenc', 'vulkan'], { class: 'restart' }),
  knob('render_node', 'string', 'software', { class: 'restart' }),
  knob('cuda_device', 'int', 0, { min: 0, class: 'restart' }),
];

/** A text that an agent can report back. */
function isKnobText(value: unknown): value is string {
  return typeof value === 'string' && fitsUtf8(value, MAX_TEXT_BYTES) && !value.includes('\0');
}

export const knobByKey: ReadonlyMap<string, Knob> = new Map(KNOBS.map((knob) => [knob.key, knob]));

/** Expected form of this setting's values, as a clause for an error message. */
export function knobExpectation(knob: Knob): string {
  switch (knob.type) {
    case 'bool':
      return 'true or false';
    case 'enum':
      return `one of ${(knob.enum ?? []).join(', ')}`;
    case 'string':
      return knob.path
        ? `empty or an absolute path of at most ${MAX_TEXT_BYTES} bytes`
        : `text of at most ${MAX_TEXT_BYTES} bytes`;
    case 'int':
    case 'float': {
      const noun = knob.type === 'int' ? 'a whole number' : 'a number';
      const from = knob.min === undefined ? '' : ` from ${knob.min}`;
      const to = knob.max === undefined ? '' : ` to ${knob.max}`;
      return `${noun}${from}${to}`;
    }
  }
}

/** Whether a JSON value is valid for this setting. Strict: no text for a number, no fraction for an int. */
export function isKnobValue(knob: Knob, value: unknown): value is KnobValue {
  if (value === null) return knob.nullable;
  switch (knob.type) {
    case 'bool':
      return typeof value === 'boolean';
    case 'enum':
      return typeof value === 'string' && (knob.enum ?? []).includes(value);
    case 'string':
      return isKnobText(value) && (!knob.path || value === '' || value.startsWith('/'));
    case 'int':
    case 'float':
      if (typeof value !== 'number' || !Number.isFinite(value)) return false;
      if (knob.type === 'int' && !Number.isSafeInteger(value)) return false;
      return (
        value >= (knob.min ?? Number.NEGATIVE_INFINITY) && value <= (knob.max ?? Number.POSITIVE_INFINITY)
      );
  }
}

/**
 * Parses a setting's text from an agent's environment or report.
 * @returns undefined for an invalid text
 */
export function parseKnobText(knob: Knob, text: string): KnobValue | undefined {
  const value = knobFromText(knob, text.trim());
  return value !== undefined && isKnobValue(knob, value) ? value : undefined;
}

function knobFromText(knob: Knob, text: string): KnobValue | undefined {
  switch (knob.type) {
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
