import { createReadStream, createWriteStream } from 'node:fs';
import { posix } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { errorText } from '@footlight/platform';
import { extract, type Headers, pack } from 'tar-stream';

/** The archive cannot be used for a build; the message contains the reason. */
export class ArchiveRefused extends Error {}

export interface ArchiveLimits {
  /** Bytes of all entries after decompression. */
  bytes: number;
  entries: number;
}

/** The largest archive (512 MiB) times a usual gzip ratio of 8. Chosen, not measured. */
export const ARCHIVE_LIMITS: ArchiveLimits = { bytes: 4 * 1024 ** 3, entries: 100_000 };

/**
 * Largest number of bytes between two entries: names and attributes of the next entry, which the reader keeps in
 * memory. A path has at most 4 KiB; the limit has a margin. Chosen, not measured.
 */
const MAX_BETWEEN_BYTES = 1024 * 1024;

/** Checks every path of an archive: a path must not lead out of the archive's top folder. */
export class ArchivePaths {
  readonly #subdir: string;
  readonly #links = new Set<string>();

  /** @param subdir folder of the context within the archive; "": the top folder. @throws ArchiveRefused */
  constructor(subdir: string) {
    const clean = posix.normalize(`/${subdir}`).slice(1).replace(/\/$/, '');
    if (subdir.split('/').includes('..') || subdir.includes('\0'))
      throw new ArchiveRefused(`context_subdir leaves the archive: ${subdir}`);
    this.#subdir = clean;
  }

  /**
   * Path of an entry within the context.
   * @returns null: the entry is outside of the context
   * @throws ArchiveRefused for an entry that a context must not contain
   */
  place({ name, type, linkname }: Pick<Headers, 'name' | 'type' | 'linkname'>): string | null {
    const path = inside(name, name);
    if (type !== 'file' && type !== 'directory' && type !== 'symlink' && type !== 'link')
      throw new ArchiveRefused(`${shown(name)} is a ${String(type)}`);
    // Entries whose path leads through a link are refused, because they could change the target of a link that was
    // already checked.
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) {
      if (this.#links.has(folder)) throw new ArchiveRefused(`${shown(name)} lies behind a link`);
    }
    if (type === 'symlink') {
      if ((linkname ?? '').startsWith('/'))
        throw new ArchiveRefused(`${shown(name)} links to an absolute path`);
      inside(posix.join(posix.dirname(path), linkname ?? ''), name);
      this.#links.add(path);
    }
    if (type === 'link') inside(linkname ?? '', name);
    return this.below(path);
  }

  /** Path within the context; null: the path is outside of it. */
  below(path: string): string | null {
    if (this.#subdir === '') return path === '.' ? null : path;
    return path.startsWith(`${this.#subdir}/`) ? path.slice(this.#subdir.length + 1) : null;
  }
}

/** @returns the path without `.` and double slashes. @throws ArchiveRefused */
function inside(path: string, entry: string): string {
  const clean = posix.normalize(path).replace(/\/$/, '');
  if (path.startsWith('/') || path.includes('\0') || clean === '..' || clean.startsWith('../'))
    throw new ArchiveRefused(`${shown(entry)} leaves the archive`);
  return clean;
}

function shown(name: string): string {
  return errorText(name, 80);
}

/**
 * Writes the context of a build: the entries of a tar archive (gzip or plain) below a folder, each checked before it is
 * copied. Nothing is unpacked, so an entry cannot overwrite a file of this host.
 * @param file path of the archive
 * @param target path of the new archive
 * @returns the number of entries
 * @throws ArchiveRefused for a hostile, damaged or empty archive
 */
export async function writeBuildContext(
  file: string,
  target: string,
  subdir: string,
  limits: ArchiveLimits = ARCHIVE_LIMITS,
): Promise<number> {
  const paths = new ArchivePaths(subdir);
  const reader = extract();
  const writer = pack();
  const counts = { entries: 0, taken: 0, between: 0 };
  const seen = () => {
    counts.between = 0;
  };
  const watched = () =>
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        counts.between += chunk.length;
        if (counts.between <= MAX_BETWEEN_BYTES) done(null, chunk);
        else done(new ArchiveRefused('the archive has a header that is too long'));
      },
    });
  const work = (async () => {
    for await (const entry of reader) {
      counts.entries += 1;
      if (counts.entries > limits.entries)
        throw new ArchiveRefused(`the archive has more than ${limits.entries} entries`);
      await take(entry, entry.header);
    }
    writer.finalize();
  })();
  async function take(content: Readable, header: Headers): Promise<void> {
    seen();
    content.on('data', seen);
    // This header only describes the next entry or the whole archive.
    if (header.type === ('pax-global-header' as Headers['type'])) {
      content.resume();
      return;
    }
    const name = paths.place(header);
    if (name === null) {
      content.resume();
      return;
    }
    counts.taken += 1;
    const kept = {
      name,
      mode: (header.mode ?? 0o644) & 0o777,
      mtime: header.mtime,
      uid: 0,
      gid: 0,
      type: header.type,
    } as Headers;
    if (header.type === 'symlink') kept.linkname = header.linkname ?? '';
    if (header.type === 'link') {
      const to = paths.below(posix.normalize(header.linkname ?? ''));
      if (to === null) throw new ArchiveRefused(`${shown(header.name)} links out of the context`);
      kept.linkname = to;
    }
    if (header.type !== 'file') {
      content.resume();
      await new Promise<void>((resolve, reject) =>
        writer.entry(kept, (error) => (error ? reject(error) : resolve())),
      );
      return;
    }
    const out = writer.entry({ ...kept, size: header.size ?? 0 });
    await pipeline(content, out);
  }
  try {
    await Promise.all([
      work.catch((error) => {
        reader.destroy(error as Error);
        writer.destroy(error as Error);
        throw error;
      }),
      pipeline([
        createReadStream(file),
        ...(await gunzipOf(file)),
        bounded(limits.bytes),
        watched(),
        reader,
      ] as never),
      pipeline(writer as unknown as Readable, createWriteStream(target, { mode: 0o600, flags: 'wx' })),
    ]);
  } catch (error) {
    const cause = await work.then(
      () => error,
      (own: unknown) => own,
    );
    if (cause instanceof ArchiveRefused) throw cause;
    throw new ArchiveRefused(`the archive cannot be read: ${errorText(cause, 160)}`);
  }
  if (counts.taken === 0)
    throw new ArchiveRefused(`the archive has nothing in ${subdir === '' ? 'it' : subdir}`);
  return counts.taken;
}

/** A gzip stream begins with 1f 8b (RFC 1952, 2.3.1). */
async function gunzipOf(file: string): Promise<Transform[]> {
  for await (const chunk of createReadStream(file, { end: 1 })) {
    const bytes = chunk as Buffer;
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) return [createGunzip()];
  }
  return [];
}

/** Fails a stream that exceeds the limit, because a small gzip file can expand until the disk is full. */
function bounded(limit: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > limit) done(new ArchiveRefused(`the archive holds more than ${limit} bytes`));
      else done(null, chunk);
    },
  });
}
