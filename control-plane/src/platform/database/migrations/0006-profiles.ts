import type { SchemaStep } from '../schema-step.ts';

/** Stream profiles, launch profiles and their policy. */
export const profilesMigration: SchemaStep = {
  name: '0006-profiles',
  async up() {},
};
