import type { Generated } from 'kysely';

/** What administrators and the service did. */
export interface ActivityTables {
  activity: ActivityTable;
}

export interface ActivityTable {
  id: Generated<number>;
  /** null for what happens without a caller: boot, agents, expiry. */
  actor_user_id: string | null;
  action: string;
  target_type: string;
  target_id: string | null;
  /** JSON object, at most 4096 bytes; ids, names, counts and key names, never a secret. */
  details: string;
  created_at: number;
}
