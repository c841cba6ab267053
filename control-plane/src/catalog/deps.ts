import type { AppListItem } from '@footlight/protocol/rest';
import type { Executor, Tx } from '../platform/database/index.ts';

/** Stream numbers of a launch when the person chose no profile; null: the app's own numbers apply. */
export type DisplayStreams = (
  app: Pick<AppListItem, 'default_profile_id' | 'profile_policy'>,
) => AppListItem['display_stream'] | null;

/** Dependencies of apps on launch profiles. */
export interface CatalogDeps {
  /**
   * Returns the ids that are launch profiles which people may choose, and locks these profiles until the transaction
   * ends.
   */
  lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>>;
  /** Reads what all apps of one list need, in one step. */
  loadDisplayStreams(db: Executor): Promise<DisplayStreams>;
}
