import type { RegistryHost } from '../platform/config/config-values.ts';
import { fromJson } from '../platform/database/index.ts';
import type { CatalogImageRow } from './record.ts';
import { runtimeOf } from './sync.ts';

/** An image of the catalog that contains a game library's launcher. */
export interface ProviderImage {
  /** Library providers that this version supports. */
  provider: 'steam';
  imageId: string;
  displayName: string;
  description: string;
  /** URL of the manifest's tile, if it uses https and an allowed registry host; otherwise null. */
  coverUrl: string | null;
  /** In this field and the next two, undefined means that the manifest does not set the value. */
  gpu: boolean | undefined;
  noNewPrivileges: boolean | undefined;
  systempathsUnconfined: boolean | undefined;
  managedHome: boolean;
  /** null: the default path is used. */
  homeContainerPath: string | null;
}

/** @param hosts allowed registries; tiles from other hosts are not used */
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
