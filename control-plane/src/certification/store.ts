import type { Selectable } from 'kysely';
import { bool, type Executor } from '../platform/database/index.ts';
import type { EncoderCertificationsTable } from '../platform/database/tables/certification.ts';

/** A measurement as a launch needs it. */
type Certification = Pick<
  Selectable<EncoderCertificationsTable>,
  'host_id' | 'gpu_index' | 'encoder' | 'stream_profile_id' | 'bitrate_kbps' | 'verdict' | 'measured_at'
> & { live_write_stable: boolean };

/** Measurements of these hosts. */
export async function loadCertifications(db: Executor, hostIds: readonly string[]): Promise<Certification[]> {
  if (hostIds.length === 0) return [];
  const rows = await db
    .selectFrom('encoder_certifications')
    .select([
      'host_id',
      'gpu_index',
      'encoder',
      'stream_profile_id',
      'bitrate_kbps',
      'verdict',
      'live_write_stable',
      'measured_at',
    ])
    .where('host_id', 'in', hostIds)
    .execute();
  return rows.map((row) => ({ ...row, live_write_stable: bool(row.live_write_stable) }));
}
