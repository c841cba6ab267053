import { sql } from 'kysely';
import type { Executor, Tx } from '../../platform/database/database.ts';
import { values } from '../../platform/database/query/values.ts';

/**
 * Stays far below the placeholder limit of both databases. A power of two, because statements are prepared per size.
 */
const ROWS_PER_STATEMENT = 512;

/** Values of one host since the last write; null: none of that kind. */
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

const writeHeartbeats = (db: Executor, { ids, at }: { ids: readonly string[]; at: readonly number[] }) =>
  db
    .updateTable('hosts')
    .from(values<{ column1: string; column2: number }>(ids.map((id, n) => sql`(${id}, ${bigint(at[n])})`)))
    .set(({ ref }) => ({ last_heartbeat_at: ref('written.column2') }))
    .whereRef('hosts.id', '=', 'written.column1')
    .execute();

const writeLastReports = (
  db: Executor,
  lists: { ids: readonly string[]; bootIds: readonly string[]; seqs: readonly number[] },
) =>
  db
    .updateTable('hosts')
    .from(
      values<{ column1: string; column2: string; column3: number }>(
        lists.ids.map((id, n) => sql`(${id}, ${lists.bootIds[n]}, ${bigint(lists.seqs[n])})`),
      ),
    )
    .set(({ ref }) => ({ last_seq: ref('written.column3') }))
    .whereRef('hosts.id', '=', 'written.column1')
    .whereRef('hosts.boot_id', '=', 'written.column2')
    .execute();

const writeSamples = (
  db: Executor,
  lists: {
    ids: readonly string[];
    used: readonly (number | null)[];
    free: readonly (number | null)[];
    at: readonly number[];
  },
) =>
  db
    .updateTable('gpus')
    .from(
      values<{ column1: string; column2: number | null; column3: number | null; column4: number }>(
        lists.ids.map(
          (id, n) => sql`(${id}, ${bigint(lists.used[n])}, ${bigint(lists.free[n])}, ${bigint(lists.at[n])})`,
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
  const written: Promise<unknown>[] = [];
  for (const rows of chunks(hosts.filter((host) => host.heartbeatAt !== null)))
    written.push(
      writeHeartbeats(tx, {
        ids: rows.map(({ hostId }) => hostId),
        at: rows.map(({ heartbeatAt }) => heartbeatAt!),
      }),
    );
  for (const rows of chunks(hosts.filter((host) => host.report !== null)))
    written.push(
      writeLastReports(tx, {
        ids: rows.map(({ hostId }) => hostId),
        bootIds: rows.map(({ report }) => report!.bootId),
        seqs: rows.map(({ report }) => report!.seq),
      }),
    );
  for (const rows of chunks(samples))
    written.push(
      writeSamples(tx, {
        ids: rows.map(({ gpuId }) => gpuId),
        used: rows.map(({ used }) => used),
        free: rows.map(({ free }) => free),
        at: rows.map(({ sampledAt }) => sampledAt),
      }),
    );
  await Promise.all(written);
}

function chunks<T>(rows: readonly T[]): T[][] {
  const result: T[][] = [];
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    result.push(rows.slice(start, start + ROWS_PER_STATEMENT));
  }
  return result;
}
