import type { SchemaStep } from '../schema-step.ts';

/** What people set for themselves. */
export const preferencesMigration: SchemaStep = {
  name: '0005-preferences',
  async up() {},
};
