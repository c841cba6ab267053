import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isWireUuid } from '@footlight/protocol';
import { z } from 'zod';
import { syncDirectory } from './descriptors.ts';

const noteSchema = z.object({
  id: z.string().refine(isWireUuid),
  provider: z.enum(['local', 'volume']),
  ref: z.string(),
  /** Home root when the note was written; "": the home is a volume. */
  root: z.string(),
  /** Whether the control plane kept the home, but the home could not be put back, because its path was taken. */
  kept: z.boolean().default(false),
});

/** An unfinished collection, which must be finished after a crash. */
export type GcNote = z.output<typeof noteSchema>;

/**
 * Notes about unfinished collections, one file each. A note is written to the disk before the home is changed, and is
 * deleted when the collection is finished. Owner: the collection.
 */
export class GcNotes {
  readonly #directory: string;
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
    this.#directory = join(stateDir, 'gc');
  }

  /** Writes a note so that it survives a power loss. Replaces an earlier note of the same home. */
  async write(note: GcNote): Promise<void> {
    if ((await mkdir(this.#directory, { recursive: true, mode: 0o700 })) !== undefined)
      await syncDirectory(this.#stateDir);
    const file = this.#file(note.id);
    const handle = await open(`${file}.new`, 'w', 0o600);
    try {
      await handle.writeFile(JSON.stringify(note));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${file}.new`, file);
    await syncDirectory(this.#directory);
  }

  async drop(id: string): Promise<void> {
    await rm(this.#file(id), { force: true });
  }

  /** @returns the notes, and the names of files that are not notes */
  async read(): Promise<{ notes: GcNote[]; malformed: string[] }> {
    const notes: GcNote[] = [];
    const malformed: string[] = [];
    for (const name of await readdir(this.#directory).catch(() => [])) {
      // The note is incomplete, so its home was not changed yet.
      if (name.endsWith('.new')) await rm(join(this.#directory, name), { force: true });
      if (!name.endsWith('.json')) continue;
      const text = await readFile(join(this.#directory, name), 'utf8').catch(() => '');
      const parsed = noteSchema.safeParse(jsonOrNull(text));
      if (parsed.success && `${parsed.data.id}.json` === name) notes.push(parsed.data);
      else malformed.push(name);
    }
    return { notes, malformed };
  }

  #file(id: string): string {
    return join(this.#directory, `${id}.json`);
  }
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
