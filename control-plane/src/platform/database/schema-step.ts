import type { Kysely } from 'kysely';
import type { Dialect } from './database.ts';
import type { Schema } from './schema.ts';

/** One step of the schema. `name` sorts after every earlier step; steps that have shipped are never edited. */
export interface SchemaStep {
  name: string;
  up(db: Kysely<Schema>, dialect: Dialect): Promise<void>;
}
