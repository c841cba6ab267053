import type { AdminApp, Body, RuntimeSpec } from '@footlight/protocol/rest';

/** An app as the form holds it: every field a text, a number or a switch. */
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
  managed_home: boolean;
  default_width: number | string;
  default_height: number | string;
  default_fps: number | string;
  default_bitrate_kbps: number | string;
  default_encode_slots: number | string;
}

/** The form of an app that is yet to be made. */
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
  managed_home: false,
  default_width: 1920,
  default_height: 1080,
  default_fps: 60,
  default_bitrate_kbps: 15000,
  default_encode_slots: 1,
};

/** The form of an existing app. */
export function formOf(app: AdminApp): AppForm {
  const spec = app.runtime_spec;
  return {
    name: app.name,
    description: app.description,
    kind: app.kind,
    enabled: app.enabled,
    cover_url: app.cover_url ?? '',
    args: (spec.args ?? []).join('\n'),
    image: spec.image ?? '',
    env: Object.entries(spec.env ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    gpu: spec.gpu ?? false,
    managed_home: app.managed_home,
    default_width: app.default_width,
    default_height: app.default_height,
    default_fps: app.default_fps,
    default_bitrate_kbps: app.default_bitrate_kbps,
    default_encode_slots: app.default_encode_slots,
  };
}

/**
 * The body of a create or change. Keys of the runtime spec that the form does not show stay as they are.
 * @param former the app's stored spec; undefined for a new app
 * @param derived a part of a launcher: it takes everything that runs from its parent, and may not carry a spec
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
    ...(derived ? {} : { runtime_spec: specOf(form, former), managed_home: form.managed_home }),
    cover_url: form.cover_url.trim() === '' ? null : form.cover_url.trim(),
    default_width: Number(form.default_width),
    default_height: Number(form.default_height),
    default_fps: Number(form.default_fps),
    default_bitrate_kbps: Number(form.default_bitrate_kbps),
    default_encode_slots: Number(form.default_encode_slots),
  };
}

function specOf(form: AppForm, former: RuntimeSpec | undefined): RuntimeSpec {
  const { image: _image, args: _args, env: _env, gpu: _gpu, ...others } = former ?? {};
  const args = linesOf(form.args);
  const env = envOf(form.env);
  return {
    ...others,
    ...(form.image.trim() === '' ? {} : { image: form.image.trim() }),
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(form.gpu ? { gpu: true } : {}),
  };
}

/** What is wrong with each field of the form. */
export const appRules = {
  name: (value: string) => (value.trim() === '' ? 'Give the app a name' : null),
  args: (value: string, form: AppForm) =>
    linesOf(value).length === 0 && form.image.trim() === '' ? 'Name the program, or a container image' : null,
  env: (value: string) =>
    linesOf(value).every((line) => /^[A-Za-z_][A-Za-z0-9_]*=/.test(line)) ? null : 'One NAME=value per line',
  default_width: (value: number | string) => pixelsProblem(value),
  default_height: (value: number | string) => pixelsProblem(value),
  default_fps: (value: number | string) => rangeProblem(value, 1, 240),
  default_bitrate_kbps: (value: number | string) => rangeProblem(value, 1, 500_000),
  default_encode_slots: (value: number | string) => rangeProblem(value, 1, 2_147_483_647),
};

function pixelsProblem(value: number | string): string | null {
  return rangeProblem(value, 16, 7680) ?? (Number(value) % 2 === 0 ? null : 'An even number');
}

function rangeProblem(value: number | string, least: number, most: number): string | null {
  const number = Number(value);
  return value !== '' && Number.isInteger(number) && number >= least && number <= most
    ? null
    : `A whole number from ${least} to ${most}`;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

function envOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}
