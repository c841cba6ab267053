import type { SchemaStep } from '../../schema-step.ts';

/** Floor of a session's bitrate at its launch, because the host's settings may change while the session runs. */
export const sessionFloorMigration: SchemaStep = {
  name: '0015-session-floor',
  async up(db) {
    await db.schema.alterTable('sessions').addColumn('stream_launch_floor_kbps', 'integer').execute();
  },
};
