import type { ProviderImage } from '../../images/index.ts';

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
  declared(): Promise<readonly ProviderImage[]>;
  /**
   * Installs the image on all hosts, unless it is installed.
   * @throws when it cannot be installed yet, for example without a digest; the caller tries again later
   */
  ensureInstalled(imageId: string): Promise<InstalledProvider>;
  /** Runs after each synchronisation that accepted a manifest. */
  onSynced(listener: () => Promise<void>): void;
}
