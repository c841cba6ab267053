import type { Clock } from '../platform/clock.ts';
import { type Database, toJson } from '../platform/database/index.ts';
import type { Logger } from '../platform/logger.ts';
import type { Activity } from '../platform/platform.ts';

/** Longest rendered details of one row, UTF-8 bytes. */
const MAX_DETAILS_BYTES = 4096;

/** The activity log's writer. */
export function createActivity(deps: { database: Database; clock: Clock; logger: Logger }): Activity {
  const { database, clock, logger } = deps;
  return {
    async record({ actorUserId, action, targetType, targetId, details = {} }) {
      const rendered = toJson(details);
      try {
        await database.db
          .insertInto('activity')
          .values({
            actor_user_id: actorUserId,
            action,
            target_type: targetType,
            target_id: targetId,
            details: Buffer.byteLength(rendered) > MAX_DETAILS_BYTES ? toJson({ truncated: true }) : rendered,
            created_at: clock.nowMs(),
          })
          .execute();
      } catch (error) {
        logger.error({ event: 'activity.not_recorded', action, targetType, targetId, err: error });
      }
    },
  };
}
