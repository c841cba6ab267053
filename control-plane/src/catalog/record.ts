import type { AdminApp, AppListItem } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { bool, flag, fromJson, toJson } from '../platform/database/index.ts';
import type { AppsTable } from '../platform/database/tables/catalog.ts';
import type { AppFields } from './rules/app-rules.ts';

export type AppRow = Selectable<AppsTable>;

/** Database columns for the fields of an app. */
export function toColumns(fields: AppFields) {
  return {
    ...fields,
    enabled: flag(fields.enabled),
    managed_home: flag(fields.managed_home),
    runtime_spec: toJson(fields.runtime_spec),
  };
}

export function toFields({
  id: _id,
  hero_url: _hero,
  origin: _origin,
  library_discovery_suspended: _suspended,
  entitle_first_admin: _entitle,
  created_at: _created,
  updated_at: _updated,
  ...row
}: AppRow): AppFields {
  return {
    ...row,
    enabled: bool(row.enabled),
    managed_home: bool(row.managed_home),
    runtime_spec: fromJson(row.runtime_spec),
  };
}

/** Values that an app's view needs from other tables. */
export interface ListExtras {
  favourite: boolean;
  /** Stream of a launch when the person chose no profile; null: the app's own values apply. */
  displayStream: AppListItem['display_stream'] | null;
}

/** Columns that a person's list shows; runtime_spec is excluded because it may be long. */
export const LIST_COLUMNS = [
  'id',
  'name',
  'description',
  'cover_url',
  'hero_url',
  'kind',
  'parent_app_id',
  'external_source',
  'external_id',
  'default_width',
  'default_height',
  'default_fps',
  'default_bitrate_kbps',
  'default_profile_id',
  'profile_policy',
  'enabled',
] as const;

export type ListRow = Pick<AppRow, (typeof LIST_COLUMNS)[number]>;

/** The app's own size, frame rate and bitrate, used when no launch profile applies. */
export function ownStream(row: ListRow): AppListItem['display_stream'] {
  return {
    width: row.default_width,
    height: row.default_height,
    fps: row.default_fps,
    bitrate_kbps: row.default_bitrate_kbps,
  };
}

/** An app's record in a person's list. */
export function toListItem(row: ListRow, { favourite, displayStream }: ListExtras): AppListItem {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    cover_url: row.cover_url,
    hero_url: row.hero_url,
    kind: row.kind,
    parent_app_id: row.parent_app_id,
    external_source: row.external_source,
    external_id: row.external_id,
    favourite,
    default_width: row.default_width,
    default_height: row.default_height,
    default_fps: row.default_fps,
    default_bitrate_kbps: row.default_bitrate_kbps,
    default_profile_id: row.default_profile_id,
    profile_policy: row.profile_policy,
    display_stream: displayStream ?? ownStream(row),
    enabled: bool(row.enabled),
  };
}

/** Values that an administrator's view needs from other tables. */
export interface AdminExtras extends ListExtras {
  launchableProfileIds: readonly string[];
  sessions30d: number;
}

export function toAdminApp(row: AppRow, extras: AdminExtras): AdminApp {
  return {
    ...toListItem(row, extras),
    ...toFields(row),
    launchable_profile_ids: [...extras.launchableProfileIds].sort(),
    origin: row.origin,
    library_discovery_suspended: bool(row.library_discovery_suspended),
    sessions_30d: extras.sessions30d,
  };
}
