import type { SchemaStep } from '../schema-step.ts';

/** Indexes of the questions that lists ask. */
export const indexesMigration: SchemaStep = {
  name: '0009-indexes',
  async up() {},
};
