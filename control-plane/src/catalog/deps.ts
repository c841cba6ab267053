import type { AppListItem } from '@footlight/protocol/rest';
import type { Executor, Tx } from '../platform/database/index.ts';

/** Numbers of the stream that a launch of the app would start where nobody chooses; null: the app's own apply. */
export type DisplayStreams = (
  app: Pick<AppListItem, 'default_profile_id' | 'profile_policy'>,
) => AppListItem['display_stream'] | null;

/** What apps need of the launch profiles, which are a feature of their own. */
export interface CatalogDeps {
  /** Those of the ids that name a launch profile which people may choose, held until the transaction ends. */
  lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>>;
  /** Reads once what the apps of a list are shown with. */
  loadDisplayStreams(db: Executor): Promise<DisplayStreams>;
}
