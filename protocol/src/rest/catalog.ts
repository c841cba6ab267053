import { z } from 'zod';
import { isJsonObject, isShallow, uuid } from '../common.ts';
import {
  body,
  dateTime,
  evenPixels,
  idParams,
  int32,
  notBlank,
  page,
  pageQuery,
  searchText,
  string,
} from './atoms.ts';
import { operation } from './operation.ts';

export const appKind = z.enum(['game', 'desktop', 'launcher']);
export const profilePolicy = z.enum(['inherit', 'prefer', 'force']);
export const appOrigin = z.enum(['manual', 'discovered']);

/**
 * How an app is started: stored as sent, unknown keys and all. `image` absent or "" is the process runtime, where
 * `args` is the command with its arguments. Checked in place and never copied, so no key is lost or merged.
 */
export interface RuntimeSpec {
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Entries `src:dst` or `src:dst:opts`. */
  readonly mounts?: readonly string[];
  readonly gpu?: boolean;
  readonly network?: '' | 'none' | 'bridge';
  readonly no_new_privileges?: boolean;
  readonly systempaths_unconfined?: boolean;
  readonly [key: string]: unknown;
}

const strings = z.array(z.string());
const RUNTIME_SPEC_KEYS: Readonly<Record<string, z.ZodType>> = {
  image: z.string(),
  args: strings,
  mounts: strings,
  gpu: z.boolean(),
  network: z.enum(['', 'none', 'bridge']),
  no_new_privileges: z.boolean(),
  systempaths_unconfined: z.boolean(),
};

/** The first recognised key of a runtime spec whose value has the wrong type; undefined when all are right. */
function wrongRuntimeKey(spec: object): string | undefined {
  for (const [key, value] of Object.entries(spec)) {
    if (key === 'env') {
      if (!isJsonObject(value) || !Object.values(value).every((entry) => typeof entry === 'string'))
        return key;
      continue;
    }
    const schema = Object.hasOwn(RUNTIME_SPEC_KEYS, key) ? RUNTIME_SPEC_KEYS[key] : undefined;
    if (schema && !schema.safeParse(value).success) return key;
  }
  return undefined;
}

export const runtimeSpec = z
  .custom<RuntimeSpec>((value) => isJsonObject(value) && isShallow(value), {
    error: 'must be an object, not nested too deep',
    abort: true,
  })
  .superRefine((spec, context) => {
    const key = wrongRuntimeKey(spec);
    if (key !== undefined) context.addIssue({ code: 'custom', message: 'has the wrong type', path: [key] });
  });

/** A picture's address: a path of this origin, an http(s) URL, "" or null. */
const pictureAddress = string({ max: 2048 }).refine(
  (value) =>
    value === '' || /^https?:\/\/[^/\s]/i.test(value) || !/^([a-z][a-z0-9+.-]*:|\/\/|\\)/i.test(value),
  { error: 'must be a path or an http(s) address' },
);

const absolutePath = string().refine((value) => value === '' || value.startsWith('/'), {
  error: 'must be an absolute path',
});

/** An app as people see it. */
export const appListItem = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  cover_url: z.string().nullable(),
  hero_url: z.string().nullable(),
  kind: appKind,
  parent_app_id: z.string().nullable(),
  external_source: z.string(),
  external_id: z.string(),
  favourite: z.boolean(),
  default_width: z.int(),
  default_height: z.int(),
  default_fps: z.int(),
  default_bitrate_kbps: z.int(),
  default_profile_id: z.string().nullable(),
  profile_policy: profilePolicy,
  display_stream: z.object({ width: z.int(), height: z.int(), fps: z.int(), bitrate_kbps: z.int() }),
  enabled: z.boolean(),
});
export type AppListItem = z.output<typeof appListItem>;

/** An app as administrators see it. runtime_spec is the stored one, never merged with a preset. */
export const adminApp = appListItem.extend({
  default_vram_mb: z.int(),
  default_encode_slots: z.int(),
  runtime_spec: runtimeSpec,
  managed_home: z.boolean(),
  home_container_path: z.string(),
  runtime_preset_id: z.string().nullable(),
  launchable_profile_ids: z.array(z.string()),
  origin: appOrigin,
  library_provider: z.string(),
  library_discovery_suspended: z.boolean(),
  sessions_30d: z.int(),
});
export type AdminApp = z.output<typeof adminApp>;

