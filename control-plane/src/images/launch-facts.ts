/** What launches ask about images. */
import type { Executor } from '../platform/database/index.ts';
import { bool } from '../platform/database/index.ts';
import type { HostImagesTable } from '../platform/database/tables/images.ts';
import { findInstalledByName, listHostImages } from './store.ts';

/** A catalog image that a host must hold before a launch, at the installed version. */
export interface RequiredImage {
  image_id: string;
  version: string;
}

/** What a host has of an image. version null: not reported. */
export type HostImage = Pick<HostImagesTable, 'state' | 'version'>;

/**
 * The images that hosts must hold: those installed on all hosts. Lazily installed ones are fetched at the launch.
 * @param names as launches name images; "" is none
 * @returns by name
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

/** What hosts have of an image, by host; a host without an entry has nothing. */
export async function loadImageOnHosts(db: Executor, imageId: string): Promise<Map<string, HostImage>> {
  const rows = await listHostImages(db, imageId);
  return new Map(rows.map(({ host_id, state, version }) => [host_id, { state, version }]));
}
