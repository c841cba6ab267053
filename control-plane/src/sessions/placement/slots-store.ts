/** Books, frees and counts encode slots of GPUs. */
import { SECOND_MS } from '@footlight/platform';
import { reservingStates } from '@footlight/protocol';
import { type RawBuilder, sql } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import { freshVramFree, type GpuFacts, type PlacementSettings } from './placement.ts';

/**
 * Session states that reserve slots, as SQL text, because a partial index is used only for queries that contain its
 * states as literals.
 */
const RESERVING = sql.raw(`(${reservingStates.map((state) => `'${state}'`).join(', ')})`);

/**
 * Number of sessions of a GPU that started too late to be included in its VRAM sample. @param since start of the
 * counted time
 */
export const inFlight = (gpuId: RawBuilder<unknown>, since: RawBuilder<unknown>) =>
  sql<number>`(select count(*) from sessions s where s.gpu_id = ${gpuId} and s.state in ${RESERVING}
    and (s.started_at is null or s.started_at > ${since}))`;

/** Total slots and sessions to book on one GPU. */
export interface SlotBooking {
  gpu_id: string;
  slots: number;
  sessions: number;
}

/** A GPU whose slots this transaction booked. */
type BookedGpu = Pick<GpuFacts, 'gpu_id' | 'vram_mb_total' | 'vram_mb_free' | 'vram_sampled_at'>;

type Figures = { gpus: readonly string[]; slots: readonly number[]; sessions: readonly number[] };

/** The figure of each listed GPU, 0 for others. */
const byGpu = (id: RawBuilder<unknown>, { gpus }: Figures, figures: readonly number[]) => {
  const cases = gpus.map((gpu, n) => sql`when ${gpu} then cast(${figures[n]} as integer)`);
  return sql<number>`case ${id} ${sql.join(cases, sql` `)} else 0 end`;
};

const book = (db: Executor, bookings: Figures) =>
  db
    .updateTable('gpus')
    .set({
      slots_used: sql<number>`slots_used + ${byGpu(sql.ref('gpus.id'), bookings, bookings.slots)}`,
      sessions_active: sql<number>`sessions_active + ${byGpu(sql.ref('gpus.id'), bookings, bookings.sessions)}`,
    })
    .where('id', 'in', (eb) =>
      // Postgres evaluates the condition again for a row that changed concurrently, so a GPU that became full is left
      // out.
      eb
        .selectFrom('gpus as wanted')
        .select('wanted.id')
        .where('wanted.id', 'in', bookings.gpus)
        .where(
          sql<boolean>`wanted.slots_total - wanted.slots_used >= ${byGpu(sql.ref('wanted.id'), bookings, bookings.slots)}`,
        )
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .returning(['id as gpu_id', 'vram_mb_total', 'vram_mb_free', 'vram_sampled_at'])
    .execute();

/**
 * Books slots of unlocked GPUs that have room for the whole demand, and locks their rows. This condition prevents
 * double booking; the table's check constraint would detect a bug in it.
 * @param bookings at most one booking per GPU
 * @returns the booked GPUs
 */
export async function bookSlots(tx: Tx, bookings: readonly SlotBooking[]): Promise<Map<string, BookedGpu>> {
  if (bookings.length === 0) return new Map();
  const rows = await book(tx, {
    gpus: bookings.map((booking) => booking.gpu_id),
    slots: bookings.map((booking) => booking.slots),
    sessions: bookings.map((booking) => booking.sessions),
  });
  return new Map(rows.map((row) => [row.gpu_id, row]));
}

/** Frees slots that `bookSlots` booked in this transaction. */
export async function unbookSlots(tx: Tx, { gpu_id, slots, sessions }: SlotBooking): Promise<void> {
  await tx
    .updateTable('gpus')
    .set((eb) => ({
      slots_used: eb('slots_used', '-', slots),
      sessions_active: eb('sessions_active', '-', sessions),
    }))
    .where('id', '=', gpu_id)
    .execute();
}

/** Frees the slots of a session that ended. */
export async function releaseSlots(tx: Tx, gpuId: string, slots: number): Promise<void> {
  const remaining = sql<number>`case when slots_used > ${slots} then slots_used - ${slots} else 0 end`;
  await tx
    .updateTable('gpus')
    .set({
      slots_used: remaining,
      sessions_active: sql<number>`case when sessions_active > 0 then sessions_active - 1 else 0 end`,
      // A capacity report may have lowered slots_total below the booked slots; slots_guard is therefore computed from
      // the remaining bookings.
      slots_guard: sql<number>`case when ${remaining} > slots_total then ${remaining} else slots_total end`,
    })
    .where('id', '=', gpuId)
    .execute();
}

/**
 * Number of sessions per GPU that started too late to be included in its VRAM sample. GPUs without a fresh sample are
 * missing.
 */
export async function countInFlight(
  tx: Tx,
  gpus: Iterable<BookedGpu>,
  settings: PlacementSettings,
  nowMs: number,
): Promise<Map<string, number>> {
  const sampled = [...gpus].filter((gpu) => freshVramFree(gpu, settings, nowMs) !== null);
  if (settings.vramMinFreeMb === 0 || sampled.length === 0) return new Map();
  const stalenessMs = settings.vramStalenessSecs * SECOND_MS;
  const rows = await tx
    .selectFrom('gpus')
    .select('id')
    .select(inFlight(sql.ref('gpus.id'), sql`gpus.vram_sampled_at - ${stalenessMs}`).as('in_flight'))
    .where(
      'id',
      'in',
      sampled.map((gpu) => gpu.gpu_id),
    )
    .execute();
  return new Map(rows.map((row) => [row.id, Number(row.in_flight)]));
}

/** Recomputes the slots of every GPU from its sessions. The caller's transaction must have locked the rows. */
export async function rebuildSlots(tx: Tx): Promise<number> {
  const of = (figure: RawBuilder<unknown>) =>
    sql<number>`(select ${figure} from sessions s where s.gpu_id = gpus.id and s.state in ${RESERVING})`;
  const held = of(sql`coalesce(sum(s.encode_slots), 0)`);
  const active = of(sql`count(*)`);
  const result = await tx
    .updateTable('gpus')
    .set({
      slots_used: held,
      slots_guard: sql<number>`case when ${held} > slots_total then ${held} else slots_total end`,
      sessions_active: active,
    })
    .where(sql<boolean>`slots_used <> ${held} or sessions_active <> ${active}`)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Locks all GPUs in the order of their ids, and waits for each lock. The order prevents deadlocks between launches. */
export async function lockGpus(tx: Tx): Promise<void> {
  await tx.selectFrom('gpus').select('id').orderBy('id').forNoKeyUpdate().execute();
}