/** What create and change have in common; every rule that needs no lookup. */
const appFields = {
  description: string().optional(),
  cover_url: pictureAddress.nullable().optional(),
  kind: appKind.optional(),
  enabled: z.boolean().optional(),
  parent_app_id: uuid.nullable().optional(),
  external_source: z.enum(['', 'steam']).optional(),
  external_id: z
    .string()
    .regex(/^(|[1-9][0-9]{0,9})$/)
    .optional(),
  library_provider: z.enum(['', 'steam']).optional(),
  default_width: evenPixels(16, 7680).optional(),
  default_height: evenPixels(16, 7680).optional(),
  default_fps: int32(1, 240).optional(),
  default_bitrate_kbps: int32(1, 500000).optional(),
  default_vram_mb: int32(0).optional(),
  default_encode_slots: int32(1).optional(),
  runtime_spec: runtimeSpec.optional(),
  managed_home: z.boolean().optional(),
  home_container_path: absolutePath.optional(),
  default_profile_id: string().nullable().optional(),
  profile_policy: z.enum(['', ...profilePolicy.options]).optional(),
  runtime_preset_id: uuid.nullable().optional(),
  launchable_profile_ids: z.array(string({ min: 1 })).optional(),
};

const appCreate = { name: notBlank, ...appFields };
export const appCreateBody = body({ ...appCreate, entitle: z.enum(['all', 'none']).optional() });
/** An entry of the seed file: the create body, where an app may also be kept for the first administrator. */
export const appSeedEntry = body({
  ...appCreate,
  entitle: z.enum(['all', 'none', 'first_admin']).optional(),
});
export type AppSeedEntry = z.output<typeof appSeedEntry>;
const appUpdateBody = body({ name: notBlank.optional(), ...appFields });

/** This subject may see and launch this app. The presence of the row is the fact. */
export const entitlement = z.object({
  id: z.string(),
  subject_type: z.enum(['all', 'user']),
  subject_id: z.string().nullable(),
  subject_username: z.string().nullable(),
  app_id: z.string(),
  app_name: z.string(),
  granted_by: z.enum(['admin', 'provider', 'migration']),
  granted_by_user: z.string().nullable(),
  source_ref: z.string(),
  created_at: dateTime,
});
export type Entitlement = z.output<typeof entitlement>;

/** `all` takes no subject (absent, null or ""), `user` needs one. */
const grantBody = body({
  subject_type: z.enum(['all', 'user']),
  subject_id: z.union([uuid, z.literal('')]).nullish(),
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

const entitlementParams = z.object({ id: uuid, entitlement_id: uuid });

export const catalogOperations = {
  'apps.list': operation({
    id: 'apps.list',
    method: 'GET',
    path: '/v1/apps',
    auth: 'user',
    summary: 'Apps the caller may launch',
    query: pageQuery(50),
    responses: { 200: page(appListItem) },
  }),
  'apps.create': operation({
    id: 'apps.create',
    method: 'POST',
    path: '/v1/apps',
    auth: 'admin',
    summary: 'Create an app',
    body: { schema: appCreateBody },
    responses: { 201: z.object({ app: adminApp }) },
    refusals: { conflict: '', library_discovery_disabled: '' },
  }),
  'apps.read': operation({
    id: 'apps.read',
    method: 'GET',
    path: '/v1/apps/{id}',
    auth: 'user',
    summary: 'One app; administrators get the full record',
    params: idParams,
    responses: { 200: z.object({ app: z.union([adminApp, appListItem]) }) },
    refusals: { not_found: '' },
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
    refusals: { not_found: '', conflict: '', library_discovery_disabled: '' },
  }),
  'apps.delete': operation({
    id: 'apps.delete',
    method: 'DELETE',
    path: '/v1/apps/{id}',
    auth: 'admin',
    summary: 'Delete an app, with its derived tiles only when asked to',
    params: idParams,
    // Only the exact text `true` opts in, so that no slip of a client destroys tiles.
    query: z.object({
      delete_derived: z
        .unknown()
        .optional()
        .transform((value) => value === 'true'),
    }),
    responses: { 204: null },
    refusals: { not_found: '', conflict: '' },
  }),
  'admin.apps.list': operation({
    id: 'admin.apps.list',
    method: 'GET',
    path: '/v1/admin/apps',
    auth: 'admin',
    summary: 'All apps, full records',
    query: pageQuery(50).extend({ q: searchText }),
    responses: { 200: page(adminApp) },
  }),
  'entitlements.list': operation({
    id: 'entitlements.list',
    method: 'GET',
    path: '/v1/admin/apps/{id}/entitlements',
    auth: 'admin',
    summary: 'Who may launch an app',
    params: idParams,
    responses: { 200: z.object({ items: z.array(entitlement) }) },
    refusals: { not_found: '' },
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
    refusals: { not_found: '', conflict: '' },
  }),
  'entitlements.revoke': operation({
    id: 'entitlements.revoke',
    method: 'DELETE',
    path: '/v1/admin/apps/{id}/entitlements/{entitlement_id}',
    auth: 'admin',
    summary: 'Take an entitlement back',
    params: entitlementParams,
    responses: { 204: null },
    refusals: { not_found: '' },
  }),
} as const;
