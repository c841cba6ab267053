import type { ProviderImage } from '../../images/index.ts';

/** An installed image of a library provider. */
export interface InstalledProvider {
  /** The managed preset; null: the manifest has no run settings for the image. */
  runtimePresetId: string | null;
  /** Image that the app runs when there is no preset: a name with a digest, or a local tag. */
  image: string;
}

/** Functions of the image catalog that discovery needs. The images feature implements them. */
export interface ProviderImages {
  /** Images of the catalog with a library provider, in a stable order. */
  declared(): Promise<readonly ProviderImage[]>;
  /**
   * Installs the image on all hosts, unless it is already installed.
   * @throws when the image cannot be installed yet, for example without a digest; the caller retries later
   */
  ensureInstalled(imageId: string): Promise<InstalledProvider>;
  /** Runs after each synchronisation that accepted a manifest. */
  onSynced(listener: () => Promise<void>): void;
}
