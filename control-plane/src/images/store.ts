import { type Executor, flag, fromJson, type Tx, toJson } from '../platform/database/index.ts';
import type { ImageCatalogTable } from '../platform/database/tables/images.ts';
import type { ManifestImage } from './manifest/manifest.ts';
import type {
  BuildSource,
  CatalogImageRow,
  CatalogRow,
  HostImageRow,
  InstalledRow,
  NamedHost,
} from './record.ts';

const ROW = 1;

/** Locks the catalog, so that changes of the catalog and of installed images run one at a time. */
export async function lockCatalog(tx: Tx): Promise<CatalogRow> {
  const query = tx.selectFrom('image_catalog').selectAll().where('id', '=', ROW);
  return query.forNoKeyUpdate().executeTakeFirstOrThrow();
}

export function loadCatalog(db: Executor): Promise<CatalogRow> {
  return db.selectFrom('image_catalog').selectAll().where('id', '=', ROW).executeTakeFirstOrThrow();
}

export async function updateCatalog(
  tx: Executor,
  columns: Partial<Omit<ImageCatalogTable, 'id' | 'catalog_ref'>>,
): Promise<void> {
  await tx.updateTable('image_catalog').set(columns).where('id', '=', ROW).execute();
}

/**
 * Images sorted by display name, then id. Texts are compared byte by byte, so that the order is the same with both
 * databases.
 */
export function listCatalogImages(db: Executor): Promise<CatalogImageRow[]> {
  return db
    .selectFrom('catalog_images')
    .selectAll()
    .execute()
    .then((rows) => rows.sort((a, b) => order(a.display_name, b.display_name) || order(a.id, b.id)));
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export async function findCatalogImage(db: Executor, id: string): Promise<CatalogImageRow | null> {
  return (await db.selectFrom('catalog_images').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Replaces the list of images. An image with an unchanged name in the registry keeps its digest. */
export async function replaceCatalogImages(
  tx: Tx,
  images: readonly ManifestImage[],
  buildOf: (image: ManifestImage) => BuildSource | null,
): Promise<void> {
  const former = new Map(
    (await tx.selectFrom('catalog_images').selectAll().execute()).map((row) => [row.id, row]),
  );
  for (const image of images) {
    const build = buildOf(image);
    const before = former.get(image.id);
    const columns = {
      display_name: image.display_name,
      description: image.description,
      kind: image.kind,
      version: image.version,
      registry_ref: image.kind === 'prebuilt' ? image.registry_ref : null,
      registry_digest:
        image.kind === 'prebuilt' && before?.registry_ref === image.registry_ref
          ? before.registry_digest
          : null,
      build: build === null ? null : toJson(build),
      artwork: toJson(image.artwork.tile === null ? {} : { tile: image.artwork.tile }),
      runtime: image.runtime === null ? null : toJson(image.runtime),
      library_provider: image.library_provider,
    };
    await tx
      .insertInto('catalog_images')
      .values({ id: image.id, ...columns })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(columns))
      .execute();
    former.delete(image.id);
  }
  for (const id of former.keys()) await tx.deleteFrom('catalog_images').where('id', '=', id).execute();
}

/** Stores a resolved digest, unless the name in the registry changed in the meantime. */
export async function setDigest(
  tx: Executor,
  { id, registry_ref }: Pick<CatalogImageRow, 'id' | 'registry_ref'>,
  digest: string,
): Promise<void> {
  await tx
    .updateTable('catalog_images')
    .set({ registry_digest: digest })
    .where('id', '=', id)
    .where('registry_ref', '=', registry_ref)
    .execute();
}

export function listInstalled(db: Executor): Promise<InstalledRow[]> {
  return db.selectFrom('installed_images').selectAll().orderBy('image_id').execute();
}

export async function findInstalled(db: Executor, imageId: string): Promise<InstalledRow | null> {
  const query = db.selectFrom('installed_images').selectAll().where('image_id', '=', imageId);
  return (await query.executeTakeFirst()) ?? null;
}

/** Installed images with these names, by name. */
export async function findInstalledByName(
  db: Executor,
  names: readonly string[],
): Promise<Map<string, InstalledRow>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .selectFrom('installed_images')
    .selectAll()
    .where((eb) => eb.or([eb('registry_ref', 'in', names), eb('local_tag', 'in', names)]))
    .execute();
  return new Map(rows.map((row) => [nameOf(row), row]));
}

/** Name under which hosts run the image. */
export const nameOf = ({ registry_ref, local_tag }: InstalledRow): string => registry_ref ?? local_tag ?? '';

export async function insertInstalled(tx: Tx, row: InstalledRow): Promise<void> {
  await tx.insertInto('installed_images').values(row).execute();
}

export async function updateInstalled(
  tx: Executor,
  imageId: string,
  columns: Partial<Omit<InstalledRow, 'image_id'>>,
): Promise<boolean> {
  const result = await tx
    .updateTable('installed_images')
    .set(columns)
    .where('image_id', '=', imageId)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Deletes an installed image together with the hosts' reports about it. */
export async function deleteInstalled(tx: Tx, imageId: string): Promise<void> {
  await tx.deleteFrom('installed_images').where('image_id', '=', imageId).execute();
}

/** @returns whether the image is installed */
export function setPinned(db: Executor, imageId: string, pinned: boolean): Promise<boolean> {
  return updateInstalled(db, imageId, { pinned: flag(pinned) });
}

/** All hosts, sorted by name. */
export function listHosts(db: Executor): Promise<NamedHost[]> {
  return db.selectFrom('hosts').select(['id', 'node_name']).orderBy('node_name').execute();
}

/** State of images on hosts. @param imageId null: rows of all images */
export function listHostImages(db: Executor, imageId: string | null): Promise<HostImageRow[]> {
  const query = db.selectFrom('host_images').selectAll();
  return (imageId === null ? query : query.where('image_id', '=', imageId)).execute();
}

export async function loadImagesOfHost(db: Executor, hostId: string): Promise<Map<string, HostImageRow>> {
  const rows = await db.selectFrom('host_images').selectAll().where('host_id', '=', hostId).execute();
  return new Map(rows.map((row) => [row.image_id, row]));
}

/** Finds which of these ids are installed. */
export async function findInstalledIds(db: Executor, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('installed_images')
    .select('image_id')
    .where('image_id', 'in', ids)
    .execute();
  return new Set(rows.map((row) => row.image_id));
}

/** Stores the state of an installed image on a host. Lock the host's row before the call. */
export async function storeHostImage(tx: Tx, row: HostImageRow): Promise<void> {
  const { host_id, image_id, ...columns } = row;
  await tx
    .insertInto('host_images')
    .values(row)
    .onConflict((conflict) => conflict.columns(['host_id', 'image_id']).doUpdateSet(columns))
    .execute();
}

/** Hosts whose agents may be connected. */
export async function listReachableHosts(db: Executor): Promise<string[]> {
  const rows = await db
    .selectFrom('hosts')
    .select('id')
    .where('status', '!=', 'offline')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** The sources from which a host builds a template; null for a prebuilt image. */
export const buildOfRow = ({ build }: Pick<InstalledRow | CatalogImageRow, 'build'>): BuildSource | null =>
  build === null ? null : fromJson<BuildSource>(build);
