import { sql } from 'kysely';
import type { Tx } from '../../platform/database/database.ts';
import { values } from '../../platform/database/query/values.ts';

/** Each row has four values, so a statement stays far below the limits of values: Postgres 65,535, SQLite 32,766. */
const ROWS_PER_STATEMENT = 512;

/** New values of one host since the last write; null: there is no new value. */
export interface HostHeartbeat {
  hostId: string;
  heartbeatAt: number | null;
  /** Highest handled report number of this agent process. */
  report: { bootId: string; seq: number } | null;
}

export interface VramHeartbeat {
  gpuId: string;
  used: number | null;
  free: number | null;
  sampledAt: number;
}

const bigint = (value: number | null | undefined) => sql`cast(${value} as bigint)`;

const writeHeartbeats = (tx: Tx, hosts: readonly HostHeartbeat[]) =>
  tx
    .updateTable('hosts')
    .from(
      values<{ column1: string; column2: number }>(
        hosts.map(({ hostId, heartbeatAt }) => sql`(${hostId}, ${bigint(heartbeatAt)})`),
      ),
    )
    .set(({ ref }) => ({ last_heartbeat_at: ref('written.column2') }))
    .whereRef('hosts.id', '=', 'written.column1')
    .execute();

const writeLastReports = (tx: Tx, hosts: readonly HostHeartbeat[]) =>
  tx
    .updateTable('hosts')
    .from(
      values<{ column1: string; column2: string; column3: number }>(
        hosts.map(({ hostId, report }) => sql`(${hostId}, ${report?.bootId}, ${bigint(report?.seq)})`),
      ),
    )
    .set(({ ref }) => ({ last_seq: ref('written.column3') }))
    .whereRef('hosts.id', '=', 'written.column1')
    .whereRef('hosts.boot_id', '=', 'written.column2')
    .execute();

const writeSamples = (tx: Tx, samples: readonly VramHeartbeat[]) =>
  tx
    .updateTable('gpus')
    .from(
      values<{ column1: string; column2: number | null; column3: number | null; column4: number }>(
        samples.map(
          ({ gpuId, used, free, sampledAt }) =>
            sql`(${gpuId}, ${bigint(used)}, ${bigint(free)}, ${bigint(sampledAt)})`,
        ),
      ),
    )
    .set(({ ref }) => ({
      vram_mb_used: ref('written.column2'),
      vram_mb_free: ref('written.column3'),
      vram_sampled_at: sql<
        number | null
      >`case when ${ref('written.column2')} is null and ${ref('written.column3')} is null then null else ${ref('written.column4')} end`,
    }))
    .whereRef('gpus.id', '=', 'written.column1')
    .execute();

/** Writes values of many hosts in few statements; deleted rows are skipped. */
export async function writeHeartbeatBatch(
  tx: Tx,
  hosts: readonly HostHeartbeat[],
  samples: readonly VramHeartbeat[],
): Promise<void> {
  for (const rows of chunks(hosts.filter((host) => host.heartbeatAt !== null)))
    await writeHeartbeats(tx, rows);
  for (const rows of chunks(hosts.filter((host) => host.report !== null))) await writeLastReports(tx, rows);
  for (const rows of chunks(samples)) await writeSamples(tx, rows);
}

function chunks<T>(rows: readonly T[]): T[][] {
  const result: T[][] = [];
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    result.push(rows.slice(start, start + ROWS_PER_STATEMENT));
  }
  return result;
}
