import type { Generated } from 'kysely';

/** Actions of administrators and of the service. */
export interface ActivityTables {
  activity: ActivityTable;
  activity_seals: ActivitySealsTable;
}

/** Rows are never changed or deleted, because their seals cover all columns. */
export interface ActivityTable {
  id: Generated<number>;
  /** null for actions without a caller: boot, agents, expiry. */
  actor_user_id: string | null;
  action: string;
  target_type: string;
  target_id: string | null;
  /** JSON object, at most 4096 bytes; ids, names, counts and key names, never a secret. */
  details: string;
  created_at: number;
}

/** Links of the chain over the activity log; `activity/chain.ts` computes them. */
export interface ActivitySealsTable {
  /** Position in the chain, 1 for the oldest entry, without gaps. */
  number: number;
  activity_id: number;
  sealed_at: number;
  /** Version of the master key from which the key of this seal is derived. */
  key_version: number;
  /** HMAC-SHA256, hex. */
  hash: string;
}
