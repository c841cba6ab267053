import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/**
 * An update in Postgres stores a new version of the row. If the row's page has free space, the new version goes there, no
 * index changes, and the old version is removed soon. Without free space the table of 10,000 hosts grew to 122 MB in a
 * minute of heartbeats (with it: 16 MB), and each query over all hosts had to read all of it. Existing pages get the
 * space as their rows are updated.
 */
export const roomForHeartbeatsMigration: SchemaStep = {
  name: '0031-room-for-heartbeats',
  async up(db, dialect) {
    if (dialect !== 'postgres') return;
    await sql`alter table hosts set (fillfactor = 50)`.execute(db);
    await sql`alter table gpus set (fillfactor = 50)`.execute(db);
  },
};
