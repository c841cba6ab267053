import type { Generated } from 'kysely';

/** Actions of administrators and of the service. */
export interface ActivityTables {
  activity: ActivityTable;
}

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
