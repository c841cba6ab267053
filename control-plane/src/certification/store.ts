import type { EncoderFamily } from '@footlight/protocol';
import type { Selectable } from 'kysely';
import { bool, type Executor } from '../platform/database/index.ts';
import type { EncoderCertificationsTable } from '../platform/database/tables/certification.ts';

/** A measurement as far as a launch asks. */
type Certification = Pick<
  Selectable<EncoderCertificationsTable>,
  'stream_profile_id' | 'bitrate_kbps' | 'verdict' | 'measured_at'
> & { live_write_stable: boolean };

/** What was measured of one encoder of one GPU. */
export async function loadCertifications(
  db: Executor,
  hostId: string,
  gpuIndex: number,
  encoder: EncoderFamily,
): Promise<Certification[]> {
  const rows = await db
    .selectFrom('encoder_certifications')
    .select(['stream_profile_id', 'bitrate_kbps', 'verdict', 'live_write_stable', 'measured_at'])
    .where('host_id', '=', hostId)
    .where('gpu_index', '=', gpuIndex)
    .where('encoder', '=', encoder)
    .execute();
  return rows.map((row) => ({ ...row, live_write_stable: bool(row.live_write_stable) }));
}
