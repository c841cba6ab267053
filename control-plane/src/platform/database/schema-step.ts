import type { Kysely } from 'kysely';
import type { Dialect } from './database.ts';
import type { Schema } from './schema.ts';

/** One migration step. `name` must sort after the names of all earlier steps. Released steps are never edited. */
export interface SchemaStep {
  name: string;
  up(db: Kysely<Schema>, dialect: Dialect): Promise<void>;
}
