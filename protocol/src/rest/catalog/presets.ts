import { z } from 'zod';
import { body, dateTime, idParams, notBlank, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';
import { absolutePath, environment, network, texts } from './runtime-spec.ts';

/** Longest name of a preset. It fits into the unique index in any script. */
const MAX_NAME_LENGTH = 128;
const presetName = notBlank(MAX_NAME_LENGTH);

const about = {
  name: `Name of the preset. Unique, not blank, at most ${MAX_NAME_LENGTH} characters.`,
  description: 'A few sentences for administrators; "" is none.',
  image: 'Container image of apps that name none of their own; "" is none.',
  args: 'Arguments that come before those of the app.',
  env: 'Environment variables; the app overrides them one by one.',
  mounts:
    'Mounts `src:dst` or `src:dst:opts` that come before those of the app. The host has the last word on each.',
  managed_home: 'Each account has a home of its own for an app with this preset, kept between sessions.',
  home_container_path: 'Where that home appears inside an app that keeps the default path. Absolute.',
  network:
    'Network of apps that name none of their own; "" is bridge for processes and leaves it to the host for containers.',
} as const;

/** Start settings that several apps share. At a launch, the app's own runtime_spec is merged over them. */
export const runtimePreset = z
  .object({
    id: z.string().describe('Id of the preset, a uuid.'),
    name: z.string().describe(about.name),
    description: z.string().describe(about.description),
    image: z.string().describe(about.image),
    args: z.array(z.string()).describe(about.args),
    env: environment.describe(about.env),
    mounts: z.array(z.string()).describe(about.mounts),
    managed_home: z.boolean().describe(about.managed_home),
    home_container_path: z.string().describe(about.home_container_path),
    network: network.describe(about.network),
    used_by: z
      .array(z.object({ id: z.string().describe('Id of the app.'), name: z.string().describe('Its name.') }))
      .describe('Apps that use this preset, disabled ones too, by name.'),
    created_at: dateTime.describe('When the preset was made.'),
    updated_at: dateTime.describe('When it was last changed.'),
  })
  .meta({ id: 'RuntimePreset', description: 'What several apps start with.' });
export type RuntimePreset = z.output<typeof runtimePreset>;

const presetFields = {
  description: string().optional().describe(about.description),
  image: string().optional().describe(about.image),
  args: texts.optional().describe(about.args),
  env: environment.optional().describe(about.env),
  mounts: texts.optional().describe(about.mounts),
  managed_home: z.boolean().optional().describe(about.managed_home),
  home_container_path: absolutePath.optional().describe(about.home_container_path),
  network: network.optional().describe(about.network),
};

const examplePreset = {
  id: exampleIds.preset,
  name: 'Retro games',
  description: 'What the emulators share',
  image: '',
  args: ['--fullscreen'],
  env: { SDL_VIDEODRIVER: 'x11' },
  mounts: ['/srv/roms:/roms:ro'],
  managed_home: true,
  home_container_path: '/home/service',
  network: 'none',
  used_by: [{ id: exampleIds.app, name: 'SuperTux' }],
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
};
const {
  id: _id,
  used_by: _usedBy,
  created_at: _created,
  updated_at: _updated,
  ...exampleBody
} = examplePreset;

const MOUNT_REFUSED = 'A mount is one that no host would allow.';
const NAME_TAKEN = 'Another preset has this name.';
const UNKNOWN = 'There is no such preset.';

const presetAnswer = z.object({ runtime_preset: runtimePreset });

export const presetOperations = {
  'runtimePresets.list': operation({
    id: 'runtimePresets.list',
    method: 'GET',
    path: '/v1/admin/runtime-presets',
    auth: 'admin',
    summary: 'All runtime presets',
    responses: { 200: z.object({ items: z.array(runtimePreset).describe('All presets, by name.') }) },
    example: { response: { items: [examplePreset] } },
  }),
  'runtimePresets.create': operation({
    id: 'runtimePresets.create',
    method: 'POST',
    path: '/v1/admin/runtime-presets',
    auth: 'admin',
    summary: 'Create a runtime preset',
    body: { schema: body({ name: presetName.describe(about.name), ...presetFields }) },
    responses: { 201: presetAnswer },
    refusals: { validation_failed: MOUNT_REFUSED, conflict: NAME_TAKEN },
    example: { body: exampleBody, response: { runtime_preset: { ...examplePreset, used_by: [] } } },
  }),
  'runtimePresets.read': operation({
    id: 'runtimePresets.read',
    method: 'GET',
    path: '/v1/admin/runtime-presets/{id}',
    auth: 'admin',
    summary: 'One runtime preset, with the apps that use it',
    params: idParams,
    responses: { 200: presetAnswer },
    refusals: { not_found: UNKNOWN },
    example: { params: { id: exampleIds.preset }, response: { runtime_preset: examplePreset } },
  }),
  'runtimePresets.update': operation({
    id: 'runtimePresets.update',
    method: 'PATCH',
    path: '/v1/admin/runtime-presets/{id}',
    auth: 'admin',
    summary: 'Change a runtime preset; sessions that start from then on follow it',
    params: idParams,
    body: { schema: body({ name: presetName.optional().describe(about.name), ...presetFields }) },
    responses: { 200: presetAnswer },
    refusals: {
      validation_failed: MOUNT_REFUSED,
      not_found: UNKNOWN,
      conflict: NAME_TAKEN,
      managed_preset_image_invalid:
        'An image of the catalog owns the preset, and the image that results is neither given by its digest nor built here for it.',
    },
    example: {
      params: { id: exampleIds.preset },
      body: { network: 'bridge' },
      response: {
        runtime_preset: { ...examplePreset, network: 'bridge', updated_at: '2026-11-21T08:30:00.000Z' },
      },
    },
  }),
  'runtimePresets.delete': operation({
    id: 'runtimePresets.delete',
    method: 'DELETE',
    path: '/v1/admin/runtime-presets/{id}',
    auth: 'admin',
    summary: 'Delete a runtime preset that no app uses',
    params: idParams,
    responses: { 204: null },
    refusals: { not_found: UNKNOWN, conflict: 'An app uses the preset, if only a disabled one.' },
    example: { params: { id: exampleIds.preset } },
  }),
} as const;
