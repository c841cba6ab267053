import type { SchemaStep } from '../schema-step.ts';

/** The floor of a session's rate: the settings of a host that it follows from may be changed while the session runs. */
export const sessionFloorMigration: SchemaStep = {
  name: '0015-session-floor',
  async up(db) {
    await db.schema.alterTable('sessions').addColumn('stream_launch_floor_kbps', 'integer').execute();
  },
};
