import type { SchemaStep } from '../schema-step.ts';

/** Secrets at rest. */
export const secretsMigration: SchemaStep = {
  name: '0007-secrets',
  async up() {},
};
