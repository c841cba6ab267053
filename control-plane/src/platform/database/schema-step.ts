import type { Kysely } from 'kysely';
import type { Dialect } from './database.ts';
import type { Schema } from './schema.ts';

/** One migration step. `name` sorts after all earlier steps; released steps are never edited. */
export interface SchemaStep {
  name: string;
  up(db: Kysely<Schema>, dialect: Dialect): Promise<void>;
}
