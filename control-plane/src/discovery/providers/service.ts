import type { RuntimeSpec } from '@footlight/protocol/rest';
import pLimit from 'p-limit';
import {
  ensureProviderApp,
  type LibraryProvider,
  type NewProviderApp,
  settleProviderApps,
} from '../../catalog/index.ts';
import type { ProviderImage } from '../../images/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { InstalledProvider, ProviderImages } from './images.ts';

/** Keeps provider apps consistent with the switch of discovery and the image catalog. */
export interface ProviderApps {
  /**
   * Applies the switch to the provider apps. If it is off, suspends them. If it is on, resumes them and creates those
   * that images of the catalog declare. It depends only on stored state, so it can be called at any time; calls run one
   * after another. A failure is logged, and the next call retries. Never rejects.
   */
  settle(): Promise<void>;
}

export function createProviderApps(
  platform: Platform,
  deps: { images: ProviderImages; isOn: () => Promise<boolean> },
): ProviderApps {
  const { activity, clock, config, database, logger, random } = platform;
  const lane = pLimit(1);
  deps.images.onSynced(settle);

  function settle(): Promise<void> {
    return lane(() =>
      settleOnce().catch((error: unknown) => logger.error({ err: error }, 'library.settle_failed')),
    );
  }

  async function settleOnce(): Promise<void> {
    const changed = await database.transaction((tx) => settleProviderApps(tx, clock.nowMs()));
    if (changed > 0) logger.info({ apps: changed }, 'library.providers_switched');
    if (!(await deps.isOn())) return;
    const declared = await deps.images.declared();
    const seen = new Set<LibraryProvider>();
    for (const one of declared) {
      if (!config.discovery.providers.includes(one.provider) || seen.has(one.provider)) continue;
      seen.add(one.provider);
      try {
        await ensure(one);
      } catch (error) {
        logger.warn({ provider: one.provider, image: one.imageId, err: error }, 'library.provider_not_ready');
      }
    }
  }

  async function ensure(declared: ProviderImage): Promise<void> {
    const installed = await deps.images.ensureInstalled(declared.imageId);
    const app = toNewApp(declared, installed);
    const ids = { app: random.uuid(), entitlement: random.uuid() };
    const created = await database.transaction((tx) =>
      ensureProviderApp(database, tx, app, ids, clock.nowMs()),
    );
    if (!created) return;
    await activity.record(null, 'app.create', ids.app, { name: app.name, provider: app.provider });
  }

  return { settle };
}

function toNewApp(declared: ProviderImage, installed: InstalledProvider): NewProviderApp {
  const { noNewPrivileges, systempathsUnconfined } = declared;
  const runtimeSpec: RuntimeSpec = {
    ...(installed.runtimePresetId === null && { image: installed.image }),
    gpu: declared.gpu ?? true,
    ...(noNewPrivileges !== undefined && { no_new_privileges: noNewPrivileges }),
    ...(systempathsUnconfined !== undefined && { systempaths_unconfined: systempathsUnconfined }),
  };
  return {
    provider: declared.provider,
    name: declared.displayName,
    description: declared.description,
    coverUrl: declared.coverUrl,
    runtimeSpec,
    runtimePresetId: installed.runtimePresetId,
    managedHome: declared.managedHome,
    homeContainerPath: declared.homeContainerPath,
  };
}
