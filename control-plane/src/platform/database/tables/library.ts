import type { Flag } from '../codec.ts';

/** Library discovery: scans of homes, the titles that they found, and the rules of administrators. */
export interface LibraryTables {
  library_scans: LibraryScansTable;
  library_observations: LibraryObservationsTable;
  library_appid_rules: LibraryAppidRulesTable;
}

/** One scan of one home. At most one scan per user, app and host is pending or claimed. */
export interface LibraryScansTable {
  id: string;
  user_id: string;
  /** The provider app. */
  app_id: string;
  host_id: string;
  state: 'pending' | 'claimed' | 'reported' | 'failed';
  /** null: the scan was never claimed. */
  claimed_at: number | null;
  /** Boot id of the agent that claimed the scan; null: the agent sent none. */
  claimed_boot: string | null;
  /** Time of the scan's end, reported or failed. */
  reported_at: number | null;
  complete: Flag | null;
  error: string;
  observed: number;
  suppressed: number;
  created: number;
  disabled: number;
  granted: number;
  revoked: number;
  rejected: number;
  backfilled: number;
  created_at: number;
}

/** A title in the home of one user on one host. */
export interface LibraryObservationsTable {
  user_id: string;
  parent_app_id: string;
  external_source: string;
  external_id: string;
  host_id: string;
  /** "": no manifest could be read yet. */
  name: string;
  last_seen_at: number;
  /**
   * Reason why the last report did not publish the title; "": it was published. API answers do not use this value
   * directly, because rules may have changed since.
   */
  suppressed_by: string;
}

/** An administrator's decision about a title of a provider app. */
export interface LibraryAppidRulesTable {
  parent_app_id: string;
  external_source: string;
  external_id: string;
  rule: 'ignore' | 'allow';
  note: string;
  /** null after the deletion of the account. */
  created_by: string | null;
  created_at: number;
}
