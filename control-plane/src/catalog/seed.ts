import { readFileSync } from 'node:fs';
import { errorText } from '@footlight/platform';
import { type AppSeedEntry, appSeedEntry, type Body } from '@footlight/protocol/rest';
import { adminExists } from '../accounts/index.ts';
import type { Tx } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import type { NewAppAudience } from './rules/app-rules.ts';
import * as store from './store.ts';

/** The seed file is unusable, which stops the boot. The message names the entry. */
export class SeedRefused extends Error {
  constructor(file: string, why: string, cause?: unknown) {
    super(`SERVICE_SEED_FILE ${file}: ${why}`, { cause });
    this.name = 'SeedRefused';
  }
}

type Insert = (tx: Tx, body: Body<'apps.create'>, audience: NewAppAudience) => Promise<string>;

/**
 * Fills the empty catalog of an unclaimed instance with all entries or none. If an app or an administrator exists, the
 * file is not opened.
 * @param file null: no file is configured
 * @throws SeedRefused
 */
export async function applySeedFile(platform: Platform, file: string | null, insert: Insert): Promise<void> {
  if (file === null) return;
  const { database, activity, logger } = platform;
  const planted = await database.transaction(async (tx) => {
    await database.advisoryLock(tx, 'boot');
    if ((await store.countApps(tx)) > 0 || (await adminExists(tx))) return [];
    const apps: { id: string; name: string }[] = [];
    for (const [index, { entitle = 'all', ...app }] of readSeedFile(file).entries()) {
      try {
        apps.push({ id: await insert(tx, app, { entitle, grantedBy: null }), name: app.name });
      } catch (error) {
        throw new SeedRefused(file, `entry ${index + 1} (${app.name}): ${errorText(error)}`, error);
      }
    }
    return apps;
  });
  for (const { id, name } of planted) {
    await activity.record(null, 'app.create', id, { name, seed: true });
  }
  if (planted.length > 0) logger.info({ file, apps: planted.length }, 'catalog.seeded');
}

function readSeedFile(file: string): AppSeedEntry[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new SeedRefused(file, `cannot be read as JSON (${errorText(error)})`, error);
  }
  if (!Array.isArray(parsed)) throw new SeedRefused(file, 'must hold a list of apps');
  return parsed.map((entry: unknown, index) => {
    const result = appSeedEntry.safeParse(entry);
    if (result.success) return result.data;
    const issue = result.error.issues[0];
    const place = issue?.path.map(String).join('.') || 'the entry';
    throw new SeedRefused(file, `entry ${index + 1}: ${place}: ${issue?.message ?? 'not valid'}`);
  });
}
