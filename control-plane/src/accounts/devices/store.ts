import type { JsonObject } from '@footlight/protocol';
import { type Executor, fromJson } from '../../platform/database/index.ts';
import { type Probe, readProbe } from './probe.ts';

/**
 * The probe that counts for a person: that of the device seen last.
 * @param nowMs epoch milliseconds
 * @returns deviceId null where the person has no device
 */
export async function loadLatestProbe(
  db: Executor,
  userId: string,
  nowMs: number,
): Promise<{ deviceId: string | null; probe: Probe }> {
  const row = await db
    .selectFrom('devices')
    .select(['id', 'capabilities'])
    .where('user_id', '=', userId)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return { deviceId: null, probe: { kind: 'missing' } };
  return { deviceId: row.id, probe: readProbe(fromJson<JsonObject>(row.capabilities), nowMs) };
}
