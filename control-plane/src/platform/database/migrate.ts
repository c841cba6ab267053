import { type Kysely, type Migration, type MigrationResultSet, Migrator, sql } from 'kysely';
import type { Dialect } from './database.ts';
import { platformMigration } from './migrations/0000-0009/0000-platform.ts';
import { accountsMigration } from './migrations/0000-0009/0001-accounts.ts';
import { catalogMigration } from './migrations/0000-0009/0002-catalog.ts';
import { fleetMigration } from './migrations/0000-0009/0003-fleet.ts';
import { sessionsMigration } from './migrations/0000-0009/0004-sessions.ts';
import { preferencesMigration } from './migrations/0000-0009/0005-preferences.ts';
import { profilesMigration } from './migrations/0000-0009/0006-profiles.ts';
import { secretsMigration } from './migrations/0000-0009/0007-secrets.ts';
import { artworkMigration } from './migrations/0000-0009/0008-artwork.ts';
import { indexesMigration } from './migrations/0000-0009/0009-indexes.ts';
import { catalogChangesMigration } from './migrations/0010-0019/0010-catalog-changes.ts';
import { admissionMigration } from './migrations/0010-0019/0011-admission.ts';
import { sessionLifeMigration } from './migrations/0010-0019/0013-session-life.ts';
import { sessionTopologyMigration } from './migrations/0010-0019/0014-session-topology.ts';
import { sessionFloorMigration } from './migrations/0010-0019/0015-session-floor.ts';
import { sessionTraceMigration } from './migrations/0010-0019/0016-session-trace.ts';
import { usernamesMigration } from './migrations/0010-0019/0017-usernames.ts';
import { telemetryMigration } from './migrations/0010-0019/0018-telemetry.ts';
import { recordingsMigration } from './migrations/0020-recordings.ts';
import { certificationMigration } from './migrations/0021-certification.ts';
import { capturesMigration } from './migrations/0022-captures.ts';
import { jobsMigration } from './migrations/0023-jobs.ts';
import { homesMigration } from './migrations/0024-homes.ts';
import { libraryMigration } from './migrations/0025-library.ts';
import { imagesMigration } from './migrations/0026-images.ts';
import { samplesBySourceMigration } from './migrations/0027-samples-by-source.ts';
import { passwordResetsMigration } from './migrations/0028-password-resets.ts';
import { sessionLogsMigration } from './migrations/0029-session-logs.ts';
import { activityByTargetMigration } from './migrations/0030-activity-by-target.ts';
import { roomForHeartbeatsMigration } from './migrations/0031-room-for-heartbeats.ts';
import { countsMigration } from './migrations/0032-counts.ts';
import type { Schema } from './schema.ts';
import type { SchemaStep } from './schema-step.ts';

const STEPS: readonly SchemaStep[] = [
  platformMigration,
  accountsMigration,
  catalogMigration,
  fleetMigration,
  sessionsMigration,
  preferencesMigration,
  profilesMigration,
  secretsMigration,
  artworkMigration,
  indexesMigration,
  catalogChangesMigration,
  admissionMigration,
  sessionLifeMigration,
  sessionTopologyMigration,
  sessionFloorMigration,
  sessionTraceMigration,
  usernamesMigration,
  telemetryMigration,
  recordingsMigration,
  certificationMigration,
  capturesMigration,
  jobsMigration,
  homesMigration,
  imagesMigration,
  libraryMigration,
  samplesBySourceMigration,
  passwordResetsMigration,
  sessionLogsMigration,
  activityByTargetMigration,
  roomForHeartbeatsMigration,
  countsMigration,
];

/** In the order in which they run. */
export const STEP_NAMES: readonly string[] = STEPS.map(({ name }) => name).sort();

/**
 * Migrates the schema: all steps in one transaction, under a lock that other processes wait for (an advisory lock on
 * Postgres, the write lock on SQLite). There is no downgrade; restore a backup instead.
 * @throws when a step fails, or the database belongs to a newer release
 */
export async function migrate(db: Kysely<Schema>, dialect: Dialect): Promise<void> {
  try {
    await run((await stepsOf(db, dialect)).migrateToLatest());
  } catch (error) {
    const newer = await unknownSteps(db).catch(() => []);
    if (newer.length === 0) throw error;
    throw new Error(
      `the database belongs to a newer release of Footlight, which made ${newer.join(', ')}: start that release, or restore a backup that was made before it`,
      { cause: error },
    );
  }
}

async function unknownSteps(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from schema_steps order by name`.execute(db);
  return rows.map(({ name }) => name).filter((name) => !STEP_NAMES.includes(name));
}

/**
 * Creates the schema of an earlier release in an empty database, for tests of later steps.
 * @param lastStep name of that release's last step
 */
export async function migrateUpTo(db: Kysely<Schema>, dialect: Dialect, lastStep: string): Promise<void> {
  await run((await stepsOf(db, dialect)).migrateTo(lastStep));
}

async function stepsOf(db: Kysely<Schema>, dialect: Dialect): Promise<Migrator> {
  // Without it the library takes a table of another schema for its own, such as that of a second instance.
  const schema = dialect === 'postgres' ? await currentSchema(db) : null;
  const migrations: Record<string, Migration> = {};
  for (const step of STEPS) {
    migrations[step.name] = { up: (tx: Kysely<Schema>) => step.up(tx, dialect) };
  }
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: 'schema_steps',
    migrationLockTableName: 'schema_lock',
    ...(schema !== null && { migrationTableSchema: schema }),
  });
}

/** null: search_path names no schema that is there; the first statement that makes a table says so. */
async function currentSchema(db: Kysely<Schema>): Promise<string | null> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
  return rows[0]?.schema ?? null;
}

async function run(migration: Promise<MigrationResultSet>): Promise<void> {
  const { error } = await migration;
  if (error) throw error;
}
