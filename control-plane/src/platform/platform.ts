import type { Clock, Logger, Random } from '@footlight/platform';
import type { Bus } from './bus.ts';
import type { Config } from './config/config.ts';
import type { Database } from './database/database.ts';
import type { Leader } from './leader.ts';

/** Writes the activity log; never throws and never rolls anything back. */
export interface Activity {
  /** Call after the operation's commit. Details over 4096 bytes become {truncated: true}. */
  record(entry: ActivityEntry): Promise<void>;
}

export interface ActivityEntry {
  /** null for actions without a caller: boot, agents, expiry. */
  actorUserId: string | null;
  action: string;
  targetType: string;
  targetId: string | null;
  /** Ids, names, counts and keys; never a secret or a setting's value. */
  details?: Record<string, unknown>;
}

/** Dependencies of every feature. */
export interface Platform {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly bus: Bus;
  readonly leader: Leader;
  readonly activity: Activity;
}
