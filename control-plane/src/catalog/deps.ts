import type { AppListItem } from '@footlight/protocol/rest';
import type { Executor, Tx } from '../platform/database/index.ts';

/** Stream numbers of a launch without a choice; null: the app's own numbers. */
export type DisplayStreams = (
  app: Pick<AppListItem, 'default_profile_id' | 'profile_policy'>,
) => AppListItem['display_stream'] | null;

/** Dependencies of apps on launch profiles. */
export interface CatalogDeps {
  /** Which ids are launch profiles that people may choose; locked until the transaction ends. */
  lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>>;
  /** Reads the display streams of a list once. */
  loadDisplayStreams(db: Executor): Promise<DisplayStreams>;
}
