import { nonterminalStates } from '@footlight/protocol';
import type { CertificationVerdict, ConcurrencyPoint, Query } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { type SettingValues, settingsInForce } from '../fleet/index.ts';
import { type Executor, flag, fromJson, type Tx, toJson } from '../platform/database/index.ts';
import { BENCH_USER_ID } from '../platform/database/migrations/0001-first/certification.ts';
import type {
  CertificationCellsTable,
  CertificationRunsTable,
  EncoderCertificationsTable,
  EncoderConcurrencyTable,
} from '../platform/database/tables/certification.ts';
import type { Derived } from './derivation.ts';

/** The fields of a host that certification needs. */
export interface CertifiedHost {
  id: string;
  node_name: string;
  status: 'online' | 'offline' | 'draining';
  agent_version: string | null;
  features: readonly string[];
  /** Encoder family that the host currently uses; null: unknown. */
  encoder: string | null;
  /** Codecs that the host can encode; null: the host never reported them. */
  codecs: readonly string[] | null;
  /** Tested encoders, one entry for each family, GPU and codec; null: the host never reported them. */
  encoders: readonly { family: string; gpu_index: number; codec: string; available: boolean }[] | null;
}

/** @returns undefined: there is no such host */
export async function findHost(db: Executor, id: string): Promise<CertifiedHost | undefined> {
  const row = await db
    .selectFrom('hosts')
    .select([
      'id',
      'node_name',
      'status',
      'agent_version',
      'features',
      'codecs',
      'encoders',
      'effective_settings',
      'settings_overrides',
    ])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { effective_settings, settings_overrides, ...host } = row;
  const settings = settingsInForce(
    effective_settings === null ? {} : fromJson(effective_settings),
    fromJson<SettingValues>(settings_overrides),
  );
  return {
    ...host,
    features: fromJson(host.features),
    encoder: settings.encoder ?? null,
    codecs: host.codecs === null ? null : fromJson(host.codecs),
    encoders: host.encoders === null ? null : fromJson(host.encoders),
  };
}

/** Locks the host's row until the transaction ends, so that the cells of one host start and end one after another. */
export async function lockHost(tx: Tx, id: string): Promise<void> {
  await tx.selectFrom('hosts').select('id').where('id', '=', id).forNoKeyUpdate().execute();
}

/** @param since older verdicts are not listed, epoch ms; null: all are listed */
export function listCertifications(
  db: Executor,
  hostId: string,
  filter: Query<'certification.list'>,
  since: number | null,
): Promise<EncoderCertificationsTable[]> {
  const { gpu_index, encoder, profile_id, stream_profile_id } = filter;
  let found = db.selectFrom('encoder_certifications').selectAll().where('host_id', '=', hostId);
  if (gpu_index !== undefined) found = found.where('gpu_index', '=', gpu_index);
  if (encoder !== undefined) found = found.where('encoder', '=', encoder);
  if (profile_id !== undefined) found = found.where('profile_id', '=', profile_id);
  if (stream_profile_id !== undefined) found = found.where('stream_profile_id', '=', stream_profile_id);
  if (since !== null) found = found.where('measured_at', '>=', since);
  return found.execute();
}

/**
 * Stores the verdict of a cell. A newer verdict for the same rung, bitrate and encoder replaces the row but keeps its
 * id.
 */
export async function putCertification(
  tx: Tx,
  id: string,
  cell: CertificationCellsTable,
  derived: Derived,
  agentVersion: string,
  nowMs: number,
): Promise<void> {
  const figures = {
    profile_id: cell.profile_id,
    width: cell.width,
    height: cell.height,
    fps: cell.fps,
    verdict: derived.verdict,
    encode_ms_p50: derived.encode_ms_p50,
    encode_ms_p95: derived.encode_ms_p95,
    encode_ms_max: derived.encode_ms_max,
    output_fps: derived.output_fps,
    drop_rate: derived.drop_rate,
    live_write_stable: flag(derived.live_write_stable),
    sample_window_ms: derived.sample_window_ms,
    sample_count: derived.sample_count,
    agent_version: agentVersion,
    measured_at: nowMs,
  };
  await tx
    .insertInto('encoder_certifications')
    .values({
      id,
      host_id: cell.host_id,
      gpu_index: cell.gpu_index,
      encoder: cell.encoder,
      stream_profile_id: cell.stream_profile_id,
      bitrate_kbps: cell.bitrate_kbps,
      ...figures,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['host_id', 'gpu_index', 'encoder', 'stream_profile_id', 'bitrate_kbps'])
        .doUpdateSet(figures),
    )
    .execute();
}

/** @throws a unique violation while another run of the host is under way */
export async function insertRun(
  tx: Tx,
  run: Pick<CertificationRunsTable, 'id' | 'host_id' | 'gpu_index' | 'encoder' | 'total_pts' | 'started_at'>,
): Promise<void> {
  await tx
    .insertInto('certification_runs')
    .values({ ...run, status: 'running', error_message: null, ended_at: null })
    .execute();
}

/** A run as it is stored. */
export type RunRow = Omit<
  CertificationRunsTable,
  'completed_pts' | 'summary_ok' | 'summary_capped' | 'summary_unsafe'
> & { completed_pts: number; summary_ok: number; summary_capped: number; summary_unsafe: number };

