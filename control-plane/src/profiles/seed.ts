import { recordCatalogChange } from '../catalog/index.ts';
import type { Platform } from '../platform/platform.ts';
import { toRungColumns } from './record.ts';
import { SHIPPED_LAUNCH_PROFILES, SHIPPED_RUNGS } from './shipped-catalog.ts';
import * as store from './store.ts';

/** Stores the shipped catalog only at the first boot, so that it does not undo later changes and deletions. */
export async function seedShippedCatalog({ database, clock, logger }: Platform): Promise<void> {
  const now = clock.nowMs();
  const stamps = { created_at: now, updated_at: now };
  const planted = await database.transaction(async (tx) => {
    if (!(await store.claimShippedCatalog(tx, now))) return false;
    for (const rung of SHIPPED_RUNGS) await store.insertRung(tx, { ...toRungColumns(rung), ...stamps });
    for (const { rungs, ...fields } of SHIPPED_LAUNCH_PROFILES) {
      await store.insertLaunchProfile(tx, { ...fields, ...stamps });
      await store.replaceChain(tx, fields.id, rungs);
    }
    await recordCatalogChange(tx, 'everything');
    return true;
  });
  if (!planted) return;
  logger.info(
    { rungs: SHIPPED_RUNGS.length, launch_profiles: SHIPPED_LAUNCH_PROFILES.length },
    'profiles.shipped',
  );
}
