import { APP_DEFAULTS, DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import type { AdminApp, Body, RuntimeSpec } from '@footlight/protocol/rest';
import { msg, t } from '../../i18n/translate.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule, textRule } from '../frame/bound-rules.ts';
import { envOf, envProblem, envText, linesOf, listOf, pathProblem } from '../frame/text-lines.ts';

/** An app in form fields: texts, numbers and switches. */
export interface AppForm {
  name: string;
  description: string;
  kind: AdminApp['kind'];
  enabled: boolean;
  cover_url: string;
  /** one argument per line, the command first */
  args: string;
  image: string;
  /** NAME=value per line */
  env: string;
  gpu: boolean;
  /** "": no preset */
  runtime_preset_id: string;
  managed_home: boolean;
  /** "": the default path */
  home_container_path: string;
  /** "": homes start empty */
  home_base: string;
  profile_policy: AdminApp['profile_policy'];
  /** "": no launch profile */
  default_profile_id: string;
  launchable_profile_ids: string[];
  default_width: number | string;
  default_height: number | string;
  default_fps: number | string;
  default_bitrate_kbps: number | string;
  default_encode_slots: number | string;
}

/** The form of a new app. */
export const NEW_APP: AppForm = {
  name: '',
  description: '',
  kind: 'game',
  enabled: true,
  cover_url: '',
  args: '',
  image: '',
  env: '',
  gpu: false,
  runtime_preset_id: '',
  managed_home: false,
  home_container_path: '',
  home_base: '',
  profile_policy: 'inherit',
  default_profile_id: '',
  launchable_profile_ids: [],
  ...APP_DEFAULTS,
};

/** The form of an existing app. */
export function formOf(app: AdminApp): AppForm {
  return {
    name: app.name,
    description: app.description,
    kind: app.kind,
    enabled: app.enabled,
    cover_url: app.cover_url ?? '',
    ...shownOf(app.runtime_spec),
    runtime_preset_id: app.runtime_preset_id ?? '',
    managed_home: app.managed_home,
    home_container_path: app.home_container_path,
    home_base: app.home_base ?? '',
    profile_policy: app.profile_policy,
    default_profile_id: app.default_profile_id ?? '',
    launchable_profile_ids: app.launchable_profile_ids,
    default_width: app.default_width,
    default_height: app.default_height,
    default_fps: app.default_fps,
    default_bitrate_kbps: app.default_bitrate_kbps,
    default_encode_slots: app.default_encode_slots,
  };
}

/**
 * The body of a create or change. Keys of the runtime spec without a field in the form stay unchanged.
 * @param former the app's stored spec; undefined: a new app
 * @param derived the app is a tile, which runs with its parent's values and cannot have its own
 */
export function bodyOf(
  form: AppForm,
  former: RuntimeSpec | undefined,
  derived: boolean,
): Body<'apps.update'> & { name: string } {
  return {
    name: form.name.trim(),
    description: form.description,
    kind: form.kind,
    enabled: form.enabled,
    ...(derived
      ? {}
      : {
          runtime_spec: specOf(form, former),
          runtime_preset_id: form.runtime_preset_id || null,
          managed_home: form.managed_home,
          home_container_path: form.home_container_path.trim() || DEFAULT_HOME_PATH,
          home_base: form.home_base.trim() || null,
          default_encode_slots: Number(form.default_encode_slots),
        }),
    cover_url: form.cover_url.trim() === '' ? null : form.cover_url.trim(),
    default_width: Number(form.default_width),
    default_height: Number(form.default_height),
    default_fps: Number(form.default_fps),
    default_bitrate_kbps: Number(form.default_bitrate_kbps),
    profile_policy: form.profile_policy,
    default_profile_id: form.default_profile_id || null,
    // A forced launch profile needs no list, and the server refuses a list with it.
    launchable_profile_ids: form.profile_policy === 'force' ? [] : [...form.launchable_profile_ids].sort(),
  };
}

/** Values of the runtime spec that have a field in the form. */
function shownOf(spec: RuntimeSpec): Pick<AppForm, 'args' | 'image' | 'env' | 'gpu'> {
  return {
    args: (spec.args ?? []).join('\n'),
    image: spec.image ?? '',
    env: envText(spec.env ?? {}),
    gpu: spec.gpu ?? false,
  };
}

function specOf(form: AppForm, former: RuntimeSpec | undefined): RuntimeSpec {
  const untouched =
    former !== undefined &&
    Object.entries(shownOf(former)).every(([key, value]) => form[key as keyof AppForm] === value);
  if (untouched) return former;
  const { image: _image, args: _args, env: _env, gpu: _gpu, ...others } = former ?? {};
  const args = listOf(form.args, former?.args ?? []);
  const env = envOf(form.env, former?.env ?? {});
  return {
    ...others,
    ...(form.image.trim() === '' ? {} : { image: form.image.trim() }),
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(form.gpu ? { gpu: true } : {}),
  };
}

const bounds = bodyBounds['apps.create'];

/** The rule of each field: describes its error. */
export const appRules = {
  name: textRule(bounds.name, { blank: msg('Give the app a name') }),
  args: (value: string, form: AppForm) =>
    linesOf(value).length === 0 && form.image.trim() === '' && form.runtime_preset_id === ''
      ? t('Enter a command or a container image, or choose a preset')
      : null,
  env: envProblem,
  home_container_path: pathProblem,
  home_base: (value: string, form: AppForm) =>
    pathProblem(value) ??
    (value.trim() !== '' && !form.managed_home && form.runtime_preset_id === ''
      ? t('Only an app that keeps homes can have a base for them')
      : null),
  default_width: numberRule(bounds.default_width),
  default_height: numberRule(bounds.default_height),
  default_fps: numberRule(bounds.default_fps),
  default_bitrate_kbps: numberRule(bounds.default_bitrate_kbps),
  default_encode_slots: numberRule(bounds.default_encode_slots),
};
