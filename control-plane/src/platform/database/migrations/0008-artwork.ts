import type { SchemaStep } from '../schema-step.ts';

/** Artwork records. */
export const artworkMigration: SchemaStep = {
  name: '0008-artwork',
  async up() {},
};
