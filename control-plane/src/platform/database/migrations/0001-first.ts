import type { SchemaStep } from '../schema-step.ts';
import { createAccounts } from './0001-first/accounts.ts';
import { createCatalog } from './0001-first/catalog.ts';
import { createCertification } from './0001-first/certification.ts';
import { createFleet } from './0001-first/fleet.ts';
import { createImages } from './0001-first/images.ts';
import { createJobs } from './0001-first/jobs.ts';
import { createLibrary } from './0001-first/library.ts';
import { createPlatform } from './0001-first/platform.ts';
import { createProfiles } from './0001-first/profiles.ts';
import { createSessions } from './0001-first/sessions.ts';
import { createTelemetry } from './0001-first/telemetry.ts';

/** The schema of the first release. Later steps change it. */
export const firstMigration: SchemaStep = {
  name: '0001-first',
  async up(db, dialect) {
    await createPlatform(db, dialect);
    await createAccounts(db);
    await createCatalog(db);
    await createProfiles(db);
    await createFleet(db, dialect);
    await createSessions(db);
    await createTelemetry(db);
    await createCertification(db);
    await createJobs(db);
    await createImages(db);
    await createLibrary(db);
  },
};
