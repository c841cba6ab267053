import { z } from 'zod';
import { bitrateKbps, frameRate, homeBasePath, pictureSide, uuid } from '../../common.ts';
import { body, dateTime, idParams, int32, notBlank, page, pageQuery, searchText, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';
import { absolutePath, runtimeSpec } from './runtime-spec.ts';

export const appKind = z.enum(['game', 'desktop', 'launcher']);
export const profilePolicy = z.enum(['inherit', 'prefer', 'force']);
export const appOrigin = z.enum(['manual', 'discovered']);

/**
 * Address of a picture: a path of this origin, an http(s) URL, "" or null. Browsers drop control characters and leading
 * spaces, and read `\\` as `/`, so these characters are refused: they could hide a scheme or another host.
 */
const pictureAddress = string({ max: 2048 }).refine(
  (value) =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    !/^ |[\0-\x1f]/.test(value) &&
    (/^https?:\/\/[^/\s]/i.test(value) || !/^([a-z][a-z0-9+.-]*:|[/\\]{2}|\\)/i.test(value)),
  { error: 'must be a path or an http(s) address' },
);

/** Descriptions of app fields, shared by reads and writes. */
const about = {
  name: 'Name that people see. Not blank; need not be unique.',
  description: 'A few sentences for people; "" is none.',
  cover_url:
    'Portrait picture (2:3): a path of this origin or an http(s) address; null is none. Written "" counts as null.',
  kind: 'How the app is presented: a game, a whole desktop, or a launcher of other titles.',
  enabled: 'A disabled app is hidden from people and cannot be launched.',
  parent_app_id:
    'The app that this one is a tile of: it runs what its parent runs and starts one title in it. null for an app of its own.',
  external_source: 'Where external_id comes from; "" when it has none.',
  external_id: 'Id of the title at external_source, decimal; "" is none.',
  default_width: 'Width of the picture where no profile decides. Pixels, even.',
  default_height: 'Height of the picture where no profile decides. Pixels, even.',
  default_fps: 'Frame rate where no profile decides. Frames per second.',
  default_bitrate_kbps: 'Video bitrate where no profile decides. Kilobits per second.',
  default_vram_mb:
    'Video memory the app is said to use, in MB. Informative: nothing is refused because of it.',
  default_encode_slots:
    "Encode slots that a session of this app takes from its GPU. A tile takes its parent's number.",
  runtime_spec:
    'How the app is started, kept exactly as sent. Recognised keys: image ("" or absent runs a process on the host, whose command line is args), args, env, mounts (`src:dst` or `src:dst:opts`), gpu, network (none, bridge; "" is bridge for a process, else what the host does), no_new_privileges, systempaths_unconfined (a process that brings its own sandbox may make user namespaces).',
  managed_home: 'Each account has a home of its own for this app, kept between sessions.',
  home_container_path: 'Where the home appears inside the app, absolute. Written "" counts as /home/service.',
  home_base:
    'Directory on the hosts that each home is opened over: people see its files, and change only their own layer. Absolute and normalised. null: homes start empty. Needs managed_home, and homes that are directories.',
  default_profile_id: 'The launch profile that profile_policy refers to; null is none.',
  profile_policy:
    "inherit: what the person chose, else the instance's default. prefer: the app's default unless the person chooses. force: always the app's default.",
  runtime_preset_id: 'The runtime preset that runtime_spec is merged over at each launch; null is none.',
  launchable_profile_ids: 'The only launch profiles that people may use with this app; [] is all of them.',
  library_provider:
    'Set on an app whose homes hold a library of titles that discovery may turn into tiles; "" is none.',
} as const;

/** An app in answers for people. */
export const appListItem = z
  .object({
    id: z.string().describe('Id of the app, a uuid.'),
    name: z.string().describe(about.name),
    description: z.string().describe(about.description),
    cover_url: z.string().nullable().describe(about.cover_url),
    hero_url: z.string().nullable().describe('Wide picture, set with the artwork; null is none.'),
    kind: appKind.describe(about.kind),
    parent_app_id: z.string().nullable().describe(about.parent_app_id),
    external_source: z.string().describe(about.external_source),
    external_id: z.string().describe(about.external_id),
    favourite: z.boolean().describe('Whether the caller marked this app.'),
    default_width: z.int().describe(about.default_width),
    default_height: z.int().describe(about.default_height),
    default_fps: z.int().describe(about.default_fps),
    default_bitrate_kbps: z.int().describe(about.default_bitrate_kbps),
    default_profile_id: z.string().nullable().describe(about.default_profile_id),
    profile_policy: profilePolicy.describe(about.profile_policy),
    display_stream: z
      .object({
        width: z.int().describe('Pixels.'),
        height: z.int().describe('Pixels.'),
        fps: z.int().describe('Frames per second.'),
        bitrate_kbps: z.int().describe('Nominal video bitrate, kilobits per second.'),
      })
      .describe('What a launch without any choice would stream.'),
    enabled: z.boolean().describe(about.enabled),
  })
  .meta({ id: 'AppListItem', description: 'An app as people see it.' });
export type AppListItem = z.output<typeof appListItem>;

/** An app in answers for administrators. runtime_spec is the stored one and never merged with a preset. */
export const adminApp = appListItem
  .extend({
    default_vram_mb: z.int().describe(about.default_vram_mb),
    default_encode_slots: z.int().describe(about.default_encode_slots),
    runtime_spec: runtimeSpec.describe(about.runtime_spec),
    managed_home: z.boolean().describe(about.managed_home),
    home_container_path: z.string().describe(about.home_container_path),
    home_base: z.string().nullable().describe(about.home_base),
    runtime_preset_id: z.string().nullable().describe(about.runtime_preset_id),
    launchable_profile_ids: z.array(z.string()).describe(`${about.launchable_profile_ids} Sorted.`),
    origin: appOrigin.describe('Who made the app: an administrator, or library discovery.'),
    library_provider: z.string().describe(about.library_provider),
    library_discovery_suspended: z
      .boolean()
      .describe('Disabled because library discovery was switched off; writing `enabled` clears it.'),
    sessions_30d: z.int().describe('Sessions of this app, in whatever state, created in the last 30 days.'),
  })
  .meta({ id: 'AdminApp', description: 'An app as administrators see it.' });
export type AdminApp = z.output<typeof adminApp>;

/** Fields that create and change have in common, with all rules that need no look-up. */
const appFields = {
  description: string().optional().describe(about.description),
  cover_url: pictureAddress.nullable().optional().describe(about.cover_url),
  kind: appKind.optional().describe(about.kind),
  enabled: z.boolean().optional().describe(about.enabled),
  parent_app_id: uuid.nullable().optional().describe(about.parent_app_id),
  external_source: z.enum(['', 'steam']).optional().describe(about.external_source),
  external_id: z
    .string()
    .regex(/^(|[1-9][0-9]{0,9})$/)
    .optional()
    .describe(about.external_id),
  library_provider: z.enum(['', 'steam']).optional().describe(about.library_provider),
  default_width: pictureSide.optional().describe(about.default_width),
  default_height: pictureSide.optional().describe(about.default_height),
  default_fps: frameRate.optional().describe(about.default_fps),
  default_bitrate_kbps: bitrateKbps.optional().describe(about.default_bitrate_kbps),
  default_vram_mb: int32(0).optional().describe(about.default_vram_mb),
  default_encode_slots: int32(1).optional().describe(about.default_encode_slots),
  runtime_spec: runtimeSpec.optional().describe(about.runtime_spec),
  managed_home: z.boolean().optional().describe(about.managed_home),
  home_container_path: z
    .union([z.literal(''), absolutePath], { error: 'must be an absolute path' })
    .optional()
    .describe(about.home_container_path),
  home_base: homeBasePath.nullable().optional().describe(about.home_base),
  default_profile_id: string().nullable().optional().describe(about.default_profile_id),
  profile_policy: z
    .enum(['', ...profilePolicy.options])
    .optional()
    .describe(`${about.profile_policy} Written "" counts as inherit.`),
  runtime_preset_id: uuid.nullable().optional().describe(about.runtime_preset_id),
  launchable_profile_ids: z
    .array(string({ min: 1 }))
    .optional()
    .describe(about.launchable_profile_ids),
};

const appCreate = { name: notBlank().describe(about.name), ...appFields };
export const appCreateBody = body({
  ...appCreate,
  entitle: z
    .enum(['all', 'none'])
    .optional()
    .describe('Who may use the new app: everybody (left out too), or nobody yet.'),
});
/**
 * An entry of the seed file: the body of a create, in which an app may also be reserved for the first administrator.
 */
export const appSeedEntry = body({
  ...appCreate,
  entitle: z.enum(['all', 'none', 'first_admin']).optional(),
});
export type AppSeedEntry = z.output<typeof appSeedEntry>;
const appUpdateBody = body({ name: notBlank().optional().describe(about.name), ...appFields });

/** While this row exists, the subject may see and launch the app. */
export const entitlement = z
  .object({
    id: z.string().describe('Id of the entitlement, a uuid.'),
    subject_type: z.enum(['all', 'user']).describe('Who holds it: everybody, or one account.'),
    subject_id: z.string().nullable().describe('The account that holds it; null for everybody.'),
    subject_username: z.string().nullable().describe('Name of that account; null for everybody.'),
    app_id: z.string().describe('The app that may be seen and launched.'),
    app_name: z.string().describe('Name of that app.'),
    granted_by: z
      .enum(['admin', 'provider', 'migration'])
      .describe(
        'Where it comes from: an administrator, library discovery, or an upgrade of the database. All give the same.',
      ),
    granted_by_user: z
      .string()
      .nullable()
      .describe('The administrator who granted it; null when nobody did by hand or that account is gone.'),
    source_ref: z.string().describe('What library discovery granted it for; "" otherwise.'),
    created_at: dateTime.describe('When it was granted.'),
  })
  .meta({ id: 'Entitlement', description: 'Permission of one account or all to see and launch an app.' });
export type Entitlement = z.output<typeof entitlement>;

/** `all` needs no subject (missing, null or ""); `user` needs one. */
const grantBody = body({
  subject_type: z.enum(['all', 'user']).describe('Who gets it: everybody, or one account.'),
  subject_id: z
    .union([uuid, z.literal('')])
    .nullish()
    .describe('The account, for subject_type user; absent, null or "" for all.'),
}).superRefine((grant, context) => {
  const named = grant.subject_id !== undefined && grant.subject_id !== null && grant.subject_id !== '';
  if (named !== (grant.subject_type === 'user')) {
    context.addIssue({
      code: 'custom',
      path: ['subject_id'],
      message: named ? 'must be absent for subject_type all' : 'is required for subject_type user',
    });
  }
});

const entitlementParams = z.object({
  id: uuid.describe('The app.'),
  entitlement_id: uuid.describe('The entitlement, which must be one of that app.'),
});

const entitlementModes = z.enum(['all', 'user', 'none']);
const entitlementMode = z
  .object({
    provider: z.string().describe('The library provider, lower-case.'),
    app_id: z.string().describe('The app whose entitlements were replaced.'),
    mode: entitlementModes.describe('What was asked for.'),
    items: z.array(entitlement).describe('All entitlements of the app afterwards.'),
  })
  .meta({ id: 'EntitlementMode', description: "Who may use a library provider's app." });
export type EntitlementMode = z.output<typeof entitlementMode>;

const exampleItem = {
  id: exampleIds.app,
  name: 'SuperTux',
  description: 'Jump and run',
  cover_url: null,
  hero_url: null,
  kind: 'game',
  parent_app_id: null,
  external_source: '',
  external_id: '',
  favourite: true,
  default_width: 1920,
  default_height: 1080,
  default_fps: 60,
  default_bitrate_kbps: 15000,
  default_profile_id: null,
  profile_policy: 'inherit',
  display_stream: { width: 1920, height: 1080, fps: 60, bitrate_kbps: 15000 },
  enabled: true,
};
const exampleApp = {
  ...exampleItem,
  favourite: false,
  default_vram_mb: 1024,
  default_encode_slots: 1,
  runtime_spec: { args: ['supertux2', '--fullscreen'], gpu: true },
  managed_home: true,
  home_container_path: '/home/service',
  home_base: null,
  runtime_preset_id: null,
  launchable_profile_ids: [],
  origin: 'manual',
  library_provider: '',
  library_discovery_suspended: false,
  sessions_30d: 12,
};
export const exampleEntitlement = {
  id: exampleIds.entitlement,
  subject_type: 'user',
  subject_id: exampleIds.alice,
  subject_username: 'alice',
  app_id: exampleIds.app,
  app_name: 'SuperTux',
  granted_by: 'admin',
  granted_by_user: exampleIds.admin,
  source_ref: '',
  created_at: '2026-11-20T12:00:00.000Z',
};
const LOOKED_UP =
  'The parent, preset or a launch profile does not exist or does not fit, or the app would be no proper tile.';

export const catalogOperations = {
  'apps.list': operation({
    id: 'apps.list',
    method: 'GET',
    path: '/v1/apps',
    auth: 'user',
    summary: 'Apps the caller may launch',
    query: pageQuery(50),
    responses: { 200: page(appListItem) },
    example: { query: { limit: '50' }, response: { items: [exampleItem], next_cursor: null } },
  }),
  'apps.create': operation({
    id: 'apps.create',
    method: 'POST',
    path: '/v1/apps',
    auth: 'admin',
    summary: 'Create an app',
    body: { schema: appCreateBody },
    responses: { 201: z.object({ app: adminApp }) },
    refusals: {
      validation_failed: LOOKED_UP,
      library_discovery_disabled: '`library_provider` is set while library discovery is off.',
      conflict: 'The parent already has a tile for this title.',
    },
    example: {
      body: {
        name: 'SuperTux',
        description: 'Jump and run',
        runtime_spec: { args: ['supertux2', '--fullscreen'], gpu: true },
        managed_home: true,
      },
      response: { app: { ...exampleApp, sessions_30d: 0 } },
    },
  }),
  'apps.read': operation({
    id: 'apps.read',
    method: 'GET',
    path: '/v1/apps/{id}',
    auth: 'user',
    summary: 'One app; administrators get the full record',
    params: idParams,
    responses: {
      200: z.object({
        app: z.union([adminApp, appListItem]).describe('The app; with the full record for administrators.'),
      }),
    },
    refusals: { not_found: 'There is no such app; for people also: it is disabled, or not theirs to use.' },
    example: { params: { id: exampleIds.app }, response: { app: exampleItem } },
  }),
  'apps.update': operation({
    id: 'apps.update',
    method: 'PATCH',
    path: '/v1/apps/{id}',
    auth: 'admin',
    summary: 'Change an app',
    params: idParams,
    body: { schema: appUpdateBody },
    responses: { 200: z.object({ app: adminApp }) },
    refusals: {
      not_found: 'There is no such app.',
      validation_failed: LOOKED_UP,
      conflict:
        '`cover_url` is sent while the app has artwork; or the parent already has a tile for this title.',
      library_discovery_disabled:
        'An enabled library app would be the result of setting library_provider or enabled while discovery is off.',
    },
    example: {
      params: { id: exampleIds.app },
      body: { default_fps: 30 },
      response: {
        app: { ...exampleApp, default_fps: 30, display_stream: { ...exampleApp.display_stream, fps: 30 } },
      },
    },
  }),
  'apps.delete': operation({
    id: 'apps.delete',
    method: 'DELETE',
    path: '/v1/apps/{id}',
    auth: 'admin',
    summary: 'Delete an app, with its derived tiles only when asked to',
    params: idParams,
    // Only the exact text `true` is accepted, so that a mistake of a client deletes no tiles.
    query: z.object({
      delete_derived: z
        .unknown()
        .optional()
        .transform((value) => value === 'true')
        .meta({
          type: 'boolean',
          description: 'Exactly `true` deletes the tiles of the app with it; anything else does not.',
        }),
    }),
    responses: { 204: null },
    refusals: {
      not_found: 'There is no such app.',
      conflict:
        'The app has tiles and delete_derived is not true: they are listed in derived_tiles, by name, at most 200. Or a session of the app or of a tile has not ended.',
    },
    example: { params: { id: exampleIds.app }, query: { delete_derived: 'true' } },
  }),
  'admin.apps.list': operation({
    id: 'admin.apps.list',
    method: 'GET',
    path: '/v1/admin/apps',
    auth: 'admin',
    summary: 'All apps, full records',
    query: pageQuery(50).extend({
      q: searchText.describe('Part of the name, whatever its case, taken literally.'),
    }),
    responses: { 200: page(adminApp) },
    example: { query: { q: 'tux' }, response: { items: [exampleApp], next_cursor: null } },
  }),
  'entitlements.list': operation({
    id: 'entitlements.list',
    method: 'GET',
    path: '/v1/admin/apps/{id}/entitlements',
    auth: 'admin',
    summary: 'Who may launch an app',
    params: idParams,
    responses: {
      200: z.object({
        items: z.array(entitlement).describe("Everybody's row first, then those of accounts by their names."),
      }),
    },
    refusals: { not_found: 'There is no such app.' },
    example: { params: { id: exampleIds.app }, response: { items: [exampleEntitlement] } },
  }),
  'entitlements.grant': operation({
    id: 'entitlements.grant',
    method: 'POST',
    path: '/v1/admin/apps/{id}/entitlements',
    auth: 'admin',
    summary: 'Let everybody or one account launch an app',
    params: idParams,
    body: { schema: grantBody },
    responses: { 201: z.object({ entitlement }) },
    refusals: {
      not_found: 'There is no such app, or no such account.',
      conflict: 'Everybody, or this account, has an entitlement to the app already.',
    },
    example: {
      params: { id: exampleIds.app },
      body: { subject_type: 'user', subject_id: exampleIds.alice },
      response: { entitlement: exampleEntitlement },
    },
  }),
  'entitlements.revoke': operation({
    id: 'entitlements.revoke',
    method: 'DELETE',
    path: '/v1/admin/apps/{id}/entitlements/{entitlement_id}',
    auth: 'admin',
    summary: 'Take an entitlement back',
    params: entitlementParams,
    responses: { 204: null },
    refusals: { not_found: 'There is no such entitlement, or it is one of another app.' },
    example: { params: { id: exampleIds.app, entitlement_id: exampleEntitlement.id } },
  }),
  'libraryProviders.setEntitlementMode': operation({
    id: 'libraryProviders.setEntitlementMode',
    method: 'POST',
    path: '/v1/admin/library-providers/{provider}/entitlement-mode',
    auth: 'admin',
    summary: "Replace every entitlement of a library provider's app",
    params: z.object({
      provider: string()
        .transform((value) => value.trim().toLowerCase())
        .refine((value) => value !== '', { error: 'must not be blank' })
        .describe('The library provider, in any case: steam.'),
    }),
    body: {
      schema: body({
        mode: entitlementModes.describe(
          'Who may use the app from now on: everybody, the caller alone, or nobody.',
        ),
      }),
    },
    responses: { 200: z.object({ entitlement_mode: entitlementMode }) },
    refusals: { not_found: 'No app has this library provider.' },
    example: {
      params: { provider: 'steam' },
      body: { mode: 'user' },
      response: {
        entitlement_mode: {
          provider: 'steam',
          app_id: exampleIds.app,
          mode: 'user',
          items: [
            {
              ...exampleEntitlement,
              subject_id: exampleIds.admin,
              subject_username: 'admin',
              app_name: 'Steam',
            },
          ],
        },
      },
    },
  }),
} as const;
