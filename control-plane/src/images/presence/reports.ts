import type { ImageState, Register } from '@footlight/protocol/agent';
import type { ImageHandlers, RegisteringHost } from '../../fleet/index.ts';
import { bool, type Tx } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { InstalledRow } from '../record.ts';
import { findInstalledIds, listInstalled, loadImagesOfHost, storeHostImage } from '../store.ts';
import type { Ensurer } from './ensurer.ts';
import { needsEnsure, type Presence, planRegistration, presenceOf } from './presence-rules.ts';

/** Result for a host while no image is installed. */
const NOTHING_STORED = { afterCommit() {} };

/** Stores the agents' reports about images, and requests the images that a host lacks. */
export function createImageHandlers(
  { clock, jobs, writeBatch }: Pick<Platform, 'clock' | 'jobs' | 'writeBatch'>,
  ensurer: Ensurer,
): ImageHandlers {
  const store = (tx: Tx, hostId: string, imageId: string, presence: Presence) =>
    storeHostImage(tx, {
      host_id: hostId,
      image_id: imageId,
      ...presence,
      updated_at: clock.nowMs(),
    });

  /** Stores the images that one registering host listed. */
  async function hostRegistered(
    tx: Tx,
    installed: readonly InstalledRow[],
    { hostId, sameBoot }: RegisteringHost,
    listed: Register['images'],
  ) {
    const held: Map<string, Presence> = await loadImagesOfHost(tx, hostId);
    if (listed !== undefined) {
      const changes = planRegistration(held, listed, new Set(installed.map((image) => image.image_id)));
      for (const [imageId, presence] of changes) {
        await store(tx, hostId, imageId, presence);
        held.set(imageId, presence);
      }
    }
    const lacking = installed.filter(
      (image) => !bool(image.lazy) && needsEnsure(held.get(image.image_id), image.version),
    );
    const isFetching = [...held.values()].some(({ state }) => state === 'pulling' || state === 'building');
    // A new agent process has no warm worker yet. While an image is being fetched, the end of the fetch starts the
    // warm-up.
    if (!sameBoot && !isFetching) await jobs.event(tx, 'template.warmup', hostId);
    return {
      afterCommit() {
        // Commands on the former link are lost, so each lacking image is requested again.
        ensurer.lost(hostId);
        for (const image of lacking) ensurer.ensureHere(hostId, image);
      },
    };
  }

  return {
    async registered(tx, hosts) {
      const installed = hosts.length === 0 ? [] : await listInstalled(tx);
      const stored: { afterCommit(): void }[] = [];
      for (const { host, listed } of hosts)
        stored.push(
          installed.length === 0 ? NOTHING_STORED : await hostRegistered(tx, installed, host, listed),
        );
      return stored;
    },

    async imageStates(hostId: string, reports: readonly ImageState[]) {
      await writeBatch.run({ hosts: [hostId] }, async (tx) => {
        const ids = [...new Set(reports.map((report) => report.image_id))];
        const installed = await findInstalledIds(tx, ids);
        const held: Map<string, Presence> = await loadImagesOfHost(tx, hostId);
        let isNew = false;
        for (const report of reports) {
          const { image_id } = report;
          if (!installed.has(image_id)) continue;
          const presence = presenceOf(report);
          const before = held.get(image_id);
          isNew ||=
            presence.state === 'ready' && (before?.state !== 'ready' || before.version !== presence.version);
          await store(tx, hostId, image_id, presence);
          held.set(image_id, presence);
        }
        // Called last, because in the lock order jobs come after all other rows.
        if (isNew) await jobs.event(tx, 'template.warmup', hostId);
      });
      for (const { image_id, version, state } of reports)
        if (state === 'ready' || state === 'failed') ensurer.reported(hostId, image_id, version, state);
    },

    linkLost: (hostId: string) => ensurer.lost(hostId),
  };
}
