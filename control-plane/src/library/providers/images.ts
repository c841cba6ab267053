import type { LibraryProvider } from '../../catalog/index.ts';

/** A library provider as an image of the catalog declares it. */
export interface DeclaredProvider {
  provider: LibraryProvider;
  imageId: string;
  displayName: string;
  description: string;
  /** The manifest's tile, where it is https on an allowed registry host; null: none. */
  coverUrl: string | null;
  /** Undefined: the manifest does not say. */
  gpu: boolean | undefined;
  noNewPrivileges: boolean | undefined;
  systempathsUnconfined: boolean | undefined;
  managedHome: boolean;
  /** null: the default. */
  homeContainerPath: string | null;
}

/** An installed image of a provider. */
export interface InstalledProvider {
  /** The managed preset; null: the image has no runtime block. */
  runtimePresetId: string | null;
  /** What the app runs without a preset: a name with a digest, or a local tag. */
  image: string;
}

/** What discovery needs of the catalog of images. Implemented by the feature of images. */
export interface ProviderImages {
  /** Images of the catalog with a library provider, in a stable order. */
  declared(): Promise<readonly DeclaredProvider[]>;
  /**
   * Installs the image on all hosts, unless it is installed.
   * @throws when it cannot be installed yet, for example without a digest; the caller tries again later
   */
  ensureInstalled(imageId: string): Promise<InstalledProvider>;
  /** Runs after each synchronisation that took a manifest. */
  onSynced(listener: () => Promise<void>): void;
}
