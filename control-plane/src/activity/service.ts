import { ACTIVITY_ACTIONS, type ActivityEntry, type ActivityQuery } from '@footlight/protocol/rest';
import { fromJson, instant, toJson } from '../platform/database/index.ts';
import type { Activity, Platform } from '../platform/platform.ts';
import { severityOf } from './severity.ts';
import { type ActivityRow, insertEntry, listEntries } from './store.ts';

/** Longest serialized details of one row, UTF-8 bytes. */
const MAX_DETAILS_BYTES = 4096;

/**
 * The activity log: features write, administrators read. An entry may be written after its operation was answered, so
 * the control plane awaits settled() before it closes the database.
 */
export interface ActivityLog extends Activity {
  /** A page of the log, newest first; next_cursor is the number of the last entry, null on the last page. */
  list(query: ActivityQuery): Promise<{ items: ActivityEntry[]; next_cursor: number | null }>;
}

export function createActivity(
  deps: Pick<Platform, 'database' | 'clock' | 'logger' | 'webhook'>,
): ActivityLog {
  const { database, clock, logger, webhook } = deps;
  /** Writes that are not finished. Their number is bounded by the concurrent operations. */
  const underWay = new Set<Promise<void>>();

  async function write(...[actorUserId, action, targetId, details = {}]: Parameters<Activity['record']>) {
    const rendered = toJson(details);
    const entry = {
      actor_user_id: actorUserId,
      action,
      target_type: ACTIVITY_ACTIONS[action],
      target_id: targetId,
      details: Buffer.byteLength(rendered) > MAX_DETAILS_BYTES ? toJson({ truncated: true }) : rendered,
      created_at: clock.nowMs(),
    };
    try {
      if (webhook === null) await insertEntry(database.db, entry);
      else
        await database.transaction(async (tx) => {
          const id = await insertEntry(tx, entry);
          const { actor_username: _, ...data } = toRecord({ ...entry, id, actor_username: null });
          await webhook.add(tx, [{ type: `activity.${action}`, data }]);
        });
    } catch (error) {
      logger.error({ action, targetId, err: error }, 'activity.not_recorded');
    }
  }

  return {
    record(...entry) {
      const written = write(...entry).finally(() => underWay.delete(written));
      underWay.add(written);
      return written;
    },

    async settled() {
      await Promise.all(underWay);
    },

    async list(query) {
      const rows = await listEntries(database, query);
      const page = rows.slice(0, query.limit);
      return {
        items: page.map(toRecord),
        next_cursor: rows.length > page.length ? (page.at(-1)?.id ?? null) : null,
      };
    },
  };
}

function toRecord(row: ActivityRow): ActivityEntry {
  return {
    id: row.id,
    actor_user_id: row.actor_user_id,
    actor_username: row.actor_username,
    action: row.action,
    target_type: row.target_type,
    target_id: row.target_id,
    details: fromJson<Record<string, unknown>>(row.details),
    created_at: instant(row.created_at),
    severity: severityOf(row.action),
  };
}
