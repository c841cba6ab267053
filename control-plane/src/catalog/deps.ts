import type { AppListItem } from '@footlight/protocol/rest';
import type { Executor, Tx } from '../platform/database/index.ts';

/** Size, frame rate and bitrate of a launch when the person chose no profile; null: the app's own values apply. */
export type DisplayStreams = (
  app: Pick<AppListItem, 'default_profile_id' | 'profile_policy'>,
) => AppListItem['display_stream'] | null;

/** Dependencies of apps on launch profiles. */
export interface CatalogDeps {
  /**
   * Returns the given ids whose launch profiles people may choose, and locks these profiles until the transaction ends.
   */
  lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>>;
  /** Reads the data for all apps of a list at once. */
  loadDisplayStreams(db: Executor): Promise<DisplayStreams>;
}
