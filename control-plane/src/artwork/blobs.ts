import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Logger, Random } from '@footlight/platform';
import type { ArtworkWidth } from '@footlight/protocol/rest';
import { sha256Hex } from '../platform/digest.ts';
import { unavailable } from '../platform/errors.ts';
import { createKeyedCount } from '../platform/keyed-count.ts';
import { type Asset, isAsset, type Sniffed } from './asset.ts';

/** A blob that is protected until its writer has stored the reference. */
export interface PinnedBlob {
  asset: Asset;
  /**
   * Call this after the record was committed or abandoned. Afterwards only a record that refers to the blob protects
   * it.
   */
  release(): void;
}

/** An open file, ready to be sent. */
export interface OpenedBlob {
  file: FileHandle;
  sizeBytes: number;
}

/**
 * Pictures in a folder, each named by the hash of its original bytes.
 *
 *     <folder>/3f/3f…9a.jpg            the picture
 *     <folder>/sizes/3f/3f…9a.jpg.300  WebP of 300 pixels width; empty: cannot be made
 *     <folder>/partial/…               incomplete files
 *
 * A file is written under a temporary name, flushed and renamed, so it is either complete or missing. A reader with an
 * open file can finish reading although the file is removed. A removal cannot race with a new writer of the same blob:
 * the writer pins the blob before it checks whether the file exists. The removal checks the pins and starts the unlink
 * without an await between them.
 *
 * A file system error becomes ApiError 503 for the caller, and its reason is logged.
 */
export interface BlobStore {
  /** @throws ApiError 503 when the folder is not writable */
  ensureUsable(): Promise<void>;
  put(bytes: Uint8Array, sniffed: Sniffed): Promise<PinnedBlob>;
  has(asset: Asset): Promise<boolean>;
  /** null: the blob does not exist. */
  open(asset: Asset): Promise<OpenedBlob | null>;
  /** null: the blob does not exist. */
  read(asset: Asset): Promise<Buffer | null>;
  /** null: the size was not made yet. sizeBytes 0: it cannot be made. */
  openSize(asset: Asset, width: ArtworkWidth): Promise<OpenedBlob | null>;
  /** @param bytes null: stores that the size cannot be made */
  putSize(asset: Asset, width: ArtworkWidth, bytes: Uint8Array | null): Promise<void>;
  /** Stored assets, one shard of the folder at a time. */
  list(): AsyncGenerator<Asset[]>;
  /**
   * Removes a blob and its sizes, unless it is pinned or `isReferenced` resolves to true.
   * @returns whether the blob was removed
   */
  removeOrphan(asset: Asset, isReferenced: () => Promise<boolean>): Promise<boolean>;
  /** Removes leftovers of a crash: incomplete files, and sizes of missing blobs. */
  tidy(): Promise<void>;
}

