/** Encoder certification measures which load an encoder on a GPU sustains, before people launch sessions on it. */
import { SECOND_MS } from '@footlight/platform';
import type { Body, Certification, Concurrency, Query } from '@footlight/protocol/rest';
import type { FleetService } from '../fleet/index.ts';
import { bool, instant } from '../platform/database/index.ts';
import type { EncoderCertificationsTable } from '../platform/database/tables/certification.ts';
import { invalid } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { listLaunchProfiles } from '../profiles/index.ts';
import type { Sessions } from '../sessions/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { type Cells, createCells } from './cells.ts';
import { requireHost } from './hosts.ts';
import { rungOfCell } from './plan.ts';
import { createRuns, type Runs } from './runs.ts';
import {
  type ConcurrencyRow,
  listCertifications,
  listConcurrency,
  lockHost,
  putConcurrency,
} from './store.ts';

const SWEEP_EVERY_MS = 30 * SECOND_MS;
export const CERTIFICATION_SWEEP = 'certification.sweep';

export interface CertificationService {
  readonly runs: Runs;
  readonly cells: Cells;
  /** @throws ApiError 404 */
  list(hostId: string, filter: Query<'certification.list'>): Promise<Certification[]>;
  /** @throws ApiError 404 */
  concurrency(hostId: string): Promise<Concurrency[]>;
  /** @throws ApiError 404, 400 */
  putConcurrency(hostId: string, body: Body<'certification.putConcurrency'>): Promise<Concurrency>;
  /** Cancels the timers. Cells and runs continue. */
  close(): void;
}

export interface CertificationDeps {
  fleet: Pick<FleetService, 'links'>;
  sessions: Pick<Sessions, 'launchBench' | 'find' | 'stopAll'>;
  telemetry: Pick<Telemetry, 'hostSamples'>;
}

export function createCertification(platform: Platform, deps: CertificationDeps): CertificationService {
  const { clock, database, leader } = platform;
  const { db } = database;
  const runs = createRuns(platform, deps.fleet);
  const cells = createCells(platform, deps);

  leader.register({
    id: CERTIFICATION_SWEEP,
    everyMs: SWEEP_EVERY_MS,
    async run(fence) {
      await cells.sweep(fence);
      await runs.sweep(fence);
    },
  });

  return {
    runs,
    cells,

    async list(hostId, filter) {
      await requireHost(db, hostId);
      const { max_age_s } = filter;
      const since = max_age_s === undefined ? null : clock.nowMs() - max_age_s * SECOND_MS;
      const rows = await listCertifications(db, hostId, filter, since);
      return rows
        .sort(
          by(
            (row) => row.profile_id,
            (row) => row.stream_profile_id,
            (row) => row.gpu_index,
            (row) => row.encoder,
            (row) => row.bitrate_kbps,
          ),
        )
        .map(toCertification);
    },

    async concurrency(hostId) {
      await requireHost(db, hostId);
      const rows = await listConcurrency(db, hostId);
      return rows
        .sort(
          by(
            (row) => row.gpu_index,
            (row) => row.encoder,
            (row) => row.stream_profile_id,
            (row) => row.bitrate_kbps,
          ),
        )
        .map(toConcurrency);
    },

    async putConcurrency(hostId, body) {
      await requireHost(db, hostId);
      const found = rungOfCell(await listLaunchProfiles(db), body);
      if (typeof found === 'string') throw invalid(found);
      const row: ConcurrencyRow = { host_id: hostId, ...body, measured_at: clock.nowMs() };
      await database.transaction(async (tx) => {
        await lockHost(tx, hostId);
        await putConcurrency(tx, row);
      });
      return toConcurrency(row);
    },

    close: () => runs.close(),
  };
}

/**
 * Compares rows by these values in order. Texts are compared by code units, so that the order is the same with both
 * databases.
 */
function by<Row>(...values: ((row: Row) => string | number)[]) {
  return (a: Row, b: Row): number => {
    for (const value of values) {
      const [left, right] = [value(a), value(b)];
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  };
}

function toCertification({ host_id: _, ...row }: EncoderCertificationsTable): Certification {
  return {
    ...row,
    live_write_stable: bool(row.live_write_stable),
    measured_at: instant(row.measured_at),
  };
}

const toConcurrency = ({ host_id: _, measured_at, ...row }: ConcurrencyRow): Concurrency => ({
  ...row,
  measured_at: instant(measured_at),
});
