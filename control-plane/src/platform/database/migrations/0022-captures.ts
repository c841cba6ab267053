import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** For reading one capture by its id, which is the first key of its stored payload (capture-store.ts). */
export const capturesMigration: SchemaStep = {
  name: '0022-captures',
  async up(db) {
    await sql`create index session_captures_by_id on session_trace_events (session_id, substr(payload, 1, 52))
      where is_capture = 1`.execute(db);
  },
};
