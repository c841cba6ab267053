import type { Clock, Logger, Random } from '@footlight/platform';
import type { ActivityAction } from '@footlight/protocol/rest';
import type { Bus } from './bus/bus.ts';
import type { Config } from './config/config.ts';
import type { Database } from './database/database.ts';
import type { Leader } from './leader.ts';

/** Writes the activity log; never throws and never rolls anything back. */
export interface Activity {
  /**
   * Call after the operation's commit.
   * @param actorUserId null for actions without a caller: boot, agents, expiry
   * @param details ids, names, counts and keys; never a secret or a setting's value. Over 4096 bytes they become
   *   {truncated: true}
   */
  record(
    actorUserId: string | null,
    action: ActivityAction,
    targetId: string | null,
    details?: Record<string, unknown>,
  ): Promise<void>;
  /** Waits for the entries that are being written. */
  settled(): Promise<void>;
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
