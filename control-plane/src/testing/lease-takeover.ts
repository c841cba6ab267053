import type { Database } from '../platform/database/index.ts';

/** Stores another replica as the holder of a lease, as after a pause that was longer than the lease. */
export async function takeOverLease({ db }: Database, name: string): Promise<void> {
  await db
    .updateTable('leases')
    .set({ holder: 'another', fence: 99, expires_at: 0 })
    .where('name', '=', name)
    .execute();
}
