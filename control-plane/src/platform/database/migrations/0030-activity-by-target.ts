import type { SchemaStep } from '../schema-step.ts';

/** For the pages of one session, app, host or account: the log is kept for ever, and each launch adds to it. */
export const activityByTargetMigration: SchemaStep = {
  name: '0030-activity-by-target',
  async up(db) {
    await db.schema
      .createIndex('activity_by_target')
      .on('activity')
      .columns(['target_id', 'target_type', 'id'])
      .execute();
  },
};