const SHARD = /^[0-9a-f]{2}$/;
const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** @param folder absolute path; created if missing */
export function createBlobStore(
  folder: string,
  deps: {
    random: Random;
    logger: Logger;
    /** Files younger than this are kept, because another replica may still be writing them or storing their names. */
    keepYoung?: { forMs: number; clock: Clock };
  },
): BlobStore {
  const { random, logger, keepYoung } = deps;
  const partialFolder = path.join(folder, 'partial');
  const sizesFolder = path.join(folder, 'sizes');
  const fileOf = (asset: Asset) => path.join(folder, asset.slice(0, 2), asset);
  const sizeFileOf = (asset: Asset, width: ArtworkWidth) =>
    path.join(sizesFolder, asset.slice(0, 2), `${asset}.${width}`);

  const pins = createKeyedCount();
  const removals = new Map<Asset, Promise<boolean>>();
  /** Files below `partial` that this process is writing. */
  const writing = new Set<string>();

  async function asUnavailable<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      logger.warn({ folder, err: error }, 'artwork.folder_failed');
      throw unavailable('The folder of the pictures (SERVICE_ARTWORK_DIR) cannot be used.', 30);
    }
  }

  async function makeUsable(): Promise<void> {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  }

  async function writeBlob(file: string, bytes: Uint8Array): Promise<void> {
    const name = random.uuid();
    const partial = path.join(partialFolder, name);
    writing.add(name);
    try {
      await mkdir(partialFolder, { recursive: true });
      await mkdir(path.dirname(file), { recursive: true });
      const handle = await open(partial, 'wx', 0o644);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(partial, file);
      await syncFolder(path.dirname(file));
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw error;
    } finally {
      writing.delete(name);
    }
  }

  async function openFile(file: string): Promise<OpenedBlob | null> {
    let handle: FileHandle;
    try {
      handle = await open(file, 'r');
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    try {
      return { file: handle, sizeBytes: (await handle.stat()).size };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async function* shards(parent: string): AsyncGenerator<{ folder: string; names: string[] }> {
    for (const shard of await namesIn(parent)) {
      if (!SHARD.test(shard)) continue;
      const shardFolder = path.join(parent, shard);
      yield { folder: shardFolder, names: await namesIn(shardFolder) };
    }
  }

  /** Another replica may be about to use a young file. */
  async function isYoung(file: string, { forMs, clock }: NonNullable<typeof keepYoung>): Promise<boolean> {
    const known = await stat(file).catch(() => null);
    return known !== null && Math.abs(clock.nowMs() - known.mtimeMs) < forMs;
  }

  async function remove(asset: Asset, isReferenced: () => Promise<boolean>): Promise<boolean> {
    // The age is checked after the records: another replica writes the file, which makes it young, before the record.
    if (
      pins.of(asset) > 0 ||
      (await isReferenced()) ||
      (keepYoung && (await isYoung(fileOf(asset), keepYoung)))
    )
      return false;
    // There is no await between this check and the unlink, so a later pin waits for the removal.
    if (pins.of(asset) > 0) return false;
    await rm(fileOf(asset), { force: true });
    const sizes = path.join(sizesFolder, asset.slice(0, 2));
    for (const name of await namesIn(sizes)) {
      if (name.startsWith(`${asset}.`)) await rm(path.join(sizes, name), { force: true });
    }
    return true;
  }

  return {
    ensureUsable: () => asUnavailable(makeUsable()),

    async put(bytes, { extension }) {
      const asset = `${sha256Hex(bytes)}.${extension}`;
      const release = pins.begin(asset);
      try {
        await removals.get(asset)?.catch(() => undefined);
        await asUnavailable(writeBlob(fileOf(asset), bytes));
      } catch (error) {
        release();
        throw error;
      }
      return { asset, release };
    },

    has: (asset) => asUnavailable(exists(fileOf(asset))),
    open: (asset) => asUnavailable(openFile(fileOf(asset))),
    read: (asset) => asUnavailable(readWhole(fileOf(asset))),
    openSize: (asset, width) => asUnavailable(openFile(sizeFileOf(asset, width))),
    putSize: (asset, width, bytes) =>
      asUnavailable(writeBlob(sizeFileOf(asset, width), bytes ?? new Uint8Array())),

    async *list() {
      for await (const { names } of shards(folder)) yield names.filter(isAsset);
    },

    async removeOrphan(asset, isReferenced) {
      const removal = remove(asset, isReferenced);
      removals.set(asset, removal);
      try {
        return await removal;
      } finally {
        removals.delete(asset);
      }
    },

    async tidy() {
      for (const name of await namesIn(partialFolder)) {
        const partial = path.join(partialFolder, name);
        if (!writing.has(name) && !(keepYoung && (await isYoung(partial, keepYoung))))
          await rm(partial, { force: true });
      }
      for await (const { folder: shard, names } of shards(sizesFolder)) {
        const blobs = new Set(await namesIn(path.join(folder, path.basename(shard))));
        for (const name of names) {
          if (!blobs.has(name.slice(0, name.lastIndexOf('.')))) {
            await rm(path.join(shard, name), { force: true });
          }
        }
      }
    },
  };
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** null: the file is missing. */
async function readWhole(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Names in a folder; empty if the folder is missing. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Flushes the folder, so that a rename survives a power failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
