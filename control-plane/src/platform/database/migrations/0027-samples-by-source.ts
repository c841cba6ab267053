import type { SchemaStep } from '../schema-step.ts';

/** The bound of one host counts the samples of each source by themselves. */
export const samplesBySourceMigration: SchemaStep = {
  name: '0027-samples-by-source',
  async up(db) {
    await db.schema.dropIndex('session_samples_by_host').execute();
    await db.schema
      .createIndex('session_samples_by_host')
      .on('session_samples')
      .columns(['host_id', 'source', 'received_at'])
      .execute();
  },
};
