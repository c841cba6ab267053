/** Facts about images that a launch needs. */
import type { Executor } from '../platform/database/index.ts';
import { bool } from '../platform/database/index.ts';
import type { HostImagesTable } from '../platform/database/tables/images.ts';
import { findInstalledByName, listHostImages } from './store.ts';

/** A catalog image that a host must have, at the installed version, before a launch. */
export interface RequiredImage {
  image_id: string;
  version: string;
}

/** State of an image on one host. version null: the host did not report it. */
export type HostImage = Pick<HostImagesTable, 'state' | 'version'>;

/**
 * The images that a host must have before a launch: those installed on all hosts. Lazily installed images are fetched
 * at the launch.
 * @param names image names as launches use them; "" means no image
 * @returns the required images by name
 */
export async function loadRequiredImages(
  db: Executor,
  names: readonly string[],
): Promise<Map<string, RequiredImage>> {
  const installed = await findInstalledByName(
    db,
    names.filter((name) => name !== ''),
  );
  return new Map(
    [...installed]
      .filter(([, row]) => !bool(row.lazy))
      .map(([name, { image_id, version }]) => [name, { image_id, version }]),
  );
}

/** State of an image on each host, by host id. A host without an entry does not have the image. */
export async function loadImageOnHosts(db: Executor, imageId: string): Promise<Map<string, HostImage>> {
  const rows = await listHostImages(db, imageId);
  return new Map(rows.map(({ host_id, state, version }) => [host_id, { state, version }]));
}
