import type { SchemaStep } from '../schema-step.ts';

/** For the administrators' list of homes, and for what a host shall collect, oldest mark first. */
export const homesMigration: SchemaStep = {
  name: '0024-homes',
  async up(db) {
    await db.schema
      .createIndex('storage_homes_by_created')
      .on('storage_homes')
      .columns(['created_at', 'id'])
      .execute();
    await db.schema
      .createIndex('storage_homes_due')
      .on('storage_homes')
      .columns(['host_id', 'gc_after'])
      .execute();
  },
};
