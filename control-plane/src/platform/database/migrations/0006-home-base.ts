import type { SchemaStep } from '../schema-step.ts';

/** The directory of the hosts that the homes of an app are opened over. */
export const homeBase: SchemaStep = {
  name: '0006-home-base',
  async up(db) {
    await db.schema.alterTable('apps').addColumn('home_base', 'text').execute();
  },
};