export function findRun(db: Executor, hostId: string, id: string): Promise<RunRow | undefined> {
  return db
    .selectFrom('certification_runs')
    .selectAll()
    .where('host_id', '=', hostId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export const findRunningRun = (db: Executor, hostId: string): Promise<{ id: string } | undefined> =>
  db
    .selectFrom('certification_runs')
    .select('id')
    .where('host_id', '=', hostId)
    .where('status', '=', 'running')
    .executeTakeFirst();

/** A run with the status running, and the status of its host. */
export interface RunningBenchRun {
  id: string;
  host_id: string;
  started_at: number;
  host_status: string;
}

/** @param id missing: all running runs are listed */
export function listRunningRuns(db: Executor, id?: string): Promise<RunningBenchRun[]> {
  return db
    .selectFrom('certification_runs')
    .innerJoin('hosts', 'hosts.id', 'certification_runs.host_id')
    .select([
      'certification_runs.id',
      'certification_runs.host_id',
      'certification_runs.started_at',
      'hosts.status as host_status',
    ])
    .where('certification_runs.status', '=', 'running')
    .$if(id !== undefined, (runs) => runs.where('certification_runs.id', '=', id as string))
    .execute();
}

/** Ends a run, if it is still running. @param error null: the run is completed; otherwise the reason of the failure */
export async function endRun(
  db: Executor,
  id: string,
  error: string | null,
  nowMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('certification_runs')
    .set({ status: error === null ? 'completed' : 'failed', error_message: error, ended_at: nowMs })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Counts a verdict in the running run of the host, if there is one. */
export async function countVerdict(tx: Tx, hostId: string, verdict: CertificationVerdict): Promise<void> {
  const summary = `summary_${verdict}` as const;
  await tx
    .updateTable('certification_runs')
    .set({
      completed_pts: sql<number>`completed_pts + 1`,
      [summary]: sql<number>`${sql.ref(summary)} + 1`,
    })
    .where('host_id', '=', hostId)
    .where('status', '=', 'running')
    .execute();
}

export async function deleteRunsBefore(tx: Tx, startedBefore: number): Promise<void> {
  await tx
    .deleteFrom('certification_runs')
    .where('status', '!=', 'running')
    .where('started_at', '<', startedBefore)
    .execute();
}

/** Whether a cell of the host is being launched, or has a live session and no verdict yet. */
export async function hasOpenCell(tx: Tx, hostId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('certification_cells')
    .leftJoin('sessions', 'sessions.id', 'certification_cells.session_id')
    .select('certification_cells.id')
    .where('certification_cells.host_id', '=', hostId)
    .where((eb) =>
      eb.or([
        eb('certification_cells.session_id', 'is', null),
        eb('sessions.state', 'in', nonterminalStates),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertCell(tx: Tx, cell: CertificationCellsTable): Promise<void> {
  await tx.insertInto('certification_cells').values(cell).execute();
}

export async function setCellSession(db: Executor, id: string, sessionId: string): Promise<void> {
  await db.updateTable('certification_cells').set({ session_id: sessionId }).where('id', '=', id).execute();
}

export async function deleteCell(db: Executor, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('certification_cells')
    .where('id', '=', id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export function findCell(
  db: Executor,
  hostId: string,
  sessionId: string,
): Promise<CertificationCellsTable | undefined> {
  return db
    .selectFrom('certification_cells')
    .selectAll()
    .where('host_id', '=', hostId)
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
}

/** Selects times outside this range, epoch ms. A time in the future was stored while the clock was ahead. */
interface NotWithin {
  fromMs: number;
  toMs: number;
}

export function listCellsNotWithin(
  db: Executor,
  { fromMs, toMs }: NotWithin,
): Promise<Pick<CertificationCellsTable, 'id' | 'session_id'>[]> {
  return db
    .selectFrom('certification_cells')
    .select(['id', 'session_id'])
    .where((eb) => eb.or([eb('created_at', '<=', fromMs), eb('created_at', '>=', toMs)]))
    .execute();
}

/** Live bench sessions without a cell, left when a process ended between two steps. */
export async function listStraySessions(db: Executor, { fromMs, toMs }: NotWithin): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .leftJoin('certification_cells', 'certification_cells.session_id', 'sessions.id')
    .select('sessions.id')
    .where('sessions.user_id', '=', BENCH_USER_ID)
    .where('sessions.state', 'in', nonterminalStates)
    .where((eb) => eb.or([eb('sessions.created_at', '<=', fromMs), eb('sessions.created_at', '>=', toMs)]))
    .where('certification_cells.id', 'is', null)
    .execute();
  return rows.map(({ id }) => id);
}

/** Number of simultaneous sessions that an encoder sustains for one rung and bitrate. */
export interface ConcurrencyRow extends Omit<EncoderConcurrencyTable, 'curve'> {
  curve: ConcurrencyPoint[];
}

/** @throws the driver's error when the rung was deleted in the meantime */
export async function putConcurrency(tx: Tx, { curve, ...row }: ConcurrencyRow): Promise<void> {
  const { sessions, measured_at } = row;
  await tx
    .insertInto('encoder_concurrency')
    .values({ ...row, curve: toJson(curve) })
    .onConflict((conflict) =>
      conflict
        .columns(['host_id', 'gpu_index', 'encoder', 'stream_profile_id', 'bitrate_kbps'])
        .doUpdateSet({ sessions, measured_at, curve: toJson(curve) }),
    )
    .execute();
}

export async function listConcurrency(db: Executor, hostId: string): Promise<ConcurrencyRow[]> {
  const rows = await db.selectFrom('encoder_concurrency').selectAll().where('host_id', '=', hostId).execute();
  return rows.map((row) => ({ ...row, curve: fromJson<ConcurrencyPoint[]>(row.curve) }));
}
