import type { RegistryHost } from '../platform/config/config-values.ts';
import { fromJson } from '../platform/database/index.ts';
import type { CatalogImageRow } from './record.ts';
import { runtimeOf } from './sync.ts';

/** An image of the catalog that a library lives in. */
export interface ProviderImage {
  /** Libraries that this version knows. */
  provider: 'steam';
  imageId: string;
  displayName: string;
  description: string;
  /** The manifest's tile, where it is https on an allowed registry; null: none. */
  coverUrl: string | null;
  /** undefined: the manifest does not say; so are the next two. */
  gpu: boolean | undefined;
  noNewPrivileges: boolean | undefined;
  systempathsUnconfined: boolean | undefined;
  managedHome: boolean;
  /** null: the default. */
  homeContainerPath: string | null;
}

/** @param hosts registries that may be asked; tiles come from nowhere else */
export function toProvider(row: CatalogImageRow, hosts: readonly RegistryHost[]): ProviderImage {
  const { tile } = fromJson<{ tile?: string }>(row.artwork);
  const runtime = runtimeOf(row);
  const isAllowed =
    tile !== undefined &&
    URL.canParse(tile) &&
    new URL(tile).protocol === 'https:' &&
    hosts.some(({ host }) => host === new URL(tile).host);
  return {
    provider: 'steam',
    imageId: row.id,
    displayName: row.display_name,
    description: row.description,
    coverUrl: isAllowed ? tile : null,
    gpu: runtime?.gpu ?? undefined,
    noNewPrivileges: runtime?.no_new_privileges ?? undefined,
    systempathsUnconfined: runtime?.systempaths_unconfined ?? undefined,
    managedHome: runtime?.managed_home ?? false,
    homeContainerPath: runtime?.home_container_path ?? null,
  };
}
