/**
 * Fills the empty database of DATABASE_URL for the benches and prints the users with their visible apps as JSON.
 * Arguments: users, apps, entitlements, signed-in users, password hash.
 */
import { createLogger, systemClock } from '@footlight/platform';
import { loadConfig } from '../../platform/config/config.ts';
import { openDatabase } from '../../platform/database/index.ts';
import { fillLargeCatalog } from './large-catalog.ts';

const [users, apps, entitlements, signedIn, passwordHash = ''] = process.argv.slice(2);
const { database: target } = loadConfig(process.env);
const database = await openDatabase(target, { logger: createLogger('warn') });
try {
  const size = {
    users: Number(users),
    apps: Number(apps),
    entitlements: Number(entitlements),
    signedIn: Number(signedIn),
  };
  const filled = await fillLargeCatalog(database, size, passwordHash, systemClock.nowMs());
  process.stdout.write(JSON.stringify(filled));
} finally {
  await database.close();
}
