import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import type { RuntimePreset } from '@footlight/protocol/rest';
import { msg } from '../../i18n/translate.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { textRule } from '../frame/bound-rules.ts';
import { envOf, envText, listOf, pathProblem } from '../frame/text-lines.ts';

export const NETWORKS = [
  { value: '', label: msg('The host’s default') },
  { value: 'none', label: msg('None') },
  { value: 'bridge', label: msg('Bridge: connected to the networks of the host') },
];

/** A runtime preset in form fields. */
export interface PresetForm {
  name: string;
  description: string;
  image: string;
  /** one argument per line */
  args: string;
  /** NAME=value per line */
  env: string;
  /** one mount per line */
  mounts: string;
  managed_home: boolean;
  /** "": the default path */
  home_container_path: string;
  network: RuntimePreset['network'];
}

/** The form of a new preset. */
export const NEW_PRESET: PresetForm = {
  name: '',
  description: '',
  image: '',
  args: '',
  env: '',
  mounts: '',
  managed_home: false,
  home_container_path: '',
  network: '',
};

/** The form of an existing preset. */
export function formOf(preset: RuntimePreset): PresetForm {
  return {
    name: preset.name,
    description: preset.description,
    image: preset.image,
    args: preset.args.join('\n'),
    env: envText(preset.env),
    mounts: preset.mounts.join('\n'),
    managed_home: preset.managed_home,
    home_container_path: preset.home_container_path,
    network: preset.network,
  };
}

/** The body of a create or change. @param stored undefined for a new preset */
export function bodyOf(form: PresetForm, stored: RuntimePreset | undefined) {
  return {
    name: form.name.trim(),
    description: form.description,
    image: form.image.trim(),
    args: [...listOf(form.args, stored?.args ?? [])],
    env: envOf(form.env, stored?.env ?? {}),
    mounts: [...listOf(form.mounts, stored?.mounts ?? [])],
    managed_home: form.managed_home,
    home_container_path: form.home_container_path.trim() || DEFAULT_HOME_PATH,
    network: form.network,
  };
}

/** The rule of each field: describes its error. The server checks mounts. */
export const presetRules = {
  name: textRule(bodyBounds['runtimePresets.create'].name, { blank: msg('Give the preset a name') }),
  home_container_path: pathProblem,
};
